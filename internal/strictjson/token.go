package strictjson

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// word reads one of the three literals.
func (s *scanner) word(w string) *Error {
	if len(s.data)-s.pos < len(w) || string(s.data[s.pos:s.pos+len(w)]) != w {
		return s.syntax("value expected")
	}
	s.pos += len(w)
	return nil
}

// number reads a number by the grammar of RFC 8259, section 6.
func (s *scanner) number() *Error {
	n := numberLen(s.data[s.pos:])
	if n == 0 {
		return s.syntax("malformed number")
	}
	s.pos += n
	return nil
}

// numberLen returns the length of the number at the start of b, 0 if there is
// none.
func numberLen[T []byte | string](b T) int {
	i := 0
	if i < len(b) && b[i] == '-' {
		i++
	}
	switch {
	case i < len(b) && b[i] == '0':
		i++
	case i < len(b) && isDigit(b[i]):
		i += digits(b[i:])
	default:
		return 0
	}
	if i < len(b) && b[i] == '.' {
		n := digits(b[i+1:])
		if n == 0 {
			return 0
		}
		i += 1 + n
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		n := digits(b[i:])
		if n == 0 {
			return 0
		}
		i += n
	}
	return i
}

func digits[T []byte | string](b T) int {
	i := 0
	for i < len(b) && isDigit(b[i]) {
		i++
	}
	return i
}

// str reads a string token and notes a lone surrogate escape in it.
func (s *scanner) str() *Error {
	s.pos++
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; {
		case c == '"':
			s.pos++
			return nil
		case c < 0x20:
			return s.syntax("control character in a string")
		case c == '\\':
			if err := s.escape(); err != nil {
				return err
			}
		default:
			s.pos++
		}
	}
	return s.syntax("unexpected end")
}

// escape reads one escape sequence, or the two that make a surrogate pair.
func (s *scanner) escape() *Error {
	start := s.pos
	s.pos++
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos++
		return nil
	case 'u':
	default:
		return s.syntax("unknown escape")
	}
	first, ok := hex4(s.data[s.pos+1:])
	if !ok {
		return s.syntax("malformed escape")
	}
	s.pos += 5
	if first < 0xD800 || first > 0xDFFF {
		return nil
	}
	if first < 0xDC00 && len(s.data)-s.pos >= 6 && s.data[s.pos] == '\\' && s.data[s.pos+1] == 'u' {
		if second, ok := hex4(s.data[s.pos+2:]); ok && 0xDC00 <= second && second <= 0xDFFF {
			s.pos += 6
			return nil
		}
	}
	if s.surrogate == nil {
		s.surrogate = &Error{Code: CodeEncodingInvalid, Offset: int64(start), Msg: "lone surrogate escape"}
	}
	return nil
}

// hex4 reads four hexadecimal digits.
func hex4[T []byte | string](b T) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	var r rune
	for i := range 4 {
		c := b[i]
		switch {
		case isDigit(c):
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
