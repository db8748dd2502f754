package confirm

import (
	"fmt"
	"strings"

	"brainbox/internal/strictjson"
)

// Source is one configured pattern.
type Source struct {
	// Pattern is the expression. Empty matches every command.
	Pattern string
	// Effect completes "I want to …" in the question. Blank means none.
	Effect string
	// Invalid says why the entry is no pattern at all, when not empty: a number
	// must not become the empty pattern, which matches everything.
	Invalid string
}

// Config says which patterns hold. The zero value selects the table of this package:
// that of the contract and our own additions. Its fields are those of
// policy.Gate: Confirm, ConfirmMore and NoConfirm.
type Config struct {
	Confirm []Source // in place of the table; empty leaves the table
	More    []Source // on top of whichever holds, last in order
	None    bool     // the configuration is []: no table; never together with Confirm
	RE2     bool     // take what RE2 reads otherwise than the original engine
}

// DecodeError is a configuration that is no list in JSON.
type DecodeError struct{ Reason string }

// Error names the setting.
func (e *DecodeError) Error() string {
	return "confirm: " + settings + " must be a JSON list: " + e.Reason
}

// settings are the two places where the patterns are configured.
const settings = "confirmBashPatterns (or BRAIN_UI_CONFIRM_BASH)"

// Decode reads the JSON form: a list whose entries are strings or objects with pattern
// and effect. Its [] becomes None. What is no list, or not JSON, is a *[DecodeError]: a
// setting that cannot be read never selects the table. An entry of another type is left
// to [Compile], which reports it.
func Decode(text []byte) (Config, error) {
	root, err := strictjson.Decode(text, strictjson.Limits{})
	if err != nil {
		return Config{}, &DecodeError{err.Error()}
	}
	if root.Kind != strictjson.KindArray {
		return Config{}, &DecodeError{root.Kind.String()}
	}
	c := Config{None: len(root.Items) == 0}
	for i := range root.Items {
		c.Confirm = append(c.Confirm, sourceOf(&root.Items[i]))
	}
	return c, nil
}

func sourceOf(v *strictjson.Value) Source {
	if v.Kind == strictjson.KindString {
		return Source{Pattern: v.Text}
	}
	if v.Kind != strictjson.KindObject {
		return Source{Invalid: "a string or an object with pattern expected, got " + v.Kind.String()}
	}
	p := v.Get("pattern")
	if p == nil {
		return Source{Invalid: "an object without pattern"}
	}
	if p.Kind != strictjson.KindString {
		return Source{Invalid: "pattern is no string but " + p.Kind.String()}
	}
	s := Source{Pattern: p.Text}
	if e := v.Get("effect"); e != nil && e.Kind == strictjson.KindString {
		s.Effect = e.Text
	}
	return s
}

// Issue is one entry that is not kept, or that is kept and hardly meant.
type Issue struct {
	Index  int    // in its list, from 0
	More   bool   // in Config.More
	Source string // the expression; empty where there is none
	Reason string
	Kept   bool // a warning
}

// String is one sentence for a log.
func (i Issue) String() string {
	list, what := "confirm", "is left out"
	if i.More {
		list = "confirm_more"
	}
	if i.Kept {
		what = "is kept"
	}
	return fmt.Sprintf("%s entry %d (%q) %s: %s", list, i.Index+1, i.Source, what, i.Reason)
}

// Error says that a list which is not empty has no valid entry.
type Error struct{ Issues []Issue }

// Error lists the entries, and both places where they are configured.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("confirm: no pattern of " + settings + " is valid")
	for _, i := range e.Issues {
		if !i.Kept {
			fmt.Fprintf(&b, "; %q: %s", i.Source, i.Reason)
		}
	}
	b.WriteString("; correct them, or set [] to confirm nothing")
	return b.String()
}
