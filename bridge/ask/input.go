package ask

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"

	"brainbox/internal/strictjson"
)

// units is the length of s in UTF-16 units.
func units(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// cut is the beginning of s, at most most UTF-16 units and whole characters.
func cut(s string, most int) string {
	n := 0
	for i, r := range s {
		if n += utf16.RuneLen(r); n > most {
			return s[:i]
		}
	}
	return s
}

// trim takes blanks from both ends, the byte order mark included, as the contract's
// language does.
func trim(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r == '\uFEFF' })
}

// text is the required string key of low to high UTF-16 units.
func text(f *strictjson.Fields, key string, low, high int) string {
	s := f.String(key)
	if n := units(s); n < low || n > high {
		f.Invalid(key, fmt.Sprintf("not %d to %d characters long", low, high))
	}
	return s
}

// option is text where the key may be missing, and is empty then.
func option(f *strictjson.Fields, key string, low, high int) string {
	if !f.Has(key) {
		return ""
	}
	return text(f, key, low, high)
}

// flag is the boolean key, or what it is when it is missing.
func flag(f *strictjson.Fields, key string, otherwise bool) bool {
	if !f.Has(key) {
		return otherwise
	}
	return f.Bool(key)
}

// objects is the required array key of low to high objects.
func objects(f *strictjson.Fields, key string, low, high int, known ...string) []*strictjson.Fields {
	list := f.Objects(key, high, known...)
	if len(list) < low {
		f.Invalid(key, fmt.Sprintf("not %d to %d items", low, high))
	}
	return list
}

// cutoff is how many of the first matter, 0 when it is not said.
func cutoff(f *strictjson.Fields) int {
	if !f.Has("cutoff") {
		return 0
	}
	return int(f.Int("cutoff", 1, mostRank))
}

// The bounds of contract brainkit §5.4 to §5.6.
const (
	mostPrompt = 300
	mostLabel  = 40
	mostItems  = 30
	mostScale  = 8
	mostRank   = 15
	mostNote   = 280
	listLink   = 2048
	otherLink  = 2000
	mostOther  = 4000
)

func readScale(f *strictjson.Fields) []Label {
	var out []Label
	for _, l := range objects(f, "scale", 2, mostScale, "label", "description") {
		out = append(out, Label{text(l, "label", 1, mostLabel), option(l, "description", 0, 120)})
	}
	return out
}

func readItems(f *strictjson.Fields, low, high, link int) []Item {
	var out []Item
	for _, i := range objects(f, "items", low, high, "id", "label", "detail", "link") {
		out = append(out, Item{text(i, "id", 1, 64), text(i, "label", 1, 200), option(i, "detail", 0, 200), option(i, "link", 0, link)})
	}
	return out
}

// ids of items.
func ids(items []Item) []string {
	out := make([]string, len(items))
	for i := range items {
		out[i] = items[i].ID
	}
	return out
}

// labels of a scale.
func labels(scale []Label) []string {
	out := make([]string, len(scale))
	for i := range scale {
		out[i] = scale[i].Label
	}
	return out
}

// offered labels of a question.
func offered(options []Option) []string {
	out := make([]string, len(options))
	for i := range options {
		out[i] = options[i].Label
	}
	return out
}

// unique refuses what occurs twice, by name.
func unique(what string, list []string) error {
	if s, twice := repeated(list); twice {
		return badInput(what + " " + shown(s) + " occurs twice")
	}
	return nil
}
