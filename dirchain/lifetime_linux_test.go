package dirchain

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// limitFiles lets this process open descriptors below n only; with 0 nothing
// changes.
func limitFiles(n uint64) error {
	if n == 0 {
		return nil
	}
	// The runtime opens what it needs for timers, and ends the process when it cannot.
	time.AfterFunc(time.Hour, func() {})
	return unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: n, Max: n})
}

// TestNoDescriptors lets each of the descriptors of an effect be the one too many.
func TestNoDescriptors(t *testing.T) {
	for name, p := range scenarios {
		if testing.Short() && name != "replace" && name != "create with parents" {
			continue
		}
		for _, filter := range []string{"", "statx:38"} {
			t.Run(name+" "+filter, func(t *testing.T) {
				both(t, func(t *testing.T, opts Options) { noDescriptors(t, attack{Opts: opts, Op: p, Filter: filter}) })
			})
		}
	}
}

func noDescriptors(t *testing.T, a attack) {
	t.Helper()
	g := newGround(t)
	refused, done := 0, false
	for n := uint64(5); n < 40 && !done; n++ {
		g := g.another(t, int(n))
		a.Root, a.Files = g.root, n
		before := listing(t, g.root)
		got := inChild(t, a)
		if got.Err != "" {
			refused++
			if after := listing(t, g.root); !got.Typed || !got.is("EMFILE") || len(got.Leaked) > 0 || before != after {
				t.Errorf("with %d: %+v\n%s\nbecame\n%s", n, got, before, after)
			}
		}
		done = got.Err == ""
	}
	if !done || refused < 2 {
		t.Errorf("refused %d times, done %v", refused, done)
	}
}

// A root that is closed in the middle of everything lets what runs end, and refuses
// the rest: no operation meets a descriptor that is somebody else's by then.
func TestCloseWhileWriting(t *testing.T) {
	both(t, func(t *testing.T, opts Options) {
		g := newGround(t)
		before := openFiles()
		for range 20 {
			r, err := OpenRoot(g.root, opts)
			if err != nil {
				t.Fatal(err)
			}
			held, err := r.Hold(target)
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			started := make(chan struct{}, 4)
			for i := range 4 {
				wg.Go(func() { untilClosed(t, r, i, started) })
			}
			for range 4 {
				<-started
			}
			if err = r.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
			if err = r.Close(); !errors.Is(err, fs.ErrClosed) {
				t.Errorf("a second close: %v", err)
			}
			if parent, st := held.Parent(), held.path; parent == (Identity{}) || st != target {
				t.Errorf("the held target is %v", parent)
			}
			wg.Wait()
			held.Close()
			held.Close()
		}
		if after := openFiles(); !slices.Equal(before, after) {
			t.Errorf("open: %q, before %q", after, before)
		}
	})
}

// untilClosed writes and reads until the root is closed, and starts with one that
// succeeds.
func untilClosed(t *testing.T, r *Root, i int, started chan<- struct{}) {
	path := fmt.Sprintf("g/p/%d", i)
	for n := 0; ; n++ {
		content := fmt.Sprint(n)
		_, err := r.Write(context.Background(), path, WriteRequest{Mode: CreateOrReplace, Content: text(content)})
		if n == 0 {
			started <- struct{}{}
		}
		if err == nil {
			var got ReadResult
			if got, err = r.Read(context.Background(), path, ReadRequest{}); err == nil && string(got.Data) != content {
				t.Errorf("read %q, want %q", got.Data, content)
			}
		}
		if errors.Is(err, fs.ErrClosed) {
			return
		}
		if err != nil {
			t.Errorf("%v", err)
			return
		}
	}
}

// What is no request of any kind does nothing.
func TestInvalidRequests(t *testing.T) {
	g := newGround(t)
	before := listing(t, g.root)
	for _, p := range []op{
		{Path: target, Mode: -1, Content: "x"},
		{Path: target, Mode: CreateOrReplace + 1, Content: "x"},
		{Path: "g/n", Mode: 99, Content: "x"},
		{Path: target, Mode: 1 << 20, Content: "x", Base: "old"},
	} {
		if got := perform(attack{Root: g.root, Op: p}); !got.is("ErrInvalid") || len(got.Calls) > 0 {
			t.Errorf("%+v: %+v", p, got)
		}
	}
	if after := listing(t, g.root); before != after {
		t.Errorf("%s\nbecame\n%s", before, after)
	}
}
