package action

import "fmt"

// Action is what is to be done with a call. The zero value denies.
type Action uint8

// From the strictest to the most lenient.
const (
	Deny Action = iota
	Ask
	Allow
)

var names = [...]string{Deny: "deny", Ask: "ask", Allow: "allow"}

// Parse reads an action's name: exactly allow, ask or deny.
func Parse(s string) (Action, error) {
	for a, name := range names {
		if s == name {
			return Action(a), nil
		}
	}
	return Deny, fmt.Errorf("action %q is none of allow, ask, deny", s)
}

// String is the name that Parse reads; what is no Action denies.
func (a Action) String() string {
	if int(a) < len(names) {
		return names[a]
	}
	return names[Deny]
}

// Worse is the stricter of two answers: deny before ask before allow.
func Worse(a, b Action) Action { return min(a.known(), b.known()) }

// known reads what is no Action as a denial.
func (a Action) known() Action {
	if a > Allow {
		return Deny
	}
	return a
}
