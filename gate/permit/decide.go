package permit

import (
	"fmt"
	"slices"
	"strings"

	"brainbox/gate/confirm"
	"brainbox/internal/strictjson"
)

// Kind is what an approval is for.
type Kind uint8

const (
	// Tool asks for a tool that is not allowed; a host may remember the answer.
	Tool Kind = iota
	// Command confirms one use of a tool that is allowed. It never becomes a grant,
	// and no grant answers it.
	Command
)

// String is the kind as the contract spells it; what is no Kind is a tool.
func (k Kind) String() string {
	if k == Command {
		return "command"
	}
	return "tool"
}

// Approval is what a call needs before it may run. The zero value needs one for the tool.
type Approval struct {
	None   bool // nothing is needed: run it
	Kind   Kind
	Reason string
}

// Rules are the names and patterns of one configuration. The zero value allows no tool.
type Rules struct {
	Allowed  []string         // names that run without a decision, compared exactly
	Shell    string           // the runtime's name of its shell tool; empty: it has none
	Update   string           // its name of the tool that updates documents; empty: it has none
	Patterns confirm.Patterns // over the shell tool's command; the zero value is the table
}

const (
	archived      = "archived"
	archiveReason = "archive a document, which takes it out of search, briefings and the context of later turns"
	someReason    = "run a command that this installation wants confirmed each time"
)

// Decide says what the call needs (decideToolPermission). Names are compared exactly, and
// a command is matched as it is, whole: nothing is parsed or guessed.
func (r Rules) Decide(tool string, in Input) Approval {
	if tool == "" || !slices.Contains(r.Allowed, tool) {
		return Approval{Reason: "use the tool " + shown(tool) + ", which is not on the list of allowed tools"}
	}
	return r.decideAllowed(tool, in)
}

// decideAllowed is Decide for a tool that is on the list.
func (r Rules) decideAllowed(tool string, in Input) Approval {
	if all := r.confirmations(tool, in); len(all) > 0 {
		return Approval{Kind: Command, Reason: all[0].reason}
	}
	return Approval{None: true}
}

// confirmation is one reason why one use must be confirmed. All but the reason tells it
// from others.
type confirmation struct {
	pattern string // its source; or empty for an archived document
	of      string // the whole command, or the document's path as it is written
	reason  string
}

// confirmations are those that a call of an allowed tool needs, in order.
func (r Rules) confirmations(tool string, in Input) []confirmation {
	var all []confirmation
	if command, ok := in.String("command"); ok && r.isShell(tool) && strings.TrimSpace(command) != "" {
		for _, p := range r.Patterns.Matching(command) {
			reason := p.Effect()
			if reason == "" {
				reason = someReason
			}
			all = append(all, confirmation{"pattern " + p.Source(), command, reason})
		}
	}
	if status, _ := in.String("status"); r.Update != "" && tool == r.Update && status == archived {
		path := "" // no text of JSON is empty
		if v := in.get("path"); v != nil {
			path = string(strictjson.Append(nil, v))
		}
		all = append(all, confirmation{"", path, archiveReason})
	}
	return all
}

func (r Rules) isShell(tool string) bool { return r.Shell != "" && tool == r.Shell }

// shown is a tool's name for a sentence.
func shown(tool string) string {
	const most = 128
	if tool == "" {
		return "without a name"
	}
	if s := strictjson.Escape(tool); len(s) <= most {
		return s
	}
	return fmt.Sprintf("with a name of %d bytes", len(tool))
}
