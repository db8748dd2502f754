package permit

import (
	"fmt"
	"slices"
)

// EditError is an edit that may not be applied. The call did not run, in part neither.
type EditError struct{ Tool, Reason string }

// Error says so to the model.
func (e *EditError) Error() string {
	return fmt.Sprintf("The tool %s did not run: the edited call %s. Issue it again as a call of its own.", shown(e.Tool), e.Reason)
}

// Edit is one edit to check.
type Edit struct {
	Tool             string
	Original, Edited Input
	// PlainKeys: what the call is dispatched to is no JavaScript runtime, so that the
	// keys constructor and prototype are names like others. __proto__ never is.
	PlainKeys bool
}

// CheckEdit says whether the edited input may replace the original that was approved
// (checkEditedApproval): nil, or an *[EditError]. Whatever the edited call would need to
// have confirmed must have been in the original: the same pattern over the same whole
// command, or archiving the document of the same path, as it is written. A narrower
// command is another command.
func (r Rules) CheckEdit(e Edit) error {
	if reason := r.refuseEdit(e); reason != "" {
		return &EditError{e.Tool, reason}
	}
	return nil
}

func (r Rules) refuseEdit(e Edit) string {
	keys := []string{"__proto__"}
	if !e.PlainKeys {
		keys = append(keys, "constructor", "prototype")
	}
	if hasKey(e.Edited.root, keys) {
		return "has a key that changes objects in JavaScript"
	}
	if !e.Edited.IsObject() {
		return "has arguments that are no object"
	}
	_, was := e.Original.String("command")
	if _, is := e.Edited.String("command"); r.isShell(e.Tool) && was && !is {
		return "has no command any more" // which its executor may read as anything
	}
	approved := r.confirmations(e.Tool, e.Original)
	for _, c := range r.confirmations(e.Tool, e.Edited) {
		if !slices.Contains(approved, c) {
			return "would " + c.reason + ", which was not confirmed"
		}
	}
	return ""
}
