package dirchain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// count adds 1 to the number in a file n times, as a careful program does: it
// reads, and writes with the hash of what it has read.
func count(ctx context.Context, r *Root, path string, n int) error {
	for n > 0 {
		got, err := r.Read(ctx, path, ReadRequest{})
		if errors.Is(err, ErrChanged) {
			continue
		}
		if err != nil {
			return err
		}
		value, err := strconv.Atoi(string(got.Data))
		if err != nil {
			return fmt.Errorf("torn: %w", err)
		}
		res, err := r.Write(ctx, path, WriteRequest{
			Mode: Replace, Base: &got.SHA256, Content: text(strconv.Itoa(value + 1)),
		})
		switch {
		case res.Applied != (err == nil):
			return fmt.Errorf("%+v: %w", res, err)
		case err == nil:
			n--
		case !errors.Is(err, ErrStale) && !errors.Is(err, ErrChanged) && !errors.Is(err, ErrBusy):
			return err
		}
	}
	return nil
}

// fillOver replaces a file n times, whatever is there: by a long text of one letter.
func fillOver(ctx context.Context, r *Root, path, letter string, n int) error {
	for range n {
		_, err := r.Write(ctx, path, WriteRequest{Mode: CreateOrReplace, Content: text(strings.Repeat(letter, 100_000))})
		if err != nil && !errors.Is(err, ErrBusy) {
			return err
		}
	}
	return nil
}

// crowd runs one operation in goroutines of one root, in a root of its own, and in
// two other processes.
func crowd(t *testing.T, dir string, opts Options, ops []op) {
	t.Helper()
	one, two := open(t, dir, opts), open(t, dir, opts)
	var wg sync.WaitGroup
	for i, p := range ops {
		wg.Go(func() {
			var o outcome
			switch i % 4 {
			case 0, 1:
				p.do(one, &o)
			case 2:
				p.do(two, &o)
			default:
				o = inChild(t, attack{Root: dir, Opts: opts, Op: p})
			}
			if o.Err != "" {
				t.Errorf("%s: %s", p.Kind, o.Err)
			}
		})
	}
	wg.Wait()
}

// No increment that was told as applied is lost, and none that was not is there.
func TestConcurrentCounters(t *testing.T) {
	each := 100
	if testing.Short() {
		each = 20
	}
	both(t, func(t *testing.T, opts Options) {
		dir := t.TempDir()
		putText(t, dir+"/n", "0")
		var ops []op
		for range 8 {
			ops = append(ops, op{Kind: "count", Path: "n", N: each})
		}
		crowd(t, dir, opts, ops)
		if got, want := read(t, dir+"/n"), strconv.Itoa(8*each); got != want {
			t.Errorf("the file has %s, told were %s", got, want)
		}
		if got := names(t, dir); got != "n" {
			t.Errorf("left behind: %s", got)
		}
	})
}

func TestConcurrentFillers(t *testing.T) {
	t.Run("bk/FB22", func(t *testing.T) {
		n := 50
		if testing.Short() {
			n = 15
		}
		both(t, func(t *testing.T, opts Options) {
			dir := t.TempDir()
			r := open(t, dir, opts)
			putText(t, dir+"/f", "")
			done := make(chan struct{})
			go func() {
				defer close(done)
				var ops []op
				for _, letter := range strings.Split("abcdefgh", "") {
					ops = append(ops, op{Kind: "fill", Path: "f", Content: letter, N: n})
				}
				crowd(t, dir, opts, ops)
			}()
			for looks := 0; ; looks++ {
				b, err := os.ReadFile(dir + "/f")
				if err != nil || len(b) > 0 && strings.Trim(string(b), string(b[:1])) != "" || len(b)%100_000 != 0 {
					t.Errorf("a torn file of %d bytes, %v", len(b), err)
				}
				select {
				case <-done:
					if got := names(t, dir); got != "f" || looks == 0 {
						t.Errorf("left behind: %s, after %d looks", got, looks)
					}
					if size := len(b); size == 0 {
						t.Error("nobody has written")
					}
					if err := fillOver(t.Context(), r, "f", "z", 1); err != nil || read(t, dir+"/f") != strings.Repeat("z", 100_000) {
						t.Errorf("the last one: %v", err)
					}
					return
				default:
				}
			}
		})
	})
}

// Two roots of one directory, as in two processes: while one is between its last
// look and its verdict, the other waits.
func TestPublicationIsLocked(t *testing.T) {
	dir := t.TempDir()
	putText(t, dir+"/f", "old")
	opts := Options{SkipSync: true}
	held, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	var roots [2]*Root // of one open file: a duplicate of it would share its lock
	for i := range roots {
		if roots[i], err = NewRoot(held, opts); err != nil {
			t.Fatal(err)
		}
		defer roots[i].Close()
	}
	base, tried, second := Sum([]byte("old")), make(chan struct{}), make(chan error, 1)
	write := func(r *Root, content string) error {
		_, err := r.Write(context.Background(), "f", WriteRequest{Mode: Replace, Base: &base, Content: text(content)})
		return err
	}
	locks := 0
	roots[1].hook = func(call string) error {
		if call == "flock" {
			if locks++; locks == 3 {
				close(tried)
			}
		}
		return nil
	}
	roots[0].hook = func(call string) error {
		if call == "publish" { // the second one is staged with the old file still there
			go func() { second <- write(roots[1], "two") }()
			select {
			case <-tried:
			case err := <-second: // it did not wait
				second <- err
			}
		}
		return nil
	}
	if err = write(roots[0], "one"); err != nil {
		t.Errorf("the first: %v", err)
	}
	if err = <-second; !errors.Is(err, ErrStale) {
		t.Errorf("the second: %v, want %v", err, ErrStale)
	}
	if got := read(t, dir+"/f") + " " + names(t, dir); got != "one f" {
		t.Errorf("left: %s", got)
	}
}

// Whoever holds the lock of the directory makes a write fail, not wait for long.
func TestLockIsHeld(t *testing.T) {
	dir := t.TempDir()
	putText(t, dir+"/f", "old")
	r := open(t, dir, Options{SkipSync: true})
	other, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err = unix.Flock(int(other.Fd()), unix.LOCK_SH); err != nil {
		t.Fatal(err)
	}
	req := WriteRequest{Mode: Replace, Content: text("new")}
	if _, err = r.Write(t.Context(), "f", req); !errors.Is(err, ErrBusy) {
		t.Errorf("write: %v, want %v", err, ErrBusy)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r.hook = func(call string) error {
		if call == "flock" {
			cancel()
		}
		return nil
	}
	if _, err = r.Write(ctx, "f", req); !errors.Is(err, context.Canceled) {
		t.Errorf("write: %v, want %v", err, context.Canceled)
	}
	r.hook = nil
	if got := read(t, dir+"/f") + " " + names(t, dir); got != "old f" {
		t.Errorf("left: %s", got)
	}
	if err = unix.Flock(int(other.Fd()), unix.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	if _, err = r.Write(t.Context(), "f", req); err != nil {
		t.Errorf("control: %v", err)
	}
}
