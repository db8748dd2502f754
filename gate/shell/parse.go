package shell

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"sync"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// The parser descends by recursion and knows no limit of its own: 128 KiB of
// opening parentheses take half a gigabyte of stack. It asks for its text in
// pieces while it descends, so whoever gives it the text can see how deep it is.
const (
	piece     = 256
	maxFrames = 1200 // some 150 subshells inside each other
	shallow   = 1024 // bytes of a text that cannot nest too deeply
)

var errDepth = errors.New("shell: nested too deeply")

// source gives out a text in pieces, as long as the stack is not too deep.
type source struct {
	text string
	base int // frames below the parser; 0: the text is short, and is not watched
	deep bool
}

func (s *source) Read(buf []byte) (int, error) {
	var pc [1]uintptr
	if s.deep || s.base > 0 && runtime.Callers(s.base+maxFrames, pc[:]) > 0 {
		s.deep = true
		return 0, errDepth
	}
	if s.text == "" {
		return 0, io.EOF
	}
	n := copy(buf[:min(len(buf), piece)], s.text)
	s.text = s.text[n:]
	return n, nil
}

// frames counts the callers of its caller, up to a bound.
func frames() int {
	var pc [64]uintptr
	n := 0
	for {
		got := runtime.Callers(n, pc[:])
		n += got
		if got < len(pc) || n > 1<<16 {
			return n
		}
	}
}

var parsers = sync.Pool{New: func() any { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }}

// parse reads a text as far as it can be read: the statements before the first
// mistake, where that is, and whether there is one.
func parse(text string) (stmts []*syntax.Stmt, rest int, ok bool) {
	if !readable(text) {
		return nil, 0, false
	}
	p, _ := parsers.Get().(*syntax.Parser)
	defer func() {
		if recover() != nil { // a mistake of the parser is a text that it can't read; it is not used again
			stmts, rest, ok = nil, 0, false
		}
	}()
	src := &source{text: text}
	if len(text) > shallow {
		src.base = frames()
	}
	var err error
	for stmt, e := range p.StmtsSeq(src) {
		if e != nil {
			err = e
			break
		}
		stmts = append(stmts, stmt)
		rest = min(int(stmt.End().Offset()), len(text)) //nolint:gosec // offsets are below MaxText
	}
	parsers.Put(p)
	return stmts, rest, err == nil && !src.deep
}

// readable refuses what shells take apart in different ways: bytes that are no
// UTF-8, and U+0000, which ends the text for some.
func readable(text string) bool {
	return utf8.ValidString(text) && strings.IndexByte(text, 0) < 0
}

// controls reports whether a text has a control character other than tab and
// line feed: a carriage return is part of a word in bash, and not in the parser.
func controls(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool {
		return r < ' ' && r != '\t' && r != '\n' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029
	}) >= 0
}

// commentEnd is where the line after the first one begins that may end in a comment with a
// backslash: the comment is over for bash, and goes on for the parser. 0: there is none.
func commentEnd(text string) int {
	for from := 0; ; {
		n := strings.Index(text[from:], "\\\n")
		if n < 0 {
			return 0
		}
		n += from
		line := text[strings.LastIndexByte(text[:n], '\n')+1 : n]
		for i := range len(line) {
			if line[i] == '#' && (i == 0 || strings.IndexByte(" \t;&|()<>`'\"\\", line[i-1]) >= 0) {
				return n + 2
			}
		}
		from = n + 2
	}
}

// subscript reports whether a text holds a[…$(…)…], quoted or not. Where bash wants a
// number it evaluates texts, and runs what is in a subscript: test -v, read, printf -v.
func subscript(text string) bool {
	if strings.Contains(text, "[$") || strings.Contains(text, "[`") {
		return true
	}
	var open []bool // for each bracket: it is behind a name
	names := 0
	last := byte(' ')
	for i := range len(text) {
		c := text[i]
		switch {
		case c == '\'' || c == '"' || c == '\\':
			continue // also where they are not taken off: near enough
		case c == '[':
			named := last == '_' || last == ']' || last >= '0' && last <= '9' || last|0x20 >= 'a' && last|0x20 <= 'z'
			open = append(open, named)
			if named {
				names++
			}
		case c == ']' && len(open) > 0:
			if open[len(open)-1] {
				names--
			}
			open = open[:len(open)-1]
		case names > 0 && (c == '$' || c == '`'):
			return true
		}
		last = c
	}
	return false
}
