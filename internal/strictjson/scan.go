package strictjson

// scanner walks the whole text once, without recursion and without building
// anything, so that the grammar is judged before complexity and a hostile text
// costs no more than one byte of stack for each bracket.
type scanner struct {
	data   []byte
	pos    int
	lim    Limits
	open   []byte // the containers around pos: '{' or '['
	keys   int
	values int

	surrogate *Error // the first lone surrogate escape
	complex   *Error // the first limit that was passed
}

// document reads one value and the end of the text.
func (s *scanner) document() *Error {
	for {
		opened, err := s.value()
		if err != nil {
			return err
		}
		if opened {
			continue
		}
		more, err := s.after()
		if err != nil || !more {
			return err
		}
	}
}

// value reads a scalar or an empty container, or opens a container and its first
// key; then opened is true and a value must follow.
func (s *scanner) value() (opened bool, err *Error) {
	s.space()
	s.count(&s.values, s.lim.Values, "too many values")
	c := s.peek()
	switch {
	case c == '{' || c == '[':
		return s.container(c)
	case c == '"':
		return false, s.str()
	case c == '-' || isDigit(c):
		return false, s.number()
	case c == 't':
		return false, s.word("true")
	case c == 'f':
		return false, s.word("false")
	case c == 'n':
		return false, s.word("null")
	}
	return false, s.syntax("value expected")
}

// container opens what c opens.
func (s *scanner) container(c byte) (opened bool, err *Error) {
	s.open = append(s.open, c)
	if len(s.open) > s.lim.Depth {
		s.tooComplex("nested too deeply")
	}
	s.pos++
	s.space()
	if s.peek() == c+2 { // in ASCII } is { + 2 and ] is [ + 2
		s.pos++
		s.open = s.open[:len(s.open)-1]
		return false, nil
	}
	if c == '{' {
		return true, s.key()
	}
	return true, nil
}

// after reads what follows a finished value: closing brackets, then a comma, or
// the end of the text.
func (s *scanner) after() (more bool, err *Error) {
	for {
		s.space()
		if len(s.open) == 0 {
			if s.pos < len(s.data) {
				return false, s.syntax("text after the value")
			}
			return false, nil
		}
		top := s.open[len(s.open)-1]
		switch s.peek() {
		case top + 2:
			s.pos++
			s.open = s.open[:len(s.open)-1]
		case ',':
			s.pos++
			if top == '{' {
				return true, s.key()
			}
			return true, nil
		default:
			return false, s.syntax("comma or closing bracket expected")
		}
	}
}

// key reads a key and its colon.
func (s *scanner) key() *Error {
	s.space()
	s.count(&s.keys, s.lim.Keys, "too many object keys")
	if s.peek() != '"' {
		return s.syntax("object key expected")
	}
	if err := s.str(); err != nil {
		return err
	}
	s.space()
	if s.peek() != ':' {
		return s.syntax("colon expected")
	}
	s.pos++
	return nil
}

func (s *scanner) count(n *int, limit int, msg string) {
	*n++
	if *n > limit {
		s.tooComplex(msg)
	}
}

func (s *scanner) tooComplex(msg string) {
	if s.complex == nil {
		s.complex = &Error{Code: CodeTooComplex, Offset: int64(s.pos), Msg: msg}
	}
}

func (s *scanner) syntax(msg string) *Error {
	if s.pos >= len(s.data) {
		msg = "unexpected end"
	}
	return &Error{Code: CodeNotJSON, Offset: int64(s.pos), Msg: msg}
}

// peek returns the byte at pos, or 0 at the end. U+0000 is no token, so the two
// need not be told apart.
func (s *scanner) peek() byte {
	if s.pos < len(s.data) {
		return s.data[s.pos]
	}
	return 0
}

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}
