package supervise

import "unicode/utf8"

// escaper shows control characters as text: \x1b for a byte, \u{9b} for a C1 control
// in UTF-8. New line, tab and carriage return before a new line pass.
// The zero value is ready; it keeps an incomplete character for the next call, and gives
// it up in flush.
type escaper struct {
	rest [utf8.UTFMax]byte
	n    int
	out  []byte
}

// escape returns p with its control characters made visible; valid until the next call.
func (e *escaper) escape(p []byte) []byte {
	in := append(append([]byte{}, e.rest[:e.n]...), p...)
	e.n, e.out = 0, e.out[:0]
	for len(in) > 0 {
		if !utf8.FullRune(in) {
			e.n = copy(e.rest[:], in)
			break
		}
		c, size := utf8.DecodeRune(in)
		if c == '\r' && len(in) == 1 { // what follows says what it is
			e.n = copy(e.rest[:], in)
			break
		}
		switch {
		case c == utf8.RuneError && size == 1:
			e.out = appendHex(append(e.out, `\x`...), uint32(in[0]))
		case c == '\n' || c == '\t' || c == '\r' && len(in) > 1 && in[1] == '\n':
			e.out = append(e.out, byte(c))
		case c < 0x20 || c == 0x7f:
			e.out = appendHex(append(e.out, `\x`...), uint32(c))
		case c >= 0x80 && c < 0xa0:
			e.out = append(appendHex(append(e.out, `\u{`...), uint32(c)), '}')
		default:
			e.out = append(e.out, in[:size]...)
		}
		in = in[size:]
	}
	return e.out
}

// flush returns what escape kept, at the end of the output.
func (e *escaper) flush() []byte {
	e.out = e.out[:0]
	for _, c := range e.rest[:e.n] {
		e.out = appendHex(append(e.out, `\x`...), uint32(c))
	}
	e.n = 0
	return e.out
}

// appendHex appends the two digits of a byte.
func appendHex(b []byte, v uint32) []byte {
	const hex = "0123456789abcdef"
	return append(b, hex[v>>4&0xf], hex[v&0xf])
}
