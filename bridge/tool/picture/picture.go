package picture

import (
	"context"
	"crypto/sha256"
	"errors"
	"path"
	"slices"
	"strconv"

	"brainbox/bridge/tool"
	"brainbox/dirchain"
	"brainbox/dirchain/mask"
	"brainbox/gate"
	"brainbox/gate/protect"
	"brainbox/gate/shell"
	"brainbox/internal/strictjson"
)

// DocumentsKey is the lock that an operation takes for a mask (contract brainkit §7.2).
const DocumentsKey = "brain-docs"

// Config of the tool, for one turn.
type Config struct {
	// Operation writes the mask; its Bound is the caller. Required.
	Operation *mask.Operation
	// Asker has a person paint it. nil: the tool is withheld.
	Asker mask.Asker
	// Withheld is for a turn without anybody who sees a screen (noGrantSurface).
	Withheld bool
	// At is the absolute path that the gate knows the root by; empty: that of the root.
	At string
	// Configured is the root's path as it was configured, for reports; empty: that of the root.
	Configured string
}

// Tool is request_image_mask.
type Tool struct {
	c     Config
	names *mask.Tool
}

// New makes the tool.
func New(c Config) (*Tool, error) {
	if c.Operation == nil || c.Operation.Root == nil {
		return nil, errors.New("picture: no operation")
	}
	if c.At == "" {
		c.At = c.Operation.Root.Path()
	}
	return &Tool{c, &mask.Tool{Backend: c.Operation.Backend, Root: c.Operation.Root, Configured: c.Configured}}, nil
}

// Name is that of [tool.Tool].
func (t *Tool) Name() string { return mask.ToolName }

// Surface is that of [tool.Surfaced].
func (t *Tool) Surface() string { return mask.ToolName }

// Offered tells whether the tool can be used at all; a host lists it only then.
func (t *Tool) Offered() bool { return t.c.Asker != nil && !t.c.Withheld }

// Plan is that of [tool.Tool].
func (t *Tool) Plan(v *strictjson.Value) (tool.Planned, error) {
	if !t.Offered() {
		return nil, &tool.Refusal{
			Status: "unavailable", Code: "not_supported", Message: mask.ToolName + " is not supported by this host in this session",
		}
	}
	f := strictjson.Bind(v, "imagePath", "instruction")
	p := &planned{t: t, submitted: textOf(f, "imagePath")}
	if f.Has("instruction") {
		p.instruction = f.String("instruction")
	}
	if err := f.Err(); err != nil {
		return nil, &tool.Refusal{Code: "invalid_request", Message: mask.ToolName + ": imagePath and instruction are texts, and there is nothing else"}
	}
	var err error
	if p.image, p.mask, err = t.names.Names(p.submitted, p.instruction); err != nil {
		return nil, p.refuse(mask.CodeOf(err))
	}
	return p, nil
}

// textOf takes any string: U+0000 is a matter of the path rules.
func textOf(f *strictjson.Fields, key string) string {
	v := f.Any(key)
	if v.Kind != strictjson.KindString {
		f.Invalid(key, "string expected")
		return ""
	}
	return v.Text
}

// planned is one request.
type planned struct {
	t                      *Tool
	submitted, instruction string
	image, mask            string // relative to the root, without links
}

// Reading is that of [tool.Planned].
func (p *planned) Reading() gate.Reading {
	return gate.Reading{
		Value: p.image, Effect: p.effect(),
		Targets: []gate.Target{
			{Path: p.image, Access: shell.ReadOnly, Base: p.t.c.At, Canonical: true},
			{Path: p.mask, Access: shell.WriteOnly, Base: p.t.c.At, Canonical: true},
		},
	}
}

// effect binds the paths and the words; the mask itself is painted later, by a person.
func (p *planned) effect() []byte {
	sum := sha256.Sum256([]byte("brainbox/tool/v1 mask " + strconv.Quote(p.image) + strconv.Quote(p.mask) + strconv.Quote(p.instruction)))
	return sum[:]
}

// Locks is that of [tool.Planned]: none while a person paints. See [DocumentsKey].
func (p *planned) Locks() []string { return nil }

