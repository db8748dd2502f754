package files

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"unicode/utf8"

	"brainbox/internal/strictjson"
)

// isBinary: not text, which is UTF-8 without U+0000. Such a file is not searched, as with
// grep -I.
func isBinary(data []byte) bool {
	return bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data)
}

// between is how many lines are searched at most between two looks at the clock.
const between = 256

// lines matches one text line by line. fs.SkipAll ends the search.
func (s *search) lines(ctx context.Context, rel string, data []byte) error {
	step := s.step()
	since := 0 // characters, at most, since the last look
	for n := int64(1); len(data) > 0; n++ {
		if n%between == 0 || since > step {
			since = 0
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if s.why = s.bound(); s.why != "" {
				return fs.SkipAll
			}
		}
		line, rest, _ := bytes.Cut(data, []byte{'\n'})
		data = rest
		found := false
		since += len(line) + 1
		if len(line) <= step {
			found = s.re.Match(line)
		} else {
			r := &patient{s: s, ctx: ctx, line: line, step: step}
			found = s.re.MatchReader(r)
			if r.over {
				s.why = "time"
				return fs.SkipAll
			}
		}
		if found {
			if err := s.match(rel, n, line); err != nil {
				return err
			}
		}
	}
	return nil
}

// match keeps one line that matched.
func (s *search) match(rel string, n int64, line []byte) error {
	cut := len(line) > searchLine
	if cut {
		line = whole(line[:searchLine], true)
	}
	if s.text += len(rel) + len(line); len(s.matches) >= s.most || s.text > searchText {
		s.why = "results"
		return fs.SkipAll
	}
	m := []strictjson.Member{
		strictjson.Pair("path", strictjson.Text(rel)), strictjson.Pair("line", strictjson.Int(n)),
		strictjson.Pair("text", strictjson.Text(string(line))),
	}
	if cut {
		m = append(m, strictjson.Pair("cut", strictjson.Bool(true)))
	}
	s.matches = append(s.matches, strictjson.Object(m...))
	return nil
}

// patient gives a long line to the matcher, and ends when the time is over: a pattern may
// take long for each of its characters.
type patient struct {
	s    *search
	ctx  context.Context
	line []byte
	step int // characters between two looks
	at   int
	n    int
	over bool
}

// ReadRune is that of [io.RuneReader].
func (p *patient) ReadRune() (r rune, size int, err error) {
	if p.n++; p.n%p.step == 0 && (p.ctx.Err() != nil || p.s.bound() != "") {
		p.over = true
	}
	if p.over || p.at >= len(p.line) {
		return 0, 0, io.EOF
	}
	r, size = utf8.DecodeRune(p.line[p.at:])
	p.at += size
	return r, size, nil
}
