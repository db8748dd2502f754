package dirchain

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// TestEveryCallMayFail is bk/FB10, bk/FB11, bk/FB12: whichever call fails, the tree
// is as before or as wanted, and that is what is told.
func TestEveryCallMayFail(t *testing.T) {
	each(t, operations(), true, func(t *testing.T, op operation, dir string, r *Root, at *atCall) {
		at.do = func() error { return unix.EIO }
		before := snap(t, dir)
		done, err := op.do(t.Context(), r, nil)
		want := before
		if done {
			want = op.want(before)
		}
		if diff := cmp.Diff(want, snap(t, dir)); diff != "" {
			t.Errorf("at call %d: done %v, %v:\n%s", at.n, done, err, diff)
		}
		if at.seen < at.n && (err != nil || !done) {
			t.Errorf("nothing failed: done %v, %v", done, err)
		}
		if err != nil && !errors.Is(err, unix.EIO) {
			t.Errorf("at call %d: %v", at.n, err)
		}
		var e *Error
		if err != nil && !errors.As(err, &e) {
			t.Errorf("at call %d: %T", at.n, err)
		}
	})
}

// decoy is what gets the name of a directory that is moved out of the way.
type decoy struct {
	held      bool // judged before: otherwise a directory may be exchanged before the walk
	put, back func(dir, outside string) error
}

func decoys() map[string]decoy {
	return map[string]decoy{
		"for a link to outside": {
			false, func(dir, outside string) error { return os.Symlink(outside+"/p", dir) },
			func(dir, _ string) error { return os.Remove(dir) },
		},
		"for nothing": {
			true, func(string, string) error { return nil }, func(string, string) error { return nil },
		},
		"for a directory with its names": {
			true, func(dir, outside string) error { return os.Rename(outside+"/same", dir) },
			func(dir, outside string) error { return os.Rename(dir, outside+"/same") },
		},
	}
}

// TestParentIsExchangedAtEveryCall is bk/FB1, bk/FB2, bk/FB3, bk/FB4, bk/FB13,
// esc/DC-02, esc/DC-10, esc/DC-11: the directory gets out of the way and something
// else gets its name.
func TestParentIsExchangedAtEveryCall(t *testing.T) {
	for name, c := range decoys() {
		t.Run(name, func(t *testing.T) {
			outside := t.TempDir()
			plant(t, outside, field)
			plant(t, outside, "same/d/x same/f same/g same/l same/p same/t/f")
			plain := snap(t, outside)
			ops := slices.DeleteFunc(operations(), func(op operation) bool {
				return c.held && strings.Contains(op.name, "parents") // cannot be judged before
			})
			each(t, ops, false, func(t *testing.T, op operation, dir string, r *Root, at *atCall) {
				var held []*Target
				if c.held {
					held = holdAll(t, r, op.hold)
				}
				before := snap(t, dir)
				at.do = func() error {
					if err := errors.Join(os.Rename(dir+"/p", dir+"/held"), c.put(dir+"/p", outside)); err != nil {
						t.Fatal(err)
					}
					return nil
				}
				done, err := op.do(t.Context(), r, held)
				letGo(held)
				if at.seen >= at.n {
					if berr := errors.Join(c.back(dir+"/p", outside), os.Rename(dir+"/held", dir+"/p")); berr != nil {
						t.Fatal(berr)
					}
				}
				want := before
				if done {
					want = op.want(before)
				}
				if diff := cmp.Diff(want, snap(t, dir)); diff != "" {
					t.Errorf("at call %d: done %v, %v:\n%s", at.n, done, err, diff)
				}
				if done != (err == nil) {
					t.Errorf("at call %d: done %v, %v", at.n, done, err)
				}
				if diff := cmp.Diff(plain, snap(t, outside)); diff != "" {
					t.Errorf("at call %d: outside:\n%s", at.n, diff)
				}
			})
		})
	}
}

// holdAll judges paths before the hook of a test is there.
func holdAll(t *testing.T, r *Root, paths []string) []*Target {
	t.Helper()
	hook := r.hook
	r.hook = nil
	defer func() { r.hook = hook }()
	var all []*Target
	for _, path := range paths {
		h, err := r.Hold(path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, h)
	}
	return all
}

func letGo(held []*Target) {
	for _, h := range held {
		h.Close()
	}
}

// TestEntryIsExchangedAtEveryCall: the entry gets out of the way and another file
// gets its name. That one keeps it, and the judged one is where it got to, or where
// the operation was to bring it.
func TestEntryIsExchangedAtEveryCall(t *testing.T) {
	each(t, operations(), false, func(t *testing.T, op operation, dir string, r *Root, at *atCall) {
		before := snap(t, dir)
		_, exists := before[op.leaf]
		var held []*Target
		if exists {
			held = holdAll(t, r, op.hold)
		}
		away := false
		at.do = func() error {
			away = os.Rename(dir+"/"+op.leaf, dir+"/away") == nil
			if err := os.WriteFile(dir+"/"+op.leaf, []byte("another"), 0o644); err != nil {
				t.Fatal(err)
			}
			return nil
		}
		done, err := op.do(t.Context(), r, held)
		letGo(held)
		got, want := snap(t, dir), before
		if done {
			want = op.want(before)
		}
		if at.seen >= at.n {
			if got[op.leaf] != "another" {
				t.Errorf("at call %d: %q at the name, %v", at.n, got[op.leaf], err)
			}
			got, want = got.without(op.leaf), want.without(op.leaf)
			if away && exists {
				got, want = got.moved("away", op.leaf), before
			} else {
				got = got.without("away")
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("at call %d: done %v, %v, away %v:\n%s", at.n, done, err, away, diff)
		}
	})
}

// TestRenameBringsNothingElseAcross: who may write to one of the directories alone
// exchanges the entry there under whatever name it has, and never gets anything of
// his to a name in the other directory that means something.
func TestRenameBringsNothingElseAcross(t *testing.T) {
	for _, side := range []string{"p", "q"} {
		t.Run(side, func(t *testing.T) {
			ops := slices.DeleteFunc(operations(), func(op operation) bool {
				return len(op.hold) < 2 || !strings.HasPrefix(op.hold[1], "q/")
			})
			each(t, ops, false, func(t *testing.T, op operation, dir string, r *Root, at *atCall) {
				at.do = func() error {
					all, err := os.ReadDir(dir + "/" + side)
					if err != nil {
						t.Fatal(err)
					}
					for i, e := range all {
						name := dir + "/" + side + "/" + e.Name()
						if err = os.Rename(name, fmt.Sprint(dir, "/away", i)); err == nil {
							err = os.WriteFile(name, []byte("another"), 0o644)
						}
						if err != nil {
							t.Fatal(err)
						}
					}
					return nil
				}
				held := holdAll(t, r, op.hold)
				_, err := op.do(t.Context(), r, held)
				letGo(held)
				for path, what := range snap(t, dir) {
					if what == "another" && !strings.HasPrefix(path, side+"/") && !strings.Contains(path, ".brainbox-") {
						t.Errorf("at call %d: %q, %v", at.n, path, err)
					}
				}
			})
		})
	}
}