// Do is that of [tool.Planned].
func (p *planned) Do(ctx context.Context, d *gate.Decision) (*strictjson.Value, error) {
	if d == nil || !d.Allowed || !slices.Equal(d.Effect, p.effect()) {
		return nil, p.refuse(mask.AuthorityRevoked)
	}
	if ctx.Err() != nil {
		return nil, p.refuse(mask.Cancelled)
	}
	a := &asking{p: p, op: *p.t.c.Operation}
	for i, want := range []string{p.image, p.mask} {
		if i >= len(d.Held) || d.Held[i].Target() == nil || d.Held[i].Rel() != want || d.Held[i].Path() != path.Join(p.t.c.At, want) {
			return nil, p.refuse(mask.InvalidTarget)
		}
		a.held[i] = d.Held[i]
	}
	rep, err := p.t.names.Request(ctx, a, p.submitted, p.instruction)
	switch {
	case a.moved:
		return nil, p.refuse(mask.TopologyChanged)
	case a.declined && ctx.Err() == nil:
		return nil, p.refuse("declined")
	case err != nil:
		return nil, p.refuse(mask.CodeOf(err))
	}
	v := strictjson.Object(
		strictjson.Pair("maskPath", strictjson.Text(rep.MaskPath)), strictjson.Pair("imagePath", strictjson.Text(rep.ImagePath)),
		strictjson.Pair("bytes", strictjson.Int(int64(rep.Bytes))), strictjson.Pair("note", strictjson.Text(rep.Note)),
	)
	return &v, nil
}

// refuse makes the refusal of a code, about the image as it was submitted.
func (p *planned) refuse(code mask.Code) *tool.Refusal {
	r := &tool.Refusal{Code: string(code), Message: mask.ToolName + ": "}
	if len(p.submitted) <= mask.MaxPath {
		r.Message += "image " + strconv.Quote(p.submitted) + ": "
	}
	switch code {
	case "declined":
		r.Message += "no mask was painted; describe the change in words instead of asking again"
	case mask.PolicyDenied, mask.AuthorityRevoked, mask.MembershipDenied:
		r.Status = "denied"
		r.Message += code.Sentence()
	default:
		r.Message += code.Sentence()
	}
	return r
}

// asking is the host of one request: it captures what the person sees, has it painted, and
// writes it to the place that was judged.
type asking struct {
	p               *planned
	op              mask.Operation
	held            [2]*protect.Held
	base            mask.Base
	declined, moved bool
}

var errMoved = errors.New("it is not the place that was judged")

// RequestMask is that of [mask.Asker].
func (a *asking) RequestMask(ctx context.Context, imagePath, instruction string) ([]byte, error) {
	if imagePath != a.p.image {
		a.moved = true
		return nil, errMoved
	}
	var err error
	if a.base, err = a.op.CaptureBase(ctx, imagePath); err != nil {
		return nil, err
	}
	if err = a.still(); err != nil {
		return nil, err
	}
	png, err := a.p.t.c.Asker.RequestMask(ctx, imagePath, instruction)
	a.declined = err != nil
	return png, err
}

// ApplyMask is that of [mask.Applier]. The place is looked at whenever the operation asks
// for its authority, so also right before the mask takes its name.
func (a *asking) ApplyMask(ctx context.Context, req mask.Request) (mask.Result, error) {
	if req.MaskPath != a.p.mask || req.ImagePath != a.p.image {
		a.moved = true
		return mask.Result{}, errMoved
	}
	if authority := a.op.Authority; authority != nil {
		a.op.Authority = func(ctx context.Context) error {
			if err := authority(ctx); err != nil {
				return err
			}
			return a.still()
		}
	}
	return a.op.Apply(ctx, a.op.Bound, a.base, req), nil
}

// still compares the directories on the way to both places with those that were judged.
func (a *asking) still() error {
	for _, h := range a.held {
		now, err := a.op.Root.Hold(h.Rel())
		if err != nil {
			a.moved = misplaced(err)
			return err
		}
		same := slices.Equal(now.Chain(), h.Target().Chain())
		now.Close()
		if !same {
			a.moved = true
			return errMoved
		}
	}
	return nil
}

// misplaced: the way there leads elsewhere by now.
func misplaced(err error) bool {
	return slices.ContainsFunc([]error{dirchain.ErrChanged, dirchain.ErrLink, dirchain.ErrNotDirectory, dirchain.ErrMount}, func(e error) bool {
		return errors.Is(err, e)
	})
}
