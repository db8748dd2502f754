package mask

import (
	"context"

	"brainbox/dirchain"
)

// Result is what became of one mask. It marshals with the keys of the contract.
type Result struct {
	OK      bool   `json:"ok"`
	Code    Code   `json:"code,omitempty"` // empty when OK
	Message string `json:"message"`
	// Changes is what was committed, also when the mask was then refused: the file
	// may be in place although it is not known to be on the disk.
	Changes []Change `json:"changes"`
	// Outcome is what went wrong after a success, such as pruning the scratch area,
	// and what a write does not promise.
	Outcome string `json:"outcome,omitempty"`
}

// Err is nil for a success, and otherwise a [*Refusal] with the message.
func (r Result) Err() error {
	if r.OK {
		return nil
	}
	return &Refusal{Code: r.Code, told: r.Message}
}

// Change is one file that was written or removed.
type Change struct {
	// Path is relative to the root. Of what was pruned it is the name as it is: print
	// it with %q. In JSON bytes that are no UTF-8 are lost.
	Path   string         `json:"path"`
	SHA256 *dirchain.Hash `json:"sha256"` // null: it was removed
}

// Removal is one file that the scratch area's pruning removed.
type Removal struct {
	Path   string // relative to the root
	Bytes  int64
	Reason string // age, size or clean
}

// ScratchArea is what a mask in [ScratchDir] needs of that area (contract brainkit
// §4.3): [Scratch] gives one. Both are called under the lock of the operation.
type ScratchArea interface {
	// Prepare makes sure that the area is there, genuine, and ignored by git. It
	// makes directories through held ones only.
	Prepare(ctx context.Context) error
	// Prune removes what is too old or too much, and tells what it removed, also
	// beside an error.
	Prune(ctx context.Context) ([]Removal, error)
}

// effects collects what one write does beyond its error.
type effects struct {
	changes []Change
	outcome string
}

func (e *effects) wrote(path string, got dirchain.WriteResult) {
	if got.Applied {
		e.changes = append(e.changes, Change{path, &got.SHA256})
	}
}

// prune prunes after a scratch mask. A problem does not undo the mask.
func (e *effects) prune(ctx context.Context, area ScratchArea) {
	removed, err := area.Prune(ctx)
	for _, r := range removed {
		e.changes = append(e.changes, Change{Path: r.Path})
	}
	if err != nil {
		e.outcome = "the scratch area was not pruned, or not to the end: " + err.Error()
	}
}

// result is the answer for an error of the write, or nil.
func (e *effects) result(err error) Result {
	res := Result{OK: true, Message: "the mask was written", Changes: e.changes, Outcome: e.outcome}
	if res.Changes == nil {
		res.Changes = []Change{}
	}
	if err != nil {
		r := refusal(err)
		res.OK, res.Code, res.Message = false, r.Code, r.message()
	}
	return res
}
