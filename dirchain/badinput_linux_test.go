package dirchain

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// patience is far more than anything here takes, and far less than what waits.
const patience = 10 * time.Second

// everything tries each operation at a path, or those that are named, each within
// the test's patience.
func everything(t *testing.T, root string, opts Options, path string, only ...string) map[string]outcome {
	t.Helper()
	ops := map[string]op{
		"create": {Path: path, Content: "x"}, "replace": {Path: path, Mode: Replace, Content: "x"},
		"append":            {Path: path, Mode: Append, Content: "x"},
		"create or replace": {Path: path, Mode: CreateOrReplace, Content: "x"},
		"replace a base":    {Path: path, Mode: Replace, Content: "x", Base: "old"},
		"read":              {Path: path, Kind: "read"}, "edit": {Path: path, Kind: "edit", Old: "old", Content: "x"},
	}
	all := map[string]outcome{}
	for name, p := range ops {
		if len(only) > 0 && !slices.Contains(only, name) {
			continue
		}
		done := make(chan outcome, 1)
		go func() { done <- perform(attack{Root: root, Opts: opts, Op: p}) }()
		select {
		case all[name] = <-done:
		case <-time.After(patience):
			t.Fatalf("%s %q waits", name, path)
		}
	}
	return all
}

// What is no regular file, or has another name, is refused by every operation and
// never opened; nothing changes.
func TestIrregular(t *testing.T) {
	both(t, func(t *testing.T, opts Options) {
		for name, c := range map[string]struct {
			make func(t *testing.T, path string)
			want string
		}{
			"esc/DC-06 FIFO": {func(t *testing.T, path string) { mknod(t, path, unix.S_IFIFO) }, "ErrNotRegular"},
			"esc/DC-06 socket": {func(t *testing.T, path string) {
				l, err := net.Listen("unix", path)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = l.Close() })
			}, "ErrNotRegular"},
			"esc/DC-06 device": {func(t *testing.T, path string) {
				needs.Root(t)
				mknod(t, path, unix.S_IFCHR)
			}, "ErrNotRegular"},
			"esc/DC-06 directory": {mkdir, "ErrNotRegular"},
			"a link in a circle":  {func(t *testing.T, path string) { symlink(t, "x", path) }, "ErrLink"},
			"two names": {func(t *testing.T, path string) {
				putText(t, path+".other", "old")
				hardlink(t, path+".other", path)
			}, "ErrLinked"},
		} {
			t.Run(name, func(t *testing.T) {
				dir, err := os.MkdirTemp("", "dc") //nolint:usetesting // the path of a socket is short
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = os.RemoveAll(dir) })
				c.make(t, dir+"/x")
				o := watch(t, dir)
				before := o.before
				for op, got := range everything(t, dir, opts, "x") {
					want := c.want
					if op == "create" {
						want = "ErrExist"
					}
					if !got.is(want) || !got.Typed || got.Data != nil || slices.Contains(got.Calls, "fill") || len(got.Leaked) > 0 {
						t.Errorf("%s: %+v, want %s", op, got, want)
					}
				}
				for _, e := range o.events(t) {
					if strings.Contains(e, "/x/: ") { // of the entry itself
						t.Errorf("%s", e)
					}
				}
				for path, is := range manifest(t, []string{dir}) {
					if before[path] != is {
						t.Errorf("%s was %s, is %s", path, before[path], is)
					}
				}
			})
		}
	})
}

func mknod(t *testing.T, path string, kind uint32) {
	t.Helper()
	if err := unix.Mknod(path, kind|0o666, int(unix.Mkdev(1, 3))); err != nil { // null(4)
		t.Fatal(err)
	}
}

// lease holds a write lease of a file until it is killed (fcntl(2)).
func lease(path string) int {
	signal.Ignore(unix.SIGIO) // that somebody asks for the file
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return 92
	}
	if _, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 91
	}
	_, _ = os.Stdout.WriteString("ready\n")
	for {
		time.Sleep(time.Hour) // a program of which nothing is left to run would end itself
	}
}

func TestLeasedFile(t *testing.T) {
	both(t, func(t *testing.T, opts Options) {
		g := newGround(t)
		t.Run("held", func(t *testing.T) { // its end is that of the other process
			background(t, "lease "+g.in(target))
			for op, got := range everything(t, g.root, opts, target) {
				if want := "ErrBusy"; op != "create" && (!got.is(want) || len(got.Leaked) > 0) {
					t.Errorf("%s: %+v, want %s", op, got, want)
				}
			}
			if got := listing(t, g.in("g/e")) + names(t, g.in("g/p")); got != "f" {
				t.Errorf("left: %s", got)
			}
		})
		if got := read(t, g.in(target)); got != "old" {
			t.Errorf("bytes: %q", got)
		}
		got := perform(attack{Root: g.root, Opts: opts, Op: op{Path: target, Mode: Replace, Content: "new"}})
		if got.Err != "" {
			t.Errorf("control: %+v", got)
		}
	})
}

