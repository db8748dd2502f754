package redact

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// view is a text, and where each of its bytes stands in the source that it was decoded from.
type view struct {
	text string
	off  []int32 // len(text)+1 places; nil: the text is the source
}

func (v view) source(i int) int {
	if v.off == nil {
		return i
	}
	return int(v.off[i])
}

func (v view) has(c byte) bool { return strings.IndexByte(v.text, c) >= 0 }

// decoding builds a view of a view.
type decoding struct {
	from view
	text []byte
	off  []int32
}

func decode(v view) *decoding {
	return &decoding{from: v, text: make([]byte, 0, len(v.text)), off: make([]int32, 0, len(v.text)+1)}
}

// put appends what stands at byte i of the view.
func (d *decoding) put(i int, text ...byte) {
	for _, c := range text {
		d.text = append(d.text, c)
		d.off = append(d.off, int32(d.from.source(i)))
	}
}

func (d *decoding) view() view {
	return view{text: string(d.text), off: append(d.off, int32(d.from.source(len(d.from.text))))}
}

// squeeze leaves out line breaks and the blanks that a line begins with: encoded texts are
// wrapped.
func squeeze(v view) view {
	d := decode(v)
	start := false
	for i := range len(v.text) {
		c := v.text[i]
		switch {
		case c == '\n' || c == '\r':
			start = true
		case start && (c == ' ' || c == '\t'):
		default:
			start = false
			d.put(i, c)
		}
	}
	return d.view()
}

const escape = 0x1b

// bare leaves out the escape sequences of terminals (ECMA-48, sections 5.3, 5.4 and 5.6): a
// program that marks what it found puts them into the middle of a word.
func bare(v view) view {
	d := decode(v)
	for i := 0; i < len(v.text); i++ {
		if v.text[i] != escape {
			d.put(i, v.text[i])
			continue
		}
		i += sequence(v.text[i+1:])
	}
	return d.view()
}

// sequence returns the length of what belongs to the escape before s.
func sequence(s string) int {
	until := func(i int, low, high byte) int {
		for i < len(s) && low <= s[i] && s[i] <= high {
			i++
		}
		return i
	}
	end := 0
	switch {
	case s == "":
		return 0
	case s[0] == '[': // CSI: parameters, intermediate bytes, the final one
		end = until(until(1, 0x30, 0x3f), 0x20, 0x2f)
	case strings.IndexByte("]PX^_", s[0]) >= 0: // a string, to BEL or ST
		for end = 1; end < len(s) && s[end] != 0x07 && s[end] != escape; end++ {
		}
		if end < len(s) && s[end] == escape { // the ST has its own escape
			return end
		}
		return min(end+1, len(s))
	default:
		end = until(0, 0x20, 0x2f)
	}
	if end < len(s) && s[end] >= 0x30 && s[end] <= 0x7e {
		end++
	}
	return end
}

// squeezed is the text of [squeeze].
func squeezed(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for s != "" {
		n := strings.IndexAny(s, "\r\n")
		if n < 0 {
			n = len(s)
		}
		b.WriteString(s[:n])
		if s = s[n:]; s != "" {
			s = strings.TrimLeft(s, "\r\n \t") // what begins the next line
		}
	}
	return b.String()
}

// percent decodes %41.
func percent(v view) (view, bool) {
	d := decode(v)
	changed := false
	for i := 0; i < len(v.text); i++ {
		if c := v.text[i]; c == '%' && i+2 < len(v.text) {
			high, low := nibble(v.text[i+1]), nibble(v.text[i+2])
			if high >= 0 && low >= 0 {
				d.put(i, byte(high<<4|low))
				i += 2
				changed = true
				continue
			}
		}
		d.put(i, v.text[i])
	}
	return d.view(), changed
}

func nibble(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// unescape decodes the escapes of a JSON string.
func unescape(v view) (view, bool) {
	const escapes, meant = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	d := decode(v)
	changed := false
	for i := 0; i < len(v.text); i++ {
		if v.text[i] == '\\' && i+1 < len(v.text) {
			if n := strings.IndexByte(escapes, v.text[i+1]); n >= 0 {
				d.put(i, meant[n])
				i++
				changed = true
				continue
			}
			if r, size := unit(v.text[i:]); size > 0 {
				var buf [utf8.UTFMax]byte
				d.put(i, buf[:utf8.EncodeRune(buf[:], r)]...)
				i += size - 1
				changed = true
				continue
			}
		}
		d.put(i, v.text[i])
	}
	return d.view(), changed
}

// unit decodes a backslash, u and four digits, or two of those that are one character, at the start of s; size 0:
// there is none.
func unit(s string) (r rune, size int) {
	high, ok := hex4(s)
	if !ok {
		return 0, 0
	}
	if 0xD800 <= high && high < 0xDC00 {
		if low, ok := hex4(s[6:]); ok && 0xDC00 <= low && low < 0xE000 {
			return (high-0xD800)<<10 | (low - 0xDC00) + 0x10000, 12
		}
	}
	return high, 6
}

func hex4(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(s[2:6], 16, 32)
	return rune(n), err == nil
}
