package files

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"regexp"
	"time"

	"brainbox/dirchain"
	"brainbox/gate"
	"brainbox/gate/protect"
	"brainbox/gate/shell"
	"brainbox/internal/strictjson"
)

// Bounds of one search.
const (
	searchFile  = 8 << 20   // bytes of one file
	searchTotal = 256 << 20 // bytes of all files
	searchTime  = 10 * time.Second
	searchText  = 96 << 10 // bytes of all that is returned: escaped it must fit a frame
	searchLine  = 500      // bytes of a line that are returned
)

// grep is a call of grep.
type grep struct {
	rs             *Roots
	r              *root
	rel, submitted string
	pattern        string
	re             *regexp.Regexp
	size           int // of its program, in instructions
	most           int
}

func planGrep(rs *Roots, v *strictjson.Value) (*grep, error) {
	in := rs.bind(v, "pattern", "path", "root", "max_results")
	c := &grep{rs: rs, r: in.root(), pattern: in.text("pattern"), submitted: "."}
	if in.Has("path") {
		c.rel, c.submitted = in.reading("path")
	}
	c.most = int(in.number("max_results", 1, MaxResults, MaxResults))
	if c.pattern == "" || len(c.pattern) > MaxPattern {
		in.Invalid("pattern", "from 1 to 4096 bytes are possible")
	}
	if err := in.err(); err != nil {
		return nil, err
	}
	var err error
	if c.re, c.size, err = compile(c.pattern); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *grep) reading() gate.Reading {
	return gate.Reading{Value: c.rs.value(c.r, c.rel), Targets: []gate.Target{c.r.target(c.rel, shell.ReadOnly, false)}}
}

func (c *grep) binds() [][]byte {
	return [][]byte{[]byte(c.r.Name), []byte(c.rel), []byte(c.pattern), number(int64(c.most))}
}

func (c *grep) locks() []string { return nil }

func (c *grep) do(ctx context.Context, held []*protect.Held) (*strictjson.Value, error) {
	leave, err := c.rs.enter(ctx)
	if err != nil {
		return nil, explain(err, c.submitted)
	}
	defer leave()
	s := &search{grep: c, began: time.Now()}
	at := ""
	if c.rel != "" { // of the root itself no place is held: no link can lead to it
		h, err := c.r.held(held, 0, c.submitted)
		if err != nil {
			return nil, err
		}
		st, found := h.Target().Stat()
		switch at = h.Rel(); {
		case !found:
			return nil, refuse("not_found", c.submitted, "it does not exist")
		case st.Type() == 0:
			err = s.file(ctx, at, st)
			return s.result(ctx, err)
		case !st.Type().IsDir():
			return nil, refuse("alias_denied", c.submitted, "it is neither a file nor a folder")
		}
	}
	if s.inner, err = c.rs.inner(ctx, "grep", shell.ReadOnly, path.Join(c.r.at, at)); err != nil {
		return nil, err
	}
	err = c.r.Dir.Walk(ctx, at, dirchain.WalkLimits{Time: searchTime}, func(e dirchain.Entry) error {
		return s.entry(ctx, e)
	})
	return s.result(ctx, err)
}

// search is what one call has found so far.
type search struct {
	*grep
	began   time.Time
	matches []strictjson.Value
	text    int   // bytes of them
	read    int64 // bytes
	files   int
	skipped struct{ binary, large, unreadable, withheld int64 }
	inner   *inner
	why     string // why it is not all; empty: it is
}

// entry searches one file of the walk. The metadata of git is left out, and what is hidden.
func (s *search) entry(ctx context.Context, e dirchain.Entry) error {
	if s.r.rules.hides(e.Path) {
		return skip(e)
	}
	if e.IsDir() {
		if e.Err != nil && !errors.Is(e.Err, dirchain.ErrLimit) {
			s.skipped.unreadable++
		}
		if e.Name == ".git" || s.concealed(e) {
			return fs.SkipDir
		}
		return nil
	}
	if e.Type != 0 {
		return nil // a link is not followed, and the rest is no text
	}
	st, err := e.Stat()
	if err != nil {
		s.skipped.unreadable++
		return nil
	}
	if !s.inner.allows(ctx, path.Join(s.r.at, e.Path)) {
		s.skipped.withheld++
		return nil
	}
	return s.file(ctx, e.Path, st)
}

// skip leaves out a directory with its contents, and of anything else that alone.
func skip(e dirchain.Entry) error {
	if e.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// concealed: the directory is a hidden one under another name.
func (s *search) concealed(e dirchain.Entry) bool {
	if len(s.r.hidden) == 0 {
		return false
	}
	st, err := e.Stat()
	if err != nil {
		return true
	}
	for _, h := range s.r.hidden {
		if is, found := h.Stat(); found && is.ID == st.ID {
			return true
		}
	}
	return false
}

// file searches one file that was looked at.
func (s *search) file(ctx context.Context, rel string, st dirchain.Stat) error {
	if why := s.bound(); why != "" {
		s.why = why
		return fs.SkipAll
	}
	if st.Size > searchFile {
		s.skipped.large++
		return nil
	}
	if len(s.r.hidden) > 0 { // the way there must not lead through what is hidden by now
		t, err := s.r.Dir.Hold(rel)
		if err != nil {
			s.skipped.unreadable++
			return nil
		}
		defer t.Close()
		if s.r.meets(t) {
			return nil
		}
		st, _ = t.Stat()
	}
	got, err := s.r.Dir.Read(ctx, rel, dirchain.ReadRequest{Limit: searchFile})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil, got.Stat.ID != st.ID, got.Truncated:
		s.skipped.unreadable++
		return nil
	}
	s.read += int64(len(got.Data))
	if isBinary(got.Data) {
		s.skipped.binary++
		return nil
	}
	s.files++
	return s.lines(ctx, rel, got.Data)
}

// bound says which bound is met.
func (s *search) bound() string {
	switch {
	case time.Since(s.began) > searchTime:
		return "time"
	case s.read > searchTotal:
		return "bytes"
	}
	return ""
}

// result tells what was found, also when the walk met a limit.
func (s *search) result(ctx context.Context, err error) (*strictjson.Value, error) {
	switch {
	case ctx.Err() != nil:
		return nil, explain(ctx.Err(), s.submitted)
	case errors.Is(err, dirchain.ErrLimit):
		s.why = "limit"
	case err != nil && !errors.Is(err, fs.SkipAll):
		return nil, explain(err, s.submitted)
	}
	members := []strictjson.Member{
		strictjson.Pair("matches", strictjson.Array(s.matches...)), strictjson.Pair("truncated", strictjson.Bool(s.why != "")),
	}
	if s.why != "" {
		members = append(members, strictjson.Pair("reason", strictjson.Text(s.why)))
	}
	return object(append(members,
		strictjson.Pair("files", strictjson.Int(int64(s.files))),
		strictjson.Pair("skipped", strictjson.Object(
			strictjson.Pair("binary", strictjson.Int(s.skipped.binary)), strictjson.Pair("large", strictjson.Int(s.skipped.large)),
			strictjson.Pair("unreadable", strictjson.Int(s.skipped.unreadable)), strictjson.Pair("withheld", strictjson.Int(s.skipped.withheld)),
		)),
	)...), nil
}
