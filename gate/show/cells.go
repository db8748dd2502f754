package show

import (
	"strconv"
	"unicode"
	"unicode/utf8"

	"brainbox/internal/visible"
)

// cell is what is shown for one character of the source with the marks on it, which are
// nowhere parted from it, or for a folded run of one.
type cell struct {
	text   string
	source int  // characters of the source; a byte that is not UTF-8 is one
	end    bool // the end of a line
}

const (
	mostMarks = 4 // combining marks behind one letter: as many as living scripts use
	leastRun  = 5 // blanks or hidden characters in a row that are folded
)

// mode is how characters are shown.
type mode struct {
	lines bool // a line feed (or CR LF) is the end of a line
	ascii bool // nothing else is shown as it is
}

// cells shows each character of s.
func cells(s string, m mode) []cell {
	var out []cell
	marks := mostMarks // no mark is shown at the start
	var base rune      // what a mark would stand on
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if m.lines && r == '\r' && i+1 < len(s) && s[i+1] == '\n' {
			i++
			continue
		}
		char := s[i : i+n]
		i += n
		if m.lines && r == '\n' {
			out, marks = append(out, cell{source: 1, end: true}), mostMarks
			continue
		}
		invalid := r == utf8.RuneError && n == 1
		mark := !invalid && joins(r)
		switch {
		case r == '\\':
			out, marks = append(out, cell{text: `\\`, source: 1}), mostMarks
			continue
		case invalid, visible.Hidden(r), m.ascii && r >= utf8.RuneSelf,
			mark && (marks >= mostMarks || !fits(r, base)):
			out, marks = append(out, cell{text: escape(char), source: 1}), mostMarks
			continue
		case mark:
			on := &out[len(out)-1]
			on.text, on.source = on.text+char, on.source+1
			marks++
			continue
		}
		out = append(out, cell{text: char, source: 1})
		if base, marks = r, mostMarks; unicode.IsLetter(r) {
			marks = 0
		}
	}
	return ends(runs(out))
}

// conjoining are the vowels and finals of Hangul that a terminal draws, as it does a mark,
// over what stands before them (wcwidth(3) is 0).
var conjoining = &unicode.RangeTable{R16: []unicode.Range16{{Lo: 0x1160, Hi: 0x11FF, Stride: 1}, {Lo: 0xD7B0, Hi: 0xD7FF, Stride: 1}}}

// joins reports whether a character is drawn on the one before it.
func joins(r rune) bool { return r >= 0x300 && (unicode.IsMark(r) || unicode.Is(conjoining, r)) }

// fits reports whether a mark is one of its letter's script, or of all. Another one has
// often no glyph there: it would not be seen.
func fits(mark, letter rune) bool {
	switch {
	case unicode.Is(unicode.Me, mark):
		return false
	case unicode.Is(unicode.Inherited, mark):
		return true
	case unicode.Is(conjoining, mark):
		return unicode.Is(unicode.Hangul, letter)
	}
	name := script(mark)
	return name != "" && name == script(letter)
}

func escape(char string) string { return string(visible.AppendEscape(nil, char)) }

// runs folds what a person does not see in numbers: the same blank, or the same escape.
func runs(in []cell) []cell {
	out := in[:0]
	for i := 0; i < len(in); {
		n := 1
		for i+n < len(in) && in[i+n] == in[i] {
			n++
		}
		c := in[i]
		blank := c.text == " " || c.end || len(c.text) > 1 && c.text[0] == '\\' && c.text != `\\`
		if !blank || n < leastRun {
			out = append(out, in[i:i+n]...)
			i += n
			continue
		}
		if c.end {
			c.text, c.end = `\n`, false
		}
		c.text, c.source = c.text+`\{`+strconv.Itoa(n)+` times}`, n
		out = append(out, c)
		i += n
	}
	return out
}

// ends makes a blank at either end visible.
func ends(all []cell) []cell {
	for _, i := range []int{0, len(all) - 1} {
		if i >= 0 && i < len(all) && all[i].text != "" && all[i].text[0] == ' ' {
			all[i].text = `\x20` + all[i].text[1:]
		}
	}
	return all
}

// fold keeps head and tail of what is longer than most characters on the screen.
func fold(all []cell, most int) []cell {
	total := 0
	for _, c := range all {
		total += size(c)
	}
	if total <= most {
		return all
	}
	// The tail gets a third: what does the harm stands at the end of a long command as often
	// as at its start. 32 are for the marker.
	tail := max(most/3, 0)
	head := max(most-tail-32, 0)
	from, to := 0, len(all)
	for used := 0; from < to && used+size(all[from]) <= head; from++ {
		used += size(all[from])
	}
	for used := 0; to > from && used+size(all[to-1]) <= tail; to-- {
		used += size(all[to-1])
	}
	gone := 0
	for _, c := range all[from:to] {
		gone += c.source
	}
	out := append(append([]cell{}, all[:from]...), hiddenPart(gone))
	return append(out, all[to:]...)
}

// outer is cells for a text that is folded anyway: of a long one, the middle is counted and
// not looked at.
func outer(s string, m mode) []cell {
	const side = 16 << 10 // bytes; much more than is shown
	if len(s) <= 4*side {
		return cells(s, m)
	}
	from, to := boundary(s, side), boundary(s, len(s)-side)
	middle := hiddenPart(utf8.RuneCountInString(s[from:to]))
	return append(append(cells(s[:from], m), middle), cells(s[to:], m)...)
}

// boundary is the next start of a character.
func boundary(s string, i int) int {
	for n := 0; n < utf8.UTFMax && i < len(s) && !utf8.RuneStart(s[i]); n++ {
		i++
	}
	return i
}

// hiddenPart stands for characters that are not shown.
func hiddenPart(n int) cell {
	return cell{text: `\{` + strconv.Itoa(n) + ` more characters}`, source: n}
}

func size(c cell) int { return utf8.RuneCountInString(c.text) }
