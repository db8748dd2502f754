package files

import (
	"context"
	"errors"
	"io/fs"
	"strconv"
	"syscall"
	"unicode/utf8"

	"brainbox/bridge/tool"
	"brainbox/dirchain"
)

// meaning is what an error of dirchain is for the caller.
type meaning struct {
	is         error
	code, text string
}

// meanings in the order in which they are looked up: a sentinel of dirchain before the
// standard error that it answers to. The texts tell nothing of what was met (the hash of
// a file, say) that the caller may not know.
var meanings = []meaning{
	{context.Canceled, "cancelled", "the call was given up"},
	{context.DeadlineExceeded, "cancelled", "its time ran out"},
	{dirchain.ErrProtected, "policy_denied", "it may not be changed"},
	{dirchain.ErrStale, "stale_base", "it is not what the call was made for; read it again"},
	{dirchain.ErrChanged, "topology_changed", "it, or the way to it, was exchanged meanwhile"},
	{dirchain.ErrOutside, "invalid_target", "it leads out of the root"},
	{dirchain.ErrPath, "invalid_target", "it is no path for this"},
	{dirchain.ErrTooLarge, "payload_too_large", "it is too large"},
	{dirchain.ErrLink, "alias_denied", "a link is in the way"},
	{dirchain.ErrNotDirectory, "alias_denied", "something on the way is no directory of its own"},
	{dirchain.ErrNotRegular, "alias_denied", "it is no regular file"},
	{dirchain.ErrLinked, "alias_denied", "the file has more than one name"},
	{dirchain.ErrMount, "alias_denied", "a mount point is in the way"},
	{dirchain.ErrMode, "invalid_request", "set-id and sticky bits are not handled"},
	{dirchain.ErrBusy, "busy", "it is in use"},
	{dirchain.ErrFilesystem, "application_failed", "nothing can be written on this file system"},
	{dirchain.ErrLimit, "limit_reached", "it is too deep, too much or takes too long"},
	{dirchain.ErrBatch, "invalid_request", "the files are in each other's way"},
	{syscall.ENOTEMPTY, "not_empty", "the folder is not empty"},
	{fs.ErrExist, "exists", "it exists"},
	{fs.ErrNotExist, "not_found", "it does not exist"},
	{syscall.ENAMETOOLONG, "invalid_target", "the name is too long"},
	{syscall.ENOSPC, "application_failed", "no space is left"},
	{syscall.EDQUOT, "application_failed", "no space is left"},
	{fs.ErrPermission, "application_failed", "the system refuses it"},
}

// explain makes the refusal for an error of an operation on a path, as submitted.
func explain(err error, submitted string) *tool.Refusal {
	var r *tool.Refusal
	if errors.As(err, &r) {
		return r
	}
	var op *dirchain.Error
	if errors.Is(err, dirchain.ErrMatch) && errors.As(err, &op) {
		return refuse("match_failed", submitted, op.Err.Error()) // a count
	}
	if errors.Is(err, fs.ErrClosed) {
		return &tool.Refusal{Status: "unavailable", Code: "shutting_down", Message: "the session is over"}
	}
	for _, m := range meanings {
		if errors.Is(err, m.is) {
			return refuse(m.code, submitted, m.text)
		}
	}
	return refuse("application_failed", submitted, "it failed")
}

// written explains the error of a write; the file may be in place beside it.
func written(err error, res dirchain.WriteResult, submitted string) *tool.Refusal {
	r := explain(err, submitted)
	if r.Code == "exists" {
		r = refuse("stale_base", submitted, "it exists")
	}
	if res.Applied {
		r = refuse("application_failed", submitted, "it is in place, but is not known to be on the disk")
	}
	if res.Kept != "" {
		r.Message += "; what was displaced is kept beside it as " + quoted(res.Kept)
	}
	return r
}

// quoted makes a text harmless for whoever shows it, and no longer than it must be.
func quoted(s string) string {
	const most = 256
	if len(s) > most {
		s = s[:most]
		for !utf8.ValidString(s) && len(s) > most-utf8.UTFMax {
			s = s[:len(s)-1]
		}
		s += "…"
	}
	return strconv.Quote(s)
}
