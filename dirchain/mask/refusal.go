package mask

import (
	"context"
	"errors"
	"io/fs"

	"brainbox/dirchain"
)

// Code is why a mask was not written (contract brainkit §4.1).
type Code string

// The codes.
const (
	// AuthorityRevoked: another principal or turn, or no longer authorised.
	AuthorityRevoked Code = "authority_revoked"
	// Cancelled: the turn was given up.
	Cancelled Code = "cancelled"
	// MembershipDenied: the turn has no masks.
	MembershipDenied Code = "membership_denied"
	// InvalidRequest: a key too many, or a value of a wrong type.
	InvalidRequest Code = "invalid_request"
	// PayloadTooLarge: the mask, the image or the previous mask is beyond [MaxBytes].
	PayloadTooLarge Code = "payload_too_large"
	// InvalidPNG: the bytes do not begin as a PNG does.
	InvalidPNG Code = "invalid_png"
	// InvalidTarget: the shape of a path, a metadata path, no image, not the derived name.
	InvalidTarget Code = "invalid_target"
	// PolicyDenied: a place of the policy, what leads to it, or another spelling of it.
	PolicyDenied Code = "policy_denied"
	// AliasDenied: a link, a file with several names, no regular file, a redirected directory.
	AliasDenied Code = "alias_denied"
	// MissingImage: the image is not there.
	MissingImage Code = "missing_image"
	// StaleBase: image or previous mask changed since the editor opened.
	StaleBase Code = "stale_base"
	// TopologyChanged: a directory on the way was exchanged.
	TopologyChanged Code = "topology_changed"
	// ApplicationFailed: anything else.
	ApplicationFailed Code = "application_failed"
)

// text is the sentence of a code, without its full stop.
func (c Code) text() string {
	switch c {
	case AuthorityRevoked:
		return "this turn may not write masks any more"
	case Cancelled:
		return "the turn was cancelled"
	case MembershipDenied:
		return "this turn has no masks"
	case InvalidRequest:
		return "the request is malformed"
	case PayloadTooLarge:
		return "the mask or the image is too large"
	case InvalidPNG:
		return "the bytes are no PNG"
	case InvalidTarget:
		return "the path cannot be used for a mask"
	case PolicyDenied:
		return "the path belongs to the policy"
	case AliasDenied:
		return "the path leads through a link, or to something that is no file of its own"
	case MissingImage:
		return "the image is not there"
	case StaleBase:
		return "the image or its mask changed since the editor was opened"
	case TopologyChanged:
		return "a directory was exchanged meanwhile"
	default:
		return "the mask could not be written"
	}
}

// Sentence says what the code means, without a full stop: the same for every path.
func (c Code) Sentence() string { return c.text() }

// Refusal is the error of everything in this package that refuses.
type Refusal struct {
	Code Code
	Err  error // what was met; nil when the code says it all

	told string // the whole message, when a result told it
}

func (r *Refusal) Error() string { return "mask: " + r.message() }

// Unwrap gives what was met.
func (r *Refusal) Unwrap() error { return r.Err }

func (r *Refusal) message() string {
	switch {
	case r.told != "":
		return r.told
	case r.Err == nil:
		return r.Code.text()
	}
	return r.Code.text() + ": " + r.Err.Error()
}

// refuse refuses with a reason in words.
func refuse(code Code, why string) error { return &Refusal{Code: code, Err: errors.New(why)} }

// refusal gives an error its code, unless it has one.
func refusal(err error) *Refusal {
	var r *Refusal
	if errors.As(err, &r) {
		return r
	}
	return &Refusal{Code: CodeOf(err), Err: err}
}

// CodeOf is what an error of dirchain, or of a context, means for a mask. Pure.
func CodeOf(err error) Code {
	is := func(targets ...error) bool {
		for _, target := range targets {
			if errors.Is(err, target) {
				return true
			}
		}
		return false
	}
	var r *Refusal
	switch {
	case errors.As(err, &r):
		return r.Code
	case is(context.Canceled, context.DeadlineExceeded):
		return Cancelled
	case is(dirchain.ErrProtected):
		return PolicyDenied
	case is(dirchain.ErrStale, fs.ErrExist):
		return StaleBase
	case is(dirchain.ErrChanged):
		return TopologyChanged
	case is(dirchain.ErrPath, dirchain.ErrOutside, dirchain.ErrLimit):
		return InvalidTarget
	case is(dirchain.ErrTooLarge):
		return PayloadTooLarge
	case is(dirchain.ErrLink, dirchain.ErrNotDirectory, dirchain.ErrNotRegular, dirchain.ErrLinked, dirchain.ErrMount):
		return AliasDenied
	default:
		return ApplicationFailed
	}
}
