package explain

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"brainbox/internal/notify"
	"brainbox/launcher"
	"brainbox/seccomp"
)

// grants is a judge that allows everything below some folders, and connect to some ports.
type grants struct {
	below []string
	ports []uint16
}

func (g grants) Judge(op launcher.Operation) launcher.Judgement {
	refused := launcher.Judgement{Verdict: launcher.Refused, Errno: unix.EACCES, Place: op.Path}
	switch op.Op {
	case launcher.OpConnect, launcher.OpBind:
		if slices.Contains(g.ports, op.Port) {
			return launcher.Judgement{Verdict: launcher.Allowed}
		}
		return refused
	case launcher.OpSyscall:
		return launcher.Judgement{Verdict: launcher.Refused, Errno: unix.EPERM}
	default:
	}
	for _, path := range []string{op.Path, op.Dest} {
		if path != "" && !slices.ContainsFunc(g.below, func(b string) bool { return path == b || strings.HasPrefix(path, b+"/") }) {
			return refused
		}
	}
	return launcher.Judgement{Verdict: launcher.Allowed}
}

// log is a sink that keeps everything.
type log struct {
	mu   sync.Mutex
	seen []*Seen
}

func (l *log) Saw(s *Seen) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = append(l.seen, s)
}

func (l *log) take() []*Seen {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.seen
	l.seen = nil
	return list
}

// watch is an engine that sees calls of this thread.
type watch struct {
	t testing.TB
	*Engine
	log  *log
	tid  int
	gone bool // no call waits any more
}

// newWatch makes an engine for the calls of the test's own thread.
func newWatch(t testing.TB, cfg Config) *watch {
	t.Helper()
	w := &watch{t: t, log: &log{}}
	if cfg.Sink == nil {
		cfg.Sink = w.log
	}
	var err error
	if w.Engine, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	w.valid = func(*notify.Call) bool { return !w.gone }
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	w.tid = unix.Gettid()
	return w
}

// call makes one, with strings for the pointers, and returns what was seen.
func (w *watch) call(name string, args ...any) []*Seen {
	w.t.Helper()
	nr, ok := seccomp.Number(runtime.GOARCH, name)
	if !ok {
		w.t.Skipf("%s has no call %s", runtime.GOARCH, name)
	}
	c := &notify.Call{TID: w.tid, Nr: int(nr)}
	var pins runtime.Pinner
	defer pins.Unpin()
	for i, a := range args {
		switch a := a.(type) {
		case int:
			c.Args[i] = uint64(a)
		case uint64:
			c.Args[i] = a
		case string:
			b := append([]byte(a), 0)
			pins.Pin(&b[0])
			c.Args[i] = uint64(uintptr(unsafe.Pointer(&b[0])))
		case []byte:
			pins.Pin(&a[0])
			c.Args[i] = uint64(uintptr(unsafe.Pointer(&a[0])))
		default:
			w.t.Fatalf("argument %d: %T", i, a)
		}
	}
	w.See(c)
	return w.log.take()
}

// realTemp is a folder of the test's own, without a link in its name.
func realTemp(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// put makes files: a name that ends with a slash is a folder, "a -> b" a link.
func put(t testing.TB, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		from, to, isLink := strings.Cut(name, " -> ")
		path := filepath.Join(dir, from)
		var err error
		switch {
		case isLink:
			err = os.Symlink(to, path)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o755)
		case strings.HasSuffix(name, "|"):
			err = unix.Mkfifo(strings.TrimSuffix(path, "|"), 0o644)
		default:
			err = os.WriteFile(path, []byte(name), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// words are seen operations in short: "read /a regular refused proven".
func words(list []*Seen, dir string) string {
	var lines []string
	for _, s := range list {
		w := []string{opWord(s.Op)}
		for _, p := range []string{s.Path, s.Dest} {
			if p != "" {
				w = append(w, strings.ReplaceAll(strings.ReplaceAll(p, dir+"/", ""), dir, "."))
			}
		}
		if s.Kind != 0 {
			w = append(w, kindWord(s.Kind))
		}
		if s.Over != 0 {
			w = append(w, "over "+kindWord(s.Over))
		}
		if s.Moot {
			w = append(w, "moot")
		}
		switch {
		case s.Certainty == Unknown:
			w = append(w, "unknown")
		case s.Judgement.Verdict == launcher.Refused:
			w = append(w, "refused")
		}
		lines = append(lines, strings.Join(w, " "))
	}
	return strings.Join(lines, "; ")
}

func opWord(o launcher.Op) string {
	return [...]string{
		"read", "write", "truncate", "exec", "create", "remove", "rename", "link", "connect", "bind", "unix", "syscall",
	}[o]
}

func kindWord(k launcher.FileKind) string {
	return [...]string{"absent", "regular", "folder", "link", "socket", "fifo", "char", "block"}[k]
}
