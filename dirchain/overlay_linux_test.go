package dirchain

import (
	"errors"
	"os"
	"strings"
	"testing"

	"brainbox/internal/needs"
)

// lowerOnly makes files that are in the lower layer alone.
const lowerOnly = `
mkdir -p one/lower/a/b
printf old >one/lower/a/b/f
touch -d '1 hour ago' one/lower/a/b/f
`

func overlays() map[string]string {
	out := map[string]string{}
	for _, l := range writableLocations() {
		if before, mount, ok := strings.Cut(l.script, overlay[:len("\nmkdir dir one/lower")]); ok {
			out[l.name] = before + "\nmkdir one/lower" + lowerOnly + "mkdir dir" + mount
		}
	}
	return out
}

// TestOverlayCopyUp: who copies a file or a directory up while it is held, with or
// without changing it, is met with success or refused, and loses nothing.
func TestOverlayCopyUp(t *testing.T) {
	tried := overlays()
	if len(tried) != 3 {
		t.Fatalf("%d overlays, want 3", len(tried))
	}
	for name, script := range tried {
		t.Run(name, func(t *testing.T) {
			if !needs.IsChild(t) {
				needs.Overlay(t)
			}
			if !needs.InMounts(t) {
				return
			}
			for what, change := range copyUps() {
				for _, point := range []string{"before", "fill", "publish"} {
					for walk, old := range map[string]bool{"openat2": false, "openat": true} {
						t.Run(what+" at "+point+" with "+walk, func(t *testing.T) {
							opts := Options{SkipSync: true, NoOpenat2: old}
							testCopyUp(t, mounted(t, script), opts, point, change)
						})
					}
				}
			}
		})
	}
}

// copyUp is what somebody else does to the file.
type copyUp struct {
	act     func(name string) error
	changes bool // its bytes
}

func copyUps() map[string]copyUp {
	open := func(flags int, text string) func(name string) error {
		return func(name string) error {
			f, err := os.OpenFile(name, flags, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteString(text)
			return errors.Join(err, f.Close())
		}
	}
	return map[string]copyUp{
		"opened for writing":                    {open(os.O_RDWR, ""), false},
		"given other bits":                      {func(name string) error { return os.Chmod(name, 0o600) }, false},
		"lengthened":                            {open(os.O_WRONLY|os.O_APPEND, " and theirs"), true},
		"overwritten":                           {open(os.O_WRONLY, "the"), true},
		"in a directory that gets another file": {func(name string) error { return os.WriteFile(name+".other", nil, 0o600) }, false},
	}
}

func testCopyUp(t *testing.T, dir string, opts Options, point string, change copyUp) {
	const path = "a/b/f"
	r, base := open(t, dir, opts), Sum([]byte("old"))
	held, err := r.Hold(path)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	act := func() error { return change.act(dir + "/" + path) }
	if point == "before" {
		err = act()
	} else {
		r.hook = at(point, act)
	}
	if err != nil {
		t.Fatal(err)
	}
	req := WriteRequest{Mode: Append, Content: text(" and mine"), Base: &base, Held: held}
	got, err := r.Write(t.Context(), path, req)
	there := read(t, dir+"/"+path)
	switch {
	case err == nil && change.changes:
		t.Errorf("written over a change: %q", there)
	case err == nil && (there != "old and mine" || !got.Applied):
		t.Errorf("written: %q, applied %v", there, got.Applied)
	case err != nil && !errors.Is(err, ErrChanged) && !errors.Is(err, ErrStale):
		t.Errorf("%v, want %v or %v", err, ErrChanged, ErrStale)
	case err != nil && (got.Applied || there == "old" == change.changes || strings.Contains(there, "mine")):
		t.Errorf("refused (%v), but applied is %v and %q is there", err, got.Applied, there)
	}
	testHeldOnOverlay(t, r, held)
	if left := strings.Fields(strings.ReplaceAll(names(t, dir+"/a/b"), "f.other", "")); len(left) != 1 {
		t.Errorf("names %q", left)
	}
}

// testHeldOnOverlay: every directory has the identity that it had when it was
// opened, though by now it is in the upper layer too, and is found again under it.
func testHeldOnOverlay(t *testing.T, r *Root, held *Target) {
	t.Helper()
	again, err := r.Hold(held.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	for i, l := range held.ch.links {
		now, err := r.statAt(l.fd, "")
		if err != nil || now.ID != l.id || again.Chain()[i] != l.id {
			t.Errorf("%q was %v, is %v, found as %v: %v", l.name, l.id, now.ID, again.Chain()[i], err)
		}
	}
}

// TestOverlayRefusals holds bk/FB8 and bk/FB9 for what is in the lower layer alone.
func TestOverlayRefusals(t *testing.T) {
	for name, script := range overlays() {
		t.Run(name, func(t *testing.T) {
			if !needs.IsChild(t) {
				needs.Overlay(t)
			}
			if !needs.InMounts(t) {
				return
			}
			script := strings.Replace(script, lowerOnly, lowerOnly+`
ln one/lower/a/b/f one/lower/a/hard
ln -s b/f one/lower/a/link
ln -s b one/lower/a/linked
`, 1)
			both(t, func(t *testing.T, opts Options) {
				dir := mounted(t, script)
				r := open(t, dir, opts)
				for path, want := range map[string]error{
					"a/hard": ErrLinked, "a/b/f": ErrLinked, "a/link": ErrLink, "a/b": ErrNotRegular, "a/linked/f": nil,
				} {
					for what, err := range all(t.Context(), r, path) {
						if want == nil && !errors.Is(err, ErrLink) && !errors.Is(err, ErrNotDirectory) || want != nil && !errors.Is(err, want) {
							t.Errorf("%s %q: %v, want %v", what, path, err, want)
						}
					}
				}
				if got := read(t, dir+"/a/b/f"); got != "old" {
					t.Errorf("the file is %q", got)
				}
				// ReplaceLinked replaces one name; the other keeps the old content.
				req := WriteRequest{Mode: Replace, Content: text("new"), ReplaceLinked: true}
				if _, err := r.Write(t.Context(), "a/hard", req); err != nil {
					t.Errorf("replace one name: %v", err)
				}
				if a, b := read(t, dir+"/a/hard"), read(t, dir+"/a/b/f"); a != "new" || b != "old" {
					t.Errorf("the names have %q and %q", a, b)
				}
			})
		})
	}
}
