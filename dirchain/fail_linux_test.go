package dirchain

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// failures are the answers that every call gets once, and from some call on always.
var failures = []unix.Errno{unix.EIO, unix.ENOSPC, unix.EDQUOT, unix.EPERM}

// TestEveryFailure lets every call of every effect fail: a typed error and the
// old text, or the effect; nothing else is left.
func TestEveryFailure(t *testing.T) {
	inMemory(t)
	for name, p := range scenarios {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, opts Options) {
				opts.SkipSync = false
				everyFailure(t, attack{Opts: opts, Op: p})
			})
		})
	}
}

func everyFailure(t *testing.T, a attack) {
	t.Helper()
	g := newGround(t)
	calls := dryRun(t, g.another(t, 0), a)
	turn := 0
	for at := 1; at <= len(calls); at++ {
		for _, errno := range failures {
			for _, on := range []bool{false, true} {
				turn++
				if testing.Short() && turn%3 != 0 || on && calls[at-1] == "statx" && errno != unix.EIO {
					continue // without statx a write waits for a better moment
				}
				in := injection{N: at, Do: "errno", Errno: int(errno)}
				if on { // this call and each later one of the name
					in = injection{Call: calls[at-1], N: occurrence(calls, at), On: true, Do: "errno", Errno: int(errno)}
				}
				g := g.another(t, turn)
				c := failed{a, g, calls[at-1], errno, on}
				c.Root, c.Inject = g.root, append([]injection{in}, a.Inject...)
				c.judge(t, perform(c.attack))
			}
		}
	}
}

// occurrence is the how manieth of its name the call at place at is.
func occurrence(calls []string, at int) int {
	n := 0
	for _, call := range calls[:at] {
		if call == calls[at-1] {
			n++
		}
	}
	return n
}

// failed is one effect with a failing call.
type failed struct {
	attack
	ground
	call  string
	errno unix.Errno
	on    bool
}

func (c failed) judge(t *testing.T, o outcome) {
	t.Helper()
	all := inside(t, c.root)
	fail := func(what string) {
		t.Helper()
		t.Errorf("%s fails with %v (again: %v): %s\n%+v\n%v", c.call, c.errno, c.on, what, o, all)
	}
	left := temps(all)
	news := slices.DeleteFunc(places(all, c.Op.after()), func(name string) bool { return slices.Contains(left, name) })
	_, made := all["g/p/x"]
	there := slices.Equal(news, []string{c.Op.Path})
	switch {
	case len(o.Leaked) > 0:
		fail("descriptors are left")
	case (o.Err == "" || o.Applied) && (!there || !o.Applied):
		fail("not the effect that is told")
	case o.Err != "" && !o.Typed:
		fail("the error has no type")
	case o.Err != "" && !o.is(unix.ErrnoName(c.errno)) && c.errno != unix.EPERM && !c.on:
		fail("the error is another one")
	case c.on && c.call == "statx" && strings.Contains(o.Err, "could not be undone"):
		// nothing can be looked at any more, and the error says so
	case c.on && c.call == "statx" && strings.Contains(o.Err, "is kept as"):
		if len(left) != 1 || all[left[0]] != "old" {
			fail("it is not")
		}
	case o.Err != "" && !o.Applied && len(news) > 0:
		fail("an error, and the new text is there")
	case o.Err != "" && !o.Applied && c.Op.existing() && all[target] != "old":
		fail("the old text is lost")
	case len(left) > 0 && c.call != "unlinkat" && (!c.on || c.call != "statx"):
		fail("a temporary file is left")
	case len(left) > 1 && (!c.on || c.call != "unlinkat"):
		fail("two temporary files are left")
	case o.Err != "" && !o.Applied && c.call != "unlinkat" && !c.on && made:
		fail("a directory is left")
	}
}
