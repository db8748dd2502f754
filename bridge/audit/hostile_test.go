package audit

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/strictjson"
)

// Whatever the data of a line is like, the line is one that Verify and the next writer read.
func TestLinesCanBeRead(t *testing.T) {
	deep := strictjson.Text("x")
	for range 200 {
		deep = strictjson.Array(deep)
	}
	many := strictjson.Object()
	for i := range 3900 { // alike in what is kept of them
		many.Add(strings.Repeat("k", 256)+fmt.Sprint(i), strictjson.Null())
	}
	few := strictjson.Object()
	for i := range 100 {
		few.Add(strings.Repeat("k", 256)+fmt.Sprint(i), strictjson.Null())
	}
	for name, v := range map[string]strictjson.Value{
		"proto":        strictjson.Object(strictjson.Pair("__proto__", strictjson.Int(1))),
		"deep":         deep,
		"keys alike":   many,
		"kept apart":   few,
		"empty number": {Kind: strictjson.KindNumber},
		"control":      strictjson.Text("x"),
	} {
		t.Run(name, func(t *testing.T) {
			d := newFolder(t)
			l := open(t, Options{Dir: d})
			start := time.Now()
			if err := l.Put(Effect, strictjson.Object(strictjson.Pair("input", v))); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
			closed(t, l)
			closed(t, open(t, Options{Dir: d})) // the next writer goes on, and heals nothing
			if r := holds(t, read(t, d), 5); len(r.Torn) != 0 {
				t.Errorf("%+v", r)
			}
		})
	}
}

// A file that was moved away is named by the first line in the new one, also when the new
// one could not be written at first.
func TestRotationThatFailsAtFirst(t *testing.T) {
	d := newFolder(t)
	l := open(t, Options{Dir: d, LockWait: 10 * time.Millisecond})
	put(t, l, 1)
	_, head := l.Head()
	if err := os.Rename(path(d), path(d)+".1"); err != nil {
		t.Fatal(err)
	}
	other, err := d.OpenFile(Name, unix.O_RDWR|unix.O_CREAT)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(other.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if err := l.Put(Effect, value(2)); !errors.Is(err, ErrBusy) {
		t.Fatalf("%v", err)
	}
	_ = other.Close()
	put(t, l, 3)
	closed(t, l)
	if text := string(read(t, d)); !strings.Contains(text, `"type":"rotated","data":{"seq":2,"sha256":"`+head.String()) || !strings.Contains(text, `"lost"`) {
		t.Errorf("%s", text)
	}
	holds(t, read(t, d), 4)
}
