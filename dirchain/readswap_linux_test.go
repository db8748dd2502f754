package dirchain

import (
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestEverySwapWhileReading does every interference at every call of a read: what
// is returned lay beneath the root, and nothing outside is even opened.
func TestEverySwapWhileReading(t *testing.T) {
	inMemory(t)
	for _, kind := range []string{"read", "hold"} {
		t.Run(kind, func(t *testing.T) {
			both(t, func(t *testing.T, opts Options) {
				everySwapWhileReading(t, attack{Opts: opts, Op: op{Kind: kind, Path: target}})
			})
		})
	}
}

func everySwapWhileReading(t *testing.T, a attack) {
	t.Helper()
	g := newGround(t)
	a.Root = g.another(t, 0).root
	control := perform(a)
	if control.Err != "" || a.Op.Kind == "read" && string(control.Data) != "old" {
		t.Fatalf("control: %+v", control)
	}
	o := watch(t, g.out)
	turn := 0
	for _, kind := range slices.Sorted(maps.Keys(swaps(g, a.Op))) {
		for at := 1; at <= len(control.Calls); at++ {
			turn++
			g := g.another(t, turn)
			in := swaps(g, a.Op)[kind]
			in.N = at
			a.Root, a.Inject = g.root, []injection{in}
			got := perform(a)
			fine := slices.Contains([]string{"", "old", "other", "decoy"}, string(got.Data)) && len(got.Leaked) == 0
			if !fine || got.Err != "" && (!got.Typed || len(got.Data) > 0) {
				t.Errorf("%s at %d: %+v", kind, at, got)
			}
			if seen := o.events(t); len(seen) > 0 {
				t.Errorf("%s at %d: outside: %q", kind, at, seen)
			}
		}
	}
	o.untouched(t)
}

func TestEveryFailureWhileReading(t *testing.T) {
	both(t, func(t *testing.T, opts Options) {
		g := newGround(t)
		a := attack{Root: g.root, Opts: opts, Op: op{Kind: "read", Path: target}}
		n := len(perform(a).Calls)
		for at := 1; at <= n; at++ {
			for _, errno := range failures {
				a.Inject = []injection{{N: at, Do: "errno", Errno: int(errno)}}
				got := perform(a)
				fine := got.Err == "" && string(got.Data) == "old" || got.Err != "" && got.Typed && got.Data == nil
				if !fine || len(got.Leaked) > 0 {
					t.Errorf("%v at %d: %+v", errno, at, got)
				}
				if got.Err == "" && errno != unix.EPERM { // of statx it is the answer of a filter
					t.Errorf("%v at %d is not told", errno, at)
				}
			}
		}
	})
}

// A root that something else has taken the place of is not read any more, and a
// writer that replaces the file in the middle of a read is no error.
func TestReadOfAnotherRoot(t *testing.T) {
	both(t, func(t *testing.T, opts Options) {
		g := newGround(t)
		o := watch(t, g.out)
		r := open(t, g.root, opts)
		if got, err := r.Read(t.Context(), target, ReadRequest{}); err != nil || string(got.Data) != "old" {
			t.Fatalf("control: %q, %v", got.Data, err)
		}
		if err := errors.Join(os.Rename(g.root, g.base+"/moved"), os.Symlink(g.out, g.root)); err != nil {
			t.Fatal(err)
		}
		if got, err := r.Read(t.Context(), target, ReadRequest{}); !errors.Is(err, ErrChanged) || got.Data != nil {
			t.Errorf("read: %q, %v, want %v", got.Data, err, ErrChanged)
		}
		o.untouched(t)
	})
}

func TestReadOfAReplacedFile(t *testing.T) {
	both(t, func(t *testing.T, opts Options) {
		g := newGround(t)
		a := attack{Root: g.root, Opts: opts, Op: op{Kind: "read", Path: target}}
		n := len(perform(a).Calls)
		for at := 1; at <= n; at++ {
			putText(t, g.in(target), "old")
			putText(t, g.in("g/p/next"), "new")
			a.Inject = []injection{{N: at, Do: "move", A: g.in("g/p/next"), B: g.in(target)}}
			if got := perform(a); string(got.Data) != "old" && string(got.Data) != "new" {
				t.Errorf("at %d: %+v", at, got)
			}
		}
	})
}

// The longest path is one byte longer than the kernel takes at once.
func TestTheLongestPath(t *testing.T) {
	both(t, func(t *testing.T, opts Options) {
		r := open(t, t.TempDir(), opts)
		path := strings.Repeat(strings.Repeat("d", 31)+"/", MaxPath/32)
		path = path[:MaxPath-1] + "f"
		if len(path) != MaxPath {
			t.Fatal(len(path))
		}
		if _, err := r.Write(t.Context(), path, WriteRequest{Content: text("far"), Parents: true}); err != nil {
			t.Fatal(err)
		}
		if got, err := r.Read(t.Context(), path, ReadRequest{}); err != nil || string(got.Data) != "far" {
			t.Errorf("read: %q, %v", got.Data, err)
		}
	})
}
