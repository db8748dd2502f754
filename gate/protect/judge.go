package protect

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"
)

// Options of a judge.
type Options struct {
	// Env resolves paths where the tools write. nil: the spelling is the whole judgment.
	Env Environment
	// Root is the directory that relative paths are resolved in when a call tells no
	// base and no working directory; empty: Env.Dir.
	Root string
	// DataRoot is the directory of the engine's own data, absolute: what is in it is
	// judged by the part of its path beneath it. Empty: there is none. See [DataRoot]. It
	// may be a link, which is followed anew each time: who is judged must be able to change
	// neither it nor a directory above it, or makes a protected place the data root.
	DataRoot string
	// Wait bounds one call of [Judge.Check] or [Judge.Hold]. 0 means [DefaultWait].
	Wait time.Duration
	// OnAbsent is told at most once per judgment that Env had no answer. It runs in the
	// caller's goroutine, and its panic is the caller's.
	OnAbsent func(Absence)
}

// DefaultWait is how long a judgment may take.
const DefaultWait = 2 * time.Second

// TargetView is which reading of a write's target a judge has.
type TargetView string

// Target views.
const (
	SpellingOnly TargetView = "spelling-only"
	WithTarget   TargetView = "target"
)

// Judge compares with one table. Make it with [Compile]; what is not made so judges
// nothing, and lets nothing pass.
type Judge struct {
	x     *index
	o     Options
	view  TargetView
	looks chan struct{} // that are out
}

// Compile makes the judge of a seat. With a table that is switched off there is none, and
// mounted is false: nothing is judged, and nothing else changes.
func Compile(seat Seat, o Options) (j *Judge, mounted bool, err error) {
	rows, err := Resolve(seat)
	if err != nil {
		return nil, false, err
	}
	if o.DataRoot != "" {
		if !strings.HasPrefix(o.DataRoot, "/") {
			return nil, false, errors.New("protect: the data root is no absolute path")
		}
		o.DataRoot = path.Clean(o.DataRoot)
	}
	if len(rows) == 0 {
		return nil, false, nil
	}
	if o.Wait <= 0 {
		o.Wait = DefaultWait
	}
	j = &Judge{x: newIndex(rows), o: o, view: SpellingOnly, looks: make(chan struct{}, mostLooks)}
	if o.Env != nil {
		j.view = WithTarget
	}
	return j, true, nil
}

// DataRoot is brainbox's directory for [Options.DataRoot], by the variables of an
// environment: BRAINBOX_DATA_DIR, or brainbox in XDG_STATE_HOME or in ~/.local/state.
// One that is not absolute is as if it were not set.
func DataRoot(getenv func(string) string) string {
	for _, c := range []struct{ variable, beneath string }{
		{"BRAINBOX_DATA_DIR", ""}, {"XDG_STATE_HOME", "brainbox"}, {"HOME", ".local/state/brainbox"},
	} {
		if dir := getenv(c.variable); strings.HasPrefix(dir, "/") {
			return path.Join(dir, c.beneath)
		}
	}
	return ""
}

// Rows are the table.
func (j *Judge) Rows() []Row { return append([]Row(nil), j.x.rows...) }

// View is which reading the judge has, as it was compiled.
func (j *Judge) View() TargetView { return j.view }

// Match judges a path by its spelling alone, beneath cwd if there is one. It looks at no
// file.
func (j *Judge) Match(unsafePath, cwd string) (Row, bool) {
	return j.spelled(anchored(unsafePath, cwd))
}

// spelled judges a cleaned path as text.
func (j *Judge) spelled(cleaned string) (Row, bool) {
	if rest, ok := under(cleaned, j.o.DataRoot); ok {
		return j.x.match(rest)
	}
	return j.x.match(cleaned)
}

// Where is how one path is to be read.
type Where struct {
	Cwd  string // the call's working directory at this moment; empty: not known
	Base string // what the tool itself resolves a relative path in; empty: Cwd
	// Canonical: the path is one that the caller resolved already (of a removal or a
	// renaming, the entry itself). It is not followed, and is judged as a place.
	Canonical bool
}

// absolute is the path for the environment.
func (j *Judge) absolute(unsafePath string, w Where) string {
	for _, base := range []string{w.Base, w.Cwd, j.o.Root, j.o.Env.Dir()} {
		if base != "" {
			return anchored(unsafePath, base)
		}
	}
	return anchored(unsafePath, "/")
}

// Judge judges one write: by spelling, which costs no look at a file and ends it with a
// hit, then by links and by target. An environment that cannot answer leaves the
// spelling's judgment; it is never Unresolvable for that. OnAbsent is not told: the
// verdict says it. [Judge.Check] is what a gate uses.
func (j *Judge) Judge(ctx context.Context, unsafePath string, w Where) Verdict {
	if j == nil || j.x == nil {
		return Verdict{Cause: "there is no judge"}
	}
	if v, done := j.bySpelling(unsafePath, w); done {
		return v
	}
	return j.byPlace(ctx, unsafePath, w)
}

// bySpelling is the part without a look at a file, and whether it is all.
func (j *Judge) bySpelling(unsafePath string, w Where) (Verdict, bool) {
	if !w.Canonical || j.o.Env == nil {
		if row, ok := j.Match(unsafePath, w.Cwd); ok {
			return Verdict{Outcome: Hit, Row: row, Via: Spelling}, true
		}
	}
	return Verdict{Outcome: Clear}, j.o.Env == nil
}

// byPlace asks the environment.
func (j *Judge) byPlace(ctx context.Context, unsafePath string, w Where) Verdict {
	at := j.absolute(unsafePath, w)
	place, err := j.resolve(ctx, at, w.Canonical)
	v := Verdict{Outcome: Clear, Held: place.Held}
	if err != nil {
		v.Absent = &Absence{err.Error(), errors.Is(err, ErrLink)}
	}
	for _, link := range place.Links {
		if row, ok := j.spelled(link); ok && !w.Canonical {
			v.Outcome, v.Row, v.Via = Hit, row, Chain
			return v
		}
	}
	key := place.Path
	if err != nil && w.Canonical {
		key = path.Clean(at) // a key that cannot be looked at is a key still
	}
	if key == "" {
		return v
	}
	if row, ok := j.key(ctx, key); ok {
		v.Outcome, v.Row, v.Via = Hit, row, Target
	}
	return v
}

// key judges a canonical path. Where the data root really is is asked only when a row
// matched, and anew each time: a link may be another by now.
func (j *Judge) key(ctx context.Context, key string) (Row, bool) {
	row, ok := j.x.match(key)
	if !ok || j.o.DataRoot == "" {
		return row, ok
	}
	root, err := j.resolve(ctx, j.o.DataRoot, false)
	root.Held.Close()
	if err != nil {
		return row, true
	}
	if rest, inside := under(key, root.Path); inside {
		return j.x.match(rest)
	}
	return row, true
}

// resolve asks the environment, whose panic is an absence.
func (j *Judge) resolve(ctx context.Context, at string, entry bool) (place Place, err error) {
	defer func() {
		if p := recover(); p != nil {
			place, err = Place{}, fmt.Errorf("the environment panicked: %v", p)
		}
	}()
	place, err = j.o.Env.Resolve(ctx, at, entry)
	if err != nil {
		place.Held.Close() // not ours to rely on
		place.Held = nil
	}
	return place, err
}
