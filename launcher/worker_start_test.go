package launcher

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// counted is a start whose parts only count.
type counted struct{ probes, launches int }

func (c *counted) start(t *testing.T, turn Turn, probe func() *WorkerRefusal) error {
	t.Helper()
	w := plainWorker()
	s := workerStart{
		w: w, look: plainLook,
		probe: func(context.Context, *workerLook) *WorkerRefusal { c.probes++; return probe() },
		launch: func(context.Context, *workerLook, launchee) (*WorkerRun, error) {
			c.launches++
			return &WorkerRun{}, nil
		},
	}
	_, err := s.start(t.Context(), turn)
	return err
}

// TestWorkerStartNeedsAProbe: bk/WP8, bk/WP9. Whatever the turn, a probe that refuses, or
// ends in a panic, starts nothing; and each start makes one.
func TestWorkerStartNeedsAProbe(t *testing.T) {
	for _, turn := range []Turn{TurnInteractive, TurnVoice, TurnAutonomous} {
		for name, probe := range map[string]func() *WorkerRefusal{
			"refuses": func() *WorkerRefusal { return refuseWorker("no such thing", "id", WorkerTuple{}) },
			"panics":  func() *WorkerRefusal { panic("no such thing") },
			"throws":  func() *WorkerRefusal { panic(errors.New("no such thing")) },
		} {
			t.Run(turn.String()+" "+name, func(t *testing.T) {
				var c counted
				err := c.start(t, turn, probe)
				var r *WorkerRefusal
				if !errors.As(err, &r) || r.Class != WorkerHostUnsupported || strings.Count(r.Message, "no such thing") != 1 {
					t.Errorf("%v", err)
				}
				if c.probes != 1 || c.launches != 0 {
					t.Errorf("%d probes, %d launches", c.probes, c.launches)
				}
			})
		}
		var c counted
		for range 3 { // the positive control, and that no answer is kept
			if err := c.start(t, turn, func() *WorkerRefusal { return nil }); err != nil {
				t.Error(err)
			}
		}
		if c.probes != 3 || c.launches != 3 {
			t.Errorf("%d probes, %d launches, want 3 and 3", c.probes, c.launches)
		}
	}
}

func TestWorkerStartIsBounded(t *testing.T) {
	w := newWorker(t, "true")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	run, err := w.Start(ctx, TurnAutonomous)
	var r *WorkerRefusal
	if run != nil || !errors.As(err, &r) {
		t.Errorf("%v, %v", run, err)
	}
	names, err := os.ReadDir(w.Repo)
	if err != nil || len(names) != 1 {
		t.Errorf("the repository has %v, %v", names, err)
	}
}

func TestLinesAreBounded(t *testing.T) {
	read := func(text string, most int) (lines []string, kills int, err error) {
		l := newLineReader(strings.NewReader(text), most, func() error { kills++; return nil })
		for {
			var line []byte
			if line, err = l.Next(); err != nil {
				_, again := l.Next()
				if !errors.Is(again, err) {
					t.Errorf("after %v comes %v", err, again)
				}
				return lines, kills, err
			}
			lines = append(lines, string(line))
		}
	}
	long := strings.Repeat("x", 200<<10)
	for _, c := range []struct {
		name, text string
		most       int
		want       int // lines
		bad        bool
	}{
		{"nothing", "", 10, 0, false},
		{"lines", "a\n\nbc\n", 10, 3, false},
		{"exactly as long as may be", "0123456789\n", 10, 1, false},
		{"one more", "01234567890\n", 10, 0, true},
		{"good, then too long", "a\n01234567890\n", 10, 1, true},
		{"without an end", "abc", 10, 0, true},
		{"longer than the buffer", long + "\nb\n", len(long), 2, false},
		{"longer than the buffer, and one more", long + "x\n", len(long), 0, true},
		{"longer than the buffer, without an end", long, len(long), 0, true},
	} {
		lines, kills, err := read(c.text, c.most)
		var bad *LineError
		if len(lines) != c.want || errors.As(err, &bad) != c.bad || (kills == 1) != c.bad || !c.bad && !errors.Is(err, io.EOF) {
			t.Errorf("%s: %d lines, %d kills, %v", c.name, len(lines), kills, err)
		}
		if strings.Join(lines, "\n")+"\n" != c.text && !c.bad && c.text != "" {
			t.Errorf("%s: other lines", c.name)
		}
	}
}

