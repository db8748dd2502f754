package mask

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"brainbox/dirchain"
)

const (
	raft = "assets/raft.png"
	// The names that the two backends derive from it.
	raftClaude = "assets/raft-mask.png"
	raftPi     = "assets/raft.mask.png"
)

// host is an operation over a small repository, whose callbacks a test may bend.
type host struct {
	*Operation
	dir      string
	asked    int            // how often authority was asked
	at       map[int]func() // done when authority is asked for that time
	revoked  error          // what authority answers
	no       bool           // the turn has no masks
	locked   func(ctx context.Context) error
	unlocked int
	area     *area
	trace    func(call string) error
	results  []Result

	lock sync.Mutex
}

// area is a scratch area as far as a test says.
type area struct {
	prepare          func() error
	prune            func() ([]Removal, error)
	prepared, pruned int
}

func (a *area) Prepare(context.Context) error {
	if a.prepared++; a.prepare != nil {
		return a.prepare()
	}
	return nil
}

func (a *area) Prune(context.Context) ([]Removal, error) {
	if a.pruned++; a.prune != nil {
		return a.prune()
	}
	return nil, nil
}

// repository makes a root with an image, a policy, and a scratch area.
func repository(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"assets", "context/policies", "context/notes", ScratchDir + "/a"} {
		if err = os.MkdirAll(dir+"/"+d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		raft: "image", "context/policies/crew.md": "policy", "context/policies/crew.png": "crew",
		"context/notes/a.png": "note", ScratchDir + "/a/s.png": "scratch",
	} {
		write(t, dir+"/"+name, string(picture(text)))
	}
	return dir
}

func write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// try fails the test when one of the errors is not nil.
func try(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// newHost makes one. Options.Trace is taken; a test uses host.trace.
func newHost(t testing.TB, opts dirchain.Options) *host {
	t.Helper()
	h := &host{dir: repository(t), at: map[int]func(){}, area: &area{}}
	opts.Protect = []string{PolicyDir}
	opts.Trace = func(call string) error {
		if h.trace != nil {
			return h.trace(call)
		}
		return nil
	}
	root, err := dirchain.OpenRoot(h.dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	h.Operation = &Operation{
		Root: root, Bound: caller(), Scratch: h.area,
		Authority: func(context.Context) error {
			h.asked++
			if do := h.at[h.asked]; do != nil {
				do()
			}
			return h.revoked
		},
		Membership: func(context.Context) bool { return !h.no },
		Lock: func(ctx context.Context) (func(), error) {
			if h.locked != nil {
				if err := h.locked(ctx); err != nil {
					return nil, err
				}
			}
			h.lock.Lock()
			return func() { h.unlocked++; h.lock.Unlock() }, nil
		},
		Record: func(r Result) { h.results = append(h.results, r) },
	}
	return h
}

func caller() Caller { return Caller{Principal: "p", Turn: "t1"} }

// base captures one that must succeed.
func (h *host) base(t testing.TB, image string) Base {
	t.Helper()
	b, err := h.CaptureBase(t.Context(), image)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// tree tells all of a directory: names, types, modes, numbers of names, and bytes.
func tree(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		what := ""
		switch {
		case st.Mode().IsRegular():
			what = fmt.Sprintf("%q", dirchain.Sum([]byte(read(t, name))).String()[:8])
		case st.Mode()&fs.ModeSymlink != 0:
			what, err = os.Readlink(name)
		}
		fmt.Fprintf(&b, "%s %v %s\n", strings.TrimPrefix(name, dir), st.Mode(), what)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// each runs a test with either walk of dirchain.
func each(t *testing.T, test func(t *testing.T, opts dirchain.Options)) {
	t.Helper()
	for name, old := range map[string]bool{"openat2": false, "openat": true} {
		t.Run(name, func(t *testing.T) { test(t, dirchain.Options{NoOpenat2: old, SkipSync: true}) })
	}
}
