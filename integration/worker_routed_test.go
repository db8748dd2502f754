package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"brainbox/dirchain"
)

// routed is a repository with a worker in it, and the host's way to write there.
type routed struct {
	*workerWorld
	root   *dirchain.Root
	worker *side
}

func newRouted(t *testing.T) *routed {
	t.Helper()
	r := &routed{workerWorld: newWorkerWorld(t)}
	r.worker = r.start(t, hostConfig{Worker: r.workerWorld.worker()})
	if got := r.worker.ask(t, r.fill("write {R}/work/file 0 x")); !hit(got, errnos("EROFS")) {
		t.Fatalf("the worker itself: %q", got)
	}
	root, err := dirchain.OpenRoot(r.repo, dirchain.Options{Protect: []string{"policy"}, SkipSync: true})
	must(t, err)
	t.Cleanup(func() { _ = root.Close() })
	r.root = root
	return r
}

// policies is what is in the protected directory, wherever it is now.
func (r *routed) policies(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		must(t, err)
		all[e.Name()] = string(text)
	}
	return all
}

// TestRoutedEdits: bk/M33, bk/M34, bk/M35. A host writes for a worker, and the tree is
// exchanged between the last look and the publication. The control is a host that writes by
// path: there each of the exchanges reaches the policy.
func TestRoutedEdits(t *testing.T) {
	const text = "from the worker\n"
	rename := func(t *testing.T, r *routed, from, to string) {
		must(t, os.Rename(filepath.Join(r.repo, from), filepath.Join(r.repo, to)))
	}
	for _, c := range []struct {
		name, path string
		mode       dirchain.Mode
		exchange   func(*testing.T, *routed)
		policy     string // where the protected directory is afterwards
		want       []error
	}{
		{"bk/M33 the parent is a link to the policy", "work/new", dirchain.Create, func(t *testing.T, r *routed) {
			rename(t, r, "work", "aside")
			must(t, os.Symlink("policy", filepath.Join(r.repo, "work")))
		}, "policy", []error{dirchain.ErrChanged}},
		{"bk/M34 the target is a hard link", "work/file", dirchain.Replace, func(t *testing.T, r *routed) {
			must(t, os.Remove(filepath.Join(r.repo, "work/file")))
			must(t, os.Link(r.vars["P"], filepath.Join(r.repo, "work/file")))
		}, "policy", []error{dirchain.ErrChanged, dirchain.ErrLinked, dirchain.ErrStale, dirchain.ErrProtected}},
		{"bk/M34 the target is a link", "work/file", dirchain.Replace, func(t *testing.T, r *routed) {
			must(t, os.Remove(filepath.Join(r.repo, "work/file")))
			must(t, os.Symlink("../policy/protected", filepath.Join(r.repo, "work/file")))
		}, "policy", []error{dirchain.ErrChanged, dirchain.ErrLink, dirchain.ErrNotRegular}},
		{"bk/M35 an ancestor is the protected directory", "work/new", dirchain.Create, func(t *testing.T, r *routed) {
			rename(t, r, "work", "aside")
			rename(t, r, "policy", "work")
		}, "work", []error{dirchain.ErrChanged, dirchain.ErrProtected}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRouted(t)
			before := r.policies(t, filepath.Join(r.repo, "policy"))
			_, err := r.root.Write(t.Context(), c.path, dirchain.WriteRequest{
				Mode: c.mode, Content: strings.NewReader(text),
				Before: func(context.Context) error { c.exchange(t, r); return nil },
			})
			refused := false
			for _, want := range c.want {
				refused = refused || errors.Is(err, want)
			}
			if !refused {
				t.Errorf("%v, want one of %v", err, c.want)
			}
			if diff := cmp.Diff(before, r.policies(t, filepath.Join(r.repo, c.policy))); diff != "" {
				t.Errorf("the policy (-before +after):\n%s", diff)
			}
			must(t, os.WriteFile(filepath.Join(r.repo, c.path), []byte(text), 0o644)) // by path
			if diff := cmp.Diff(before, r.policies(t, filepath.Join(r.repo, c.policy))); diff == "" {
				t.Error("the control did not reach the policy: the row shows nothing")
			}
		})
	}
}

// TestRoutedBatch: bk/M36.
func TestRoutedBatch(t *testing.T) {
	r := newRouted(t)
	entry := func(path string) dirchain.BatchEntry {
		return dirchain.BatchEntry{Path: path, WriteRequest: dirchain.WriteRequest{Content: strings.NewReader("x")}}
	}
	before := r.manifest(t)
	if _, err := r.root.Batch(t.Context(), []dirchain.BatchEntry{entry("work/good"), entry("policy/bad")}); !errors.Is(err, dirchain.ErrProtected) {
		t.Errorf("%v, want %v", err, dirchain.ErrProtected)
	}
	after := r.manifest(t)
	delete(before, filepath.Join(r.repo, "work")) // a temporary file came and went
	delete(after, filepath.Join(r.repo, "work"))
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the outside (-before +after):\n%s", diff)
	}
	// One by one, which is what the row is against, the good one is applied.
	if _, err := r.root.Write(t.Context(), "work/good", entry("").WriteRequest); err != nil {
		t.Errorf("control: %v", err)
	}
}

// TestRoutedCopies: bk/M50. What comes out of a worker's scratch comes as bytes: no name in
// the repository is another name of a file in there, and none can be made.
func TestRoutedCopies(t *testing.T) {
	r := newRouted(t)
	if got := r.worker.ask(t, r.fill("write {S}/out 0x40 out")); got != "ok" {
		t.Fatalf("scratch: %q", got)
	}
	linked := 0
	for _, pid := range descendants(t, r.worker.cmd.Process.Pid) {
		from := fmt.Sprintf("/proc/%d/root/scratch/out", pid)
		if err := os.Link(from, filepath.Join(r.repo, "linked")); err == nil {
			linked++
		} else if !errors.Is(err, unix.EXDEV) && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.EPERM) {
			t.Errorf("%s: %v", from, err)
		}
	}
	if linked > 0 {
		t.Error("a file in scratch has a name in the repository")
	}
	answer := r.worker.ask(t, r.fill("read {S}/out"))
	res, err := r.root.Write(t.Context(), "work/out", dirchain.WriteRequest{Content: strings.NewReader(strings.Trim(answer[3:], `"`))})
	var st unix.Stat_t
	must(t, unix.Stat(filepath.Join(r.repo, "work/out"), &st))
	if text, rerr := os.ReadFile(filepath.Join(r.repo, "work/out")); err != nil || rerr != nil || !res.Applied || string(text) != "out" || st.Nlink != 1 {
		t.Errorf("%+v, %v: %q, %v, %d links", res, err, text, rerr, st.Nlink)
	}
	// The control: in one file system a link can be made, and the manifest would show it.
	must(t, os.Link(filepath.Join(r.repo, "work/out"), filepath.Join(r.repo, "work/second")))
}
