package audit

import (
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/state"
	"brainbox/internal/strictjson"
)

// A file that others could write, read or have put there is not written to.
func TestAFileThatIsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		make func(path string) error
		want error
	}{
		"readable by others": {func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o644)) }, state.ErrUnsafe},
		"writable by others": {func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o602)) }, state.ErrUnsafe},
		"a link":             {func(path string) error { return os.Symlink(path+".other", path) }, unix.ELOOP},
		"a FIFO":             {func(path string) error { return unix.Mkfifo(path, 0o600) }, state.ErrUnsafe},
		"two names": {func(path string) error {
			return errors.Join(os.WriteFile(path+".other", nil, 0o600), os.Link(path+".other", path))
		}, state.ErrUnsafe},
		"no chain": {func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("x\n", 1000)), 0o600) }, ErrBroken},
		"too much": {func(path string) error { return os.WriteFile(path, make([]byte, 2<<20), 0o600) }, ErrBroken},
	} {
		t.Run(name, func(t *testing.T) {
			d := newFolder(t)
			if err := tc.make(path(d)); err != nil {
				t.Fatal(err)
			}
			before, _ := os.Lstat(path(d))
			l, err := Open(Options{Dir: d, Continue: true})
			if !errors.Is(err, tc.want) || l != nil {
				t.Errorf("error %v", err)
			}
			if after, _ := os.Lstat(path(d)); before.Size() != after.Size() {
				t.Error("something was written")
			}
		})
	}
	if _, err := Open(Options{}); err == nil {
		t.Error("a log without a folder")
	}
	d := newFolder(t) // the control
	closed(t, open(t, Options{Dir: d}))
	if st, err := os.Stat(path(d)); err != nil || st.Mode() != 0o600 {
		t.Errorf("%v %v", st, err)
	}
}

