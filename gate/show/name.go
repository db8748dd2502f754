package show

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"brainbox/internal/strictjson"
	"brainbox/internal/visible"
)

// Checked is a name as it is shown, and what is doubtful about it.
type Checked struct {
	Text     string   // ASCII only, at most [FieldMost] characters
	Whole    string   // ASCII only, all of it
	Warnings []string // empty: nothing. A rule that allows must not answer for a name with warnings
}

// Name shows the name of a host, a program (argv[0]) or a tool. One that is not ASCII is
// shown in escapes and flagged: а (Cyrillic) is a name of its own and looks like a.
func Name(s string) Checked {
	all := cells(s, mode{ascii: true})
	c := Checked{Text: join(fold(all, FieldMost)), Whole: join(all)}
	if odd := oddities(s); odd != "" {
		c.Warnings = append(c.Warnings, "not plain ASCII: "+odd)
	}
	if names := scripts(s); len(names) > 1 {
		c.Warnings = append(c.Warnings, "letters of several scripts: "+strings.Join(names, ", "))
	}
	for label := range strings.SplitSeq(strings.ToLower(s), ".") {
		if strings.HasPrefix(label, "xn--") {
			c.Warnings = append(c.Warnings, "an international name in its ASCII form (xn--)")
			break
		}
	}
	return c
}

// oddities lists the first characters of a name that are not printable ASCII.
func oddities(s string) string {
	const most = 4
	var odd []string
	for i, r := range s {
		if r < utf8.RuneSelf && !visible.Hidden(r) {
			continue
		}
		_, n := utf8.DecodeRuneInString(s[i:])
		word := escape(s[i:i+n]) + " (" + about(r) + ")"
		switch {
		case slices.Contains(odd, word):
		case len(odd) == most:
			return strings.Join(odd, ", ") + " and others"
		default:
			odd = append(odd, word)
		}
	}
	return strings.Join(odd, ", ")
}

// Doubts says what a person should know of a text that is shown: hidden characters, words
// that mix scripts, letters that are read from right to left.
func Doubts(s string) []string {
	var out []string
	if strings.ContainsFunc(s, func(r rune) bool { return r != '\n' && r != '\t' && visible.Hidden(r) }) || !utf8.ValidString(s) {
		out = append(out, "hidden characters, shown as escapes")
	}
	apart := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) }
	for word := range strings.FieldsFuncSeq(s, apart) {
		if names := scripts(word); len(names) > 1 {
			out = append(out, "a word with letters of several scripts ("+strings.Join(names, ", ")+"): "+strictjson.Escape(first(word, 32)))
			break
		}
	}
	if strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(rightToLeft, r) }) {
		out = append(out, "letters that are read from right to left: what stands beside them may appear in another order")
	}
	return out
}

// first cuts a word for a message, between characters.
func first(s string, most int) string {
	for i := range s {
		if i >= most {
			return s[:i]
		}
	}
	return s
}

// about names what a character is of.
func about(r rune) string {
	switch name := script(r); {
	case visible.Hidden(r):
		return "hidden"
	case name == "":
		return "symbol"
	default:
		return name
	}
}

// rightToLeft are the blocks whose characters are written so, assigned or not, those of
// scripts that nobody uses too (DerivedBidiClass.txt).
var rightToLeft = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x0590, Hi: 0x08FF, Stride: 1}, {Lo: 0xFB1D, Hi: 0xFDFF, Stride: 1}, {Lo: 0xFE70, Hi: 0xFEFF, Stride: 1},
	},
	R32: []unicode.Range32{{Lo: 0x10800, Hi: 0x10FFF, Stride: 1}, {Lo: 0x1E800, Hi: 0x1EFFF, Stride: 1}},
}

// script names the script of a letter: "" for what all scripts share. The scripts that are
// written together (Japanese, Korean) count as one.
func script(r rune) string {
	switch {
	case r < utf8.RuneSelf:
		if unicode.IsLetter(r) {
			return "Latin"
		}
		return ""
	case unicode.In(r, unicode.Common, unicode.Inherited):
		return ""
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo):
		return "Han"
	}
	all := spans()
	if i := sort.Search(len(all), func(i int) bool { return all[i].hi >= r }); i < len(all) && all[i].lo <= r {
		return all[i].name
	}
	return ""
}

// span is characters in a row that are of one script.
type span struct {
	lo, hi rune
	name   string
}

// spans are the scripts' tables as one that can be searched: to ask all of the tables for
// each letter of a long text takes seconds.
var spans = sync.OnceValue(func() []span {
	var all []span
	add := func(name string, lo, hi, stride rune) {
		if stride == 1 {
			all = append(all, span{lo, hi, name})
			return
		}
		for r := lo; r <= hi; r += stride {
			all = append(all, span{r, r, name})
		}
	}
	for name, table := range unicode.Scripts {
		for _, x := range table.R16 {
			add(name, rune(x.Lo), rune(x.Hi), rune(x.Stride))
		}
		for _, x := range table.R32 {
			add(name, rune(x.Lo), rune(x.Hi), rune(x.Stride))
		}
	}
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.lo, b.lo) })
	return all
})

// scripts lists the first scripts of a text, each once.
func scripts(s string) []string {
	const most = 4
	var names []string
	for _, r := range s {
		if name := script(r); name != "" && !slices.Contains(names, name) {
			if names = append(names, name); len(names) == most {
				break
			}
		}
	}
	return names
}
