package turntemp

import (
	"context"
	"time"

	"brainbox/internal/strictjson"
)

// Sink keeps the receipts. The host writes them; nothing of a worker reaches it but
// names, escaped.
type Sink interface {
	// Ready says whether a record can be kept now; an error refuses a purge.
	Ready(ctx context.Context) error
	// Record keeps one record. ctx is not cancelled with the call.
	Record(ctx context.Context, rec PurgeRecord) error
}

// MaxNames is how many entries one record names. The counts are complete.
const MaxNames = 100

// maxShown is the length of one name in a record in bytes, escapes included.
const maxShown = 1024

// Outcomes of a call.
const (
	Done           = "done"
	Failed         = "failed" // begun, and ended by the error in Detail
	RefusedEnded   = "refused: ended"
	RefusedTurn    = "refused: turn"
	RefusedRequest = "refused: request"
	RefusedSink    = "refused: sink"
	RefusedPlace   = "refused: file system"
)

// PurgeRecord is the governance receipt of one purge, or of one call of either kind that
// was refused (contract brainkit §6.2).
type PurgeRecord struct {
	Turn      string // that the access is bound to
	Principal string
	Backend   string
	Asked     string // the turn that the call named, escaped, when it is another
	Time      time.Time
	Operation string // "usage", "purge", or empty when the call did not say
	Purge     Purge
	Outcome   string
	Detail    string // why, when the outcome is not done
	Dev, Ino  uint64 // of the held directory
	Removed   Counts
	Skipped   int // entries left alone for a reason
	Failed    int // entries that could not be removed
	Named     []Named
	Truncated bool  // a limit was met
	Lost      error // why the sink did not take this record; nil in what it gets
}

// Counts are removed names.
type Counts struct {
	Files       int
	Links       int // symbolic
	Directories int
	Others      int // FIFOs, sockets, devices
	Bytes       int64
	BlockBytes  int64 // of the blocks in use
}

// Named is one entry that is still there.
type Named struct {
	Path    string // from the held directory, escaped as [strictjson.Escape] does
	Skipped string // linked, changed or mount; or
	Failed  string // the name of the errno, as EPERM
}

// note counts an entry that is still there, and names it while there is room.
func (r *PurgeRecord) note(path, skipped, failed string) {
	if skipped != "" {
		r.Skipped++
	} else {
		r.Failed++
	}
	if len(r.Named) < MaxNames {
		r.Named = append(r.Named, Named{show(path), skipped, failed})
	}
}

// show makes a name from outside printable ASCII.
func show(name string) string {
	s := strictjson.Escape(name)
	if len(s) > maxShown {
		return s[:maxShown] + "..."
	}
	return s
}

// Value is the record as JSON: one object, keys in a fixed order.
func (r *PurgeRecord) Value() strictjson.Value {
	v := strictjson.Object(
		strictjson.Pair("turn", strictjson.Text(r.Turn)),
		strictjson.Pair("principal", strictjson.Text(r.Principal)),
		strictjson.Pair("backend", strictjson.Text(r.Backend)),
		strictjson.Pair("time", strictjson.Text(r.Time.UTC().Format(time.RFC3339Nano))),
		strictjson.Pair("operation", strictjson.Text(r.Operation)),
	)
	if r.Purge.All {
		v.Add("all", strictjson.Bool(true))
	}
	if r.Purge.OlderThan != 0 {
		v.Add("older_than_seconds", strictjson.Int(int64(r.Purge.OlderThan/time.Second)))
	}
	if r.Asked != "" {
		v.Add("asked", strictjson.Text(r.Asked))
	}
	v.Add("outcome", strictjson.Text(r.Outcome))
	if r.Detail != "" {
		v.Add("detail", strictjson.Text(r.Detail))
	}
	v.Add("directory", strictjson.Object(
		strictjson.Pair("dev", strictjson.Uint(r.Dev)), strictjson.Pair("ino", strictjson.Uint(r.Ino))))
	v.Add("removed", r.Removed.value())
	v.Add("skipped", strictjson.Int(int64(r.Skipped)))
	v.Add("failed", strictjson.Int(int64(r.Failed)))
	entries := make([]strictjson.Value, len(r.Named))
	for i, n := range r.Named {
		entries[i] = n.value()
	}
	v.Add("entries", strictjson.Array(entries...))
	v.Add("unnamed", strictjson.Int(int64(r.Skipped+r.Failed-len(r.Named))))
	v.Add("truncated", strictjson.Bool(r.Truncated))
	v.Add("recorded", strictjson.Bool(r.Lost == nil))
	return v
}

func (c Counts) value() strictjson.Value {
	return strictjson.Object(
		strictjson.Pair("files", strictjson.Int(int64(c.Files))),
		strictjson.Pair("links", strictjson.Int(int64(c.Links))),
		strictjson.Pair("directories", strictjson.Int(int64(c.Directories))),
		strictjson.Pair("others", strictjson.Int(int64(c.Others))),
		strictjson.Pair("bytes", strictjson.Int(c.Bytes)),
		strictjson.Pair("block_bytes", strictjson.Int(c.BlockBytes)),
	)
}

func (n Named) value() strictjson.Value {
	v := strictjson.Object(strictjson.Pair("path", strictjson.Text(n.Path)))
	if n.Skipped != "" {
		v.Add("skipped", strictjson.Text(n.Skipped))
	} else {
		v.Add("failed", strictjson.Text(n.Failed))
	}
	return v
}