// Sizes that nobody waits for, and contents without an end.
func TestTooLarge(t *testing.T) {
	t.Run("esc/DC-22", func(t *testing.T) {
		both(t, func(t *testing.T, opts Options) {
			g := newGround(t)
			if err := os.Truncate(g.in(target), 1<<40); err != nil {
				t.Fatal(err)
			}
			refused := everything(t, g.root, opts, target, "read", "append", "edit", "replace a base")
			for op, got := range refused {
				if !got.is("ErrTooLarge") || slices.Contains(got.Calls, "pread") {
					t.Errorf("%s: %+v", op, got)
				}
			}
			if got := everything(t, g.root, opts, target, "replace")["replace"]; got.Err != "" { // it need not be read
				t.Errorf("control: %+v", got)
			}
			opts.MaxFile = 1 << 20
			for _, mode := range []Mode{Create, Replace, Append, CreateOrReplace} {
				path := map[bool]string{true: "g/p/n", false: target}[mode == Create]
				got := perform(attack{Root: g.root, Opts: opts, Op: op{Path: path, Mode: mode, Endless: true}})
				wrote := 0
				for _, call := range got.Calls {
					if call == "write" {
						wrote++
					}
				}
				if !got.is("ErrTooLarge") || wrote > 1<<20/chunk+1 || len(got.Leaked) > 0 {
					t.Errorf("%v without an end: %d writes, %+v", mode, wrote, got.Err)
				}
			}
			if got := names(t, g.in("g/p")) + read(t, g.in(target)); got != "fx" {
				t.Errorf("left: %s", got)
			}
		})
	})
}

// The limit itself is reached, and not passed.
func TestLimitOfARoot(t *testing.T) {
	for _, limit := range []int64{1, 10, chunk - 1, chunk, chunk + 1, 1<<63 - 1} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			r := open(t, t.TempDir(), Options{MaxFile: limit, SkipSync: true})
			n := int(min(limit, 3*chunk))
			data := bytes.Repeat([]byte("x"), n+1)
			write := func(size int, mode Mode) error {
				content := io.MultiReader(bytes.NewReader(data[:size])) // its length is not known
				_, err := r.Write(t.Context(), "f", WriteRequest{Mode: mode, Content: content})
				return err
			}
			over := write(n+1, CreateOrReplace)
			if limited := limit < 3*chunk; errors.Is(over, ErrTooLarge) != limited {
				t.Errorf("one more than %d: %v", n, over)
			}
			if err := write(n, CreateOrReplace); err != nil {
				t.Errorf("%d bytes: %v", n, err)
			}
			got, err := r.Read(t.Context(), "f", ReadRequest{Limit: limit})
			if err != nil || len(got.Data) != n || got.Truncated {
				t.Errorf("read: %d bytes, %v", len(got.Data), err)
			}
			if err := write(1, Append); errors.Is(err, ErrTooLarge) != (limit < 3*chunk) {
				t.Errorf("append: %v", err)
			}
		})
	}
}

// Names that the kernel, a log or a terminal could take for something else.
func TestBadNames(t *testing.T) {
	t.Run("esc/DC-18", func(t *testing.T) {
		both(t, func(t *testing.T, opts Options) {
			g := newGround(t)
			before := listing(t, g.root)
			long := strings.Repeat("a", MaxPart)
			for _, path := range []string{
				"a\x00b", "a\nb", "a\rb", "a\tb", "a\x1b[2Jb", "a\x7f", "a\u0085b", "a\u009bb", "\xff", "a\xc3", "a\xed\xa0\x80",
				`a\b`, `..\f`, long + "a", "g/" + long + "a",
				strings.Repeat("a/", 2048) + "b", strings.Repeat("a/", MaxDepth) + "b",
				"a/", "/a", "a//b", ".", "./a", "a/.", "a/./b", "..", "../a", "a/..", "a/../b", "", "/", "//",
			} {
				for op, got := range everything(t, g.root, opts, path) {
					if !got.is("ErrPath") || !got.is("ErrInvalid") || len(got.Calls) > 0 {
						t.Errorf("%s %q: %+v", op, path, got)
					}
				}
			}
			if after := listing(t, g.root); before != after {
				t.Errorf("%s\nbecame\n%s", before, after)
			}
			deep := strings.Repeat("a/", MaxDepth-1) + "b"
			for _, path := range []string{long, "…", ".a", "..a", "a..", "a b", "-rf", "~", "$(x)", deep} {
				got := perform(attack{Root: g.root, Opts: opts, Op: op{Path: path, Content: "x", Parents: true}})
				if got.Err != "" || read(t, g.in(path)) != "x" {
					t.Errorf("control: %q: %+v", path, got)
				}
				remove(t, g.in(path))
			}
		})
	})
}