// TestWorkerRelay: the relay's socket is the only one of the host's that answers, and its
// folder cannot be written to. Without it nothing of it is there.
func TestWorkerRelay(t *testing.T) {
	dir, err := os.MkdirTemp("/var/tmp", "bb-") //nolint:usetesting // a socket's path has 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	ln, err := net.Listen("unix", dir+"/relay")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("answer\n"))
			_ = conn.Close()
		}
	}()
	script := "perl -MIO::Socket::UNIX -e 'my $s = IO::Socket::UNIX->new(Peer => \"" + dir + "/relay\") or die \"no\\n\"; print <$s>'; " +
		"touch " + dir + "/new; ls " + dir
	w := newWorker(t, script)
	w.Relay = dir + "/relay"
	_, out, errOut := ended(t, w, TurnAutonomous)
	if out != "answer\nrelay\n" || !strings.Contains(errOut, "Read-only file system") {
		t.Errorf("%q, %q", out, errOut)
	}
	w.Relay = ""
	if _, out, errOut = ended(t, w, TurnAutonomous); out != "" || !strings.Contains(errOut, "no\n") {
		t.Errorf("without: %q, %q", out, errOut)
	}
	w.Relay = dir + "/relay"
	if err := unix.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	var r *WorkerRefusal
	if err := Probe(t.Context(), w, TurnAutonomous); !errors.As(err, &r) || !strings.HasPrefix(r.Requirement, "relay mount failed") {
		t.Errorf("an open folder: %v", err)
	}
}

// TestWorkerWidened: what widens a launch is named, and the rest stays as it is.
func TestWorkerWidened(t *testing.T) {
	const script = "grep -c : /proc/net/dev; ls -d /home /srv /root 2>/dev/null | wc -l; echo x >policy; echo x >/etc/x; ls -d /proc/[0-9]* | wc -l"
	w := newWorker(t, script)
	_, narrow, _ := ended(t, w, TurnInteractive)
	if !strings.HasPrefix(narrow, "1\n0\n") {
		t.Errorf("restricted: %q", narrow)
	}
	w.HostNetwork, w.HostFiles = true, true
	res, wide, errOut := ended(t, w, TurnVoice)
	if strings.HasPrefix(wide, "1\n0\n") || strings.Count(errOut, "Read-only file system") != 2 {
		t.Errorf("widened: %+v, %q, %q", res, wide, errOut)
	}
	if text, err := os.ReadFile(filepath.Join(w.Repo, "policy")); err != nil || string(text) != "as it was\n" {
		t.Errorf("%q, %v", text, err)
	}
	var r *WorkerRefusal
	if err := Probe(t.Context(), w, TurnAutonomous); !errors.As(err, &r) || r.ProbeID != "" {
		t.Errorf("autonomous: %v", err)
	}
}

// TestSentinelsOfTheDeadAreSwept: a host that was killed in the middle of a probe leaves
// one; the next probe takes it away, and nothing else.
func TestSentinelsOfTheDeadAreSwept(t *testing.T) {
	repo := resolved(t.TempDir())
	old := time.Now().Add(-time.Hour)
	texts := map[string]string{
		".brainbox-probe-dead": "a probe's sentinel: dead\n", ".brainbox-probe-part": "a probe's",
		".brainbox-probe-more": "a probe's sentinel: more\n", ".brainbox-probe-held": "a probe's sentinel: held\n",
		".brainbox-probe-else": "of somebody else\n", "sentinel": "a probe's sentinel: \n",
	}
	left := func(name string, files ...string) {
		t.Helper()
		mkdir(t, repo+"/"+name, 0o700, -1)
		for _, f := range files {
			write(t, repo+"/"+name+"/"+f, texts[name])
		}
		if err := os.Chtimes(repo+"/"+name, old, old); err != nil {
			t.Fatal(err)
		}
	}
	left(".brainbox-probe-dead", "sentinel")
	left(".brainbox-probe-empty")
	left(".brainbox-probe-part", "sentinel")
	left(".brainbox-probe-more", "sentinel", "mine")
	left(".brainbox-probe-else", "sentinel")
	left(".brainbox-probe-held", "sentinel")
	left("sentinel", "sentinel")
	mkdir(t, repo+"/.brainbox-probe-young", 0o700, -1)
	held, err := openFolder(unix.AT_FDCWD, repo+"/.brainbox-probe-held", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(held) })
	if err := unix.Flock(held, unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	s, err := makeSentinel(repo, "new")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.unchanged(), s.remove()); err != nil {
		t.Error(err)
	}
	var names []string
	entries, err := os.ReadDir(repo)
	for _, e := range entries {
		names = append(names, strings.TrimPrefix(e.Name(), ".brainbox-probe-"))
	}
	if got := strings.Join(names, " "); err != nil || got != "else held more young sentinel" {
		t.Errorf("left are %q, %v", got, err)
	}
	for _, name := range []string{"more", "else"} {
		name = ".brainbox-probe-" + name
		if got := readSmall(repo + "/" + name + "/sentinel"); got != texts[name] {
			t.Errorf("%s: the file is %q", name, got)
		}
	}
}