// Sessions one after the other continue one chain.
func TestSessionsContinueTheChain(t *testing.T) {
	d := newFolder(t)
	var head Hash
	for i := range 3 {
		l := open(t, Options{Dir: d, Session: "s"})
		for n := range 5 {
			put(t, l, n)
		}
		closed(t, l)
		if _, hash := l.Head(); hash == head {
			t.Error("the head has not changed")
		} else {
			head = hash
		}
		r := holds(t, read(t, d), 7*(i+1))
		if r.Head != head || r.Seq != uint64(7*(i+1)) {
			t.Errorf("%+v", r)
		}
		if err := l.Put(Effect, value(1)); !errors.Is(err, ErrClosed) {
			t.Errorf("error %v", err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Several sessions at once take turns.
func TestSessionsAtOnce(t *testing.T) {
	d := newFolder(t)
	var wg sync.WaitGroup
	for range 4 {
		l := open(t, Options{Dir: d, Session: "s", SyncEvery: time.Millisecond, LockWait: time.Minute})
		wg.Go(func() {
			var each sync.WaitGroup
			for i := range 8 {
				each.Go(func() {
					for n := range 25 {
						if err := l.Put(Effect, value(100*i+n)); err != nil {
							t.Error(err)
						}
					}
				})
			}
			each.Wait()
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	holds(t, read(t, d), 4*(8*25+2))
}

func TestTextThatIsTornIsHealed(t *testing.T) {
	for name, torn := range map[string]string{
		"half a line": `{"seq":9,"prev":"00`, "zeros": strings.Repeat("\x00", 5000), "lines": "x\ny\n\nz", "no line feed at the end": "\n\n",
		"almost nothing": "{", "the most": strings.Repeat("x", mostTorn), "a whole line": "",
	} {
		t.Run(name, func(t *testing.T) {
			for _, before := range []int{0, 3} {
				d := newFolder(t)
				l := open(t, Options{Dir: d})
				put(t, l, 1)
				closed(t, l)
				text := read(t, d)
				if before == 0 {
					text = nil
				}
				if torn == "" {
					if before == 0 {
						continue
					}
					text = text[:len(text)-1]
				}
				if err := os.WriteFile(path(d), append(text, torn...), 0o600); err != nil {
					t.Fatal(err)
				}
				for range 2 { // the second finds nothing to heal
					closed(t, open(t, Options{Dir: d}))
				}
				all := read(t, d)
				if string(all[:len(text)+len(torn)]) != string(text)+torn {
					t.Error("what was torn is gone")
				}
				r := holds(t, all, -1)
				if len(r.Torn) != 1 || torn != "" && (r.Torn[0].Bytes != int64(len(torn)) || r.Torn[0].Line != before+1) {
					t.Errorf("%+v", r)
				}
				if strings.Count(string(all), `"type":"healed"`) != 1 {
					t.Errorf("%s", all)
				}
				// What heals it vouches for it.
				if torn == "half a line" {
					changed := strings.Replace(string(all), torn, strings.Replace(torn, "9", "8", 1), 1)
					if r := verified(t, []byte(changed), Hash{}); r.OK() {
						t.Error("changed torn text is not seen")
					}
				}
			}
		})
	}
}

// A file that was moved away is left, and the new one says which it follows.
func TestRotation(t *testing.T) {
	d := newFolder(t)
	a, b := open(t, Options{Dir: d, Session: "a"}), open(t, Options{Dir: d, Session: "b"})
	put(t, a, 1)
	_, head := a.Head()
	if err := os.Rename(path(d), path(d)+".1"); err != nil {
		t.Fatal(err)
	}
	put(t, a, 2)
	put(t, b, 3)
	closed(t, a)
	closed(t, b)
	old, err := os.ReadFile(path(d) + ".1")
	if err != nil {
		t.Fatal(err)
	}
	if r := holds(t, old, 3); r.Head != head {
		t.Error("the old file has more")
	}
	all := read(t, d)
	holds(t, all, 6)
	if first, _, _ := strings.Cut(string(all), "\n"); !strings.Contains(first, `"type":"rotated","data":{"seq":3,"sha256":"`+head.String()) {
		t.Errorf("%s", first)
	}
	if n := strings.Count(string(all), `"type":"rotated"`); n != 2 {
		t.Errorf("%d lines of type rotated", n)
	}
}

// A lock that somebody keeps costs no more than the patience.
func TestABusyFile(t *testing.T) {
	d := newFolder(t)
	var told []error
	closedLog := open(t, Options{Dir: d, LockWait: 30 * time.Millisecond})
	goesOn := open(t, Options{Dir: d, LockWait: 30 * time.Millisecond, Continue: true, Diagnose: func(err error) { told = append(told, err) }})
	f, err := os.Open(path(d))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if err := closedLog.Put(Effect, value(1)); !errors.Is(err, ErrBusy) {
		t.Errorf("error %v", err)
	}
	for range 3 {
		if err := goesOn.Put(Effect, value(1)); err != nil {
			t.Errorf("error %v", err)
		}
	}
	if len(told) != 3 || !errors.Is(told[0], ErrBusy) {
		t.Errorf("told %v", told)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	put(t, goesOn, 2)
	closed(t, goesOn)
	closed(t, closedLog)
	all := string(read(t, d))
	r := holds(t, []byte(all), -1)
	if r.Lost != 2 || !strings.Contains(all, `"type":"lost","data":{"lines":3}`) || !strings.Contains(all, `"type":"lost","data":{"lines":1}`) {
		t.Errorf("%+v\n%s", r, all)
	}
}

func TestNoTextIsWrittenAsItIs(t *testing.T) {
	d := newFolder(t)
	mask := func(s string) string {
		if strings.Contains(s, "panic") {
			panic("x")
		}
		return strings.NewReplacer("hunter2", "***", "4711", "***").Replace(s)
	}
	l := open(t, Options{Dir: d, Session: "s\n\x1b[2J", Redact: mask})
	v := strictjson.Object(
		strictjson.Pair("hunter2", strictjson.Text("a\x1b[31m\u202e\nhunter2\xff")),
		strictjson.Pair("xhunter2", strictjson.Int(4711)),
		strictjson.Pair("***", strictjson.Array(strictjson.Text(strings.Repeat("a", mostText-5)+"hunter2"), strictjson.Text("panic hunter2"))),
	)
	if err := l.Put(Effect, v); err != nil {
		t.Fatal(err)
	}
	huge := strictjson.Value{Kind: strictjson.KindArray}
	for range 100 {
		huge.Items = append(huge.Items, strictjson.Text(strings.Repeat("long ", 400)))
	}
	if err := l.Put(Effect, strictjson.Object(strictjson.Pair("huge", huge))); err != nil {
		t.Fatal(err)
	}
	if err := l.Put(Effect, strictjson.Text("x")); err == nil {
		t.Error("data that is no object")
	}
	closed(t, l)
	all := read(t, d)
	holds(t, all, 4)
	for _, c := range all {
		if c != '\n' && (c < 0x20 || c >= 0x7f) {
			t.Fatalf("byte %#x in the file", c)
		}
	}
	for _, bad := range []string{"hunter2", "4711", "hunter"} {
		if strings.Contains(string(all), bad) {
			t.Errorf("%s is in the file", bad)
		}
	}
	for _, want := range []string{`***`, `"omitted":true`, `redaction failed`} {
		if !strings.Contains(string(all), want) {
			t.Errorf("%s is not in the file:\n%.5000s", want, all)
		}
	}
}
