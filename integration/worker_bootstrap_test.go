package integration

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// bootstrapped is what a bootstrap that was handed something wrong did.
type bootstrapped struct {
	status      int
	out, errOut string // what came through those that are pipes
}

// bootstrap starts the bootstrap of a worker with these descriptors; nil is a pipe. It is
// what package launcher starts, by hand: launcher hands it nothing but pipes.
func bootstrap(t *testing.T, files [3]*os.File, extra ...*os.File) bootstrapped {
	t.Helper()
	// What these tests inherited is not what the case hands on.
	must(t, unix.CloseRange(3, 1<<31-1, unix.CLOSE_RANGE_CLOEXEC))
	cmd := exec.Command(program("brainbox"), "worker")
	cmd.Env = []string{}
	var out, errOut bytes.Buffer
	var read []func()
	pipe := func(into *bytes.Buffer) *os.File {
		r, w, err := os.Pipe()
		must(t, err)
		done := make(chan struct{})
		go func() { defer close(done); _, _ = io.Copy(into, r); _ = r.Close() }()
		read = append(read, func() { _ = w.Close(); <-done })
		return w
	}
	if cmd.Stdin = files[0]; files[0] == nil {
		r, w, err := os.Pipe()
		must(t, err)
		defer func() { _ = r.Close(); _ = w.Close() }()
		cmd.Stdin = r
	}
	if cmd.Stdout = files[1]; files[1] == nil {
		cmd.Stdout = pipe(&out)
	}
	if cmd.Stderr = files[2]; files[2] == nil {
		cmd.Stderr = pipe(&errOut)
	}
	cmd.ExtraFiles = extra
	must(t, cmd.Start())
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	err := cmd.Wait()
	for _, f := range read {
		f()
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return bootstrapped{cmd.ProcessState.ExitCode(), out.String(), errOut.String()}
}

// control is the socketpair of a host, and the end that the host keeps.
func control(t *testing.T) (host, theirs *os.File) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	must(t, err)
	host, theirs = os.NewFile(uintptr(pair[0]), "host"), os.NewFile(uintptr(pair[1]), "worker")
	t.Cleanup(func() { _ = host.Close(); _ = theirs.Close() })
	return host, theirs
}

// TestBootstrapDescriptors: bk/WP16, bk/M13. A descriptor that is no pipe ends the start,
// and what is behind it stays as it was.
func TestBootstrapDescriptors(t *testing.T) {
	protected := filepath.Join(t.TempDir(), "protected")
	must(t, os.WriteFile(protected, []byte(policyText), 0o644))
	open := func() *os.File {
		f, err := os.OpenFile(protected, os.O_RDWR|os.O_APPEND, 0)
		must(t, err)
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	must(t, err)
	t.Cleanup(func() { unix.Close(pair[0]) })
	sock := os.NewFile(uintptr(pair[1]), "socket")
	t.Cleanup(func() { _ = sock.Close() })
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	must(t, err)
	t.Cleanup(func() { _ = null.Close() })
	kinds := map[string]*os.File{"file": open(), "socket": sock, "null": null}
	if _, err := os.Stat("/dev/ptmx"); err == nil {
		kinds["tty"] = newPTY(t).slave
	}
	for kind, f := range kinds {
		for fd := range 3 {
			t.Run(fmt.Sprintf("bk/WP16 %d is a %s", fd, kind), func(t *testing.T) {
				var files [3]*os.File
				files[fd] = f
				_, theirs := control(t)
				got := bootstrap(t, files, theirs)
				said, other := got.errOut, got.out
				if fd == 2 {
					said, other = got.out, got.errOut
				}
				if want := fmt.Sprintf("brainbox: worker: descriptor %d is no pipe\n", fd); got.status != 1 || said != want || other != "" {
					t.Errorf("%+v, want status 1 and %q", got, want)
				}
			})
		}
	}
	t.Run("bk/M13 none is a pipe", func(t *testing.T) {
		f := open()
		if got := bootstrap(t, [3]*os.File{f, f, f}); got.status != 1 || got.out+got.errOut != "" {
			t.Errorf("%+v, want status 1 in silence", got)
		}
	})
	if text, err := os.ReadFile(protected); err != nil || string(text) != policyText {
		t.Errorf("the file is %q, %v", text, err)
	}
}

// TestBootstrapInherits: bk/WP17, bk/M11. A descriptor above 2 that is not close-on-exec
// ends the start.
func TestBootstrapInherits(t *testing.T) {
	protected := filepath.Join(t.TempDir(), "protected")
	must(t, os.WriteFile(protected, []byte(policyText), 0o644))
	f, err := os.OpenFile(protected, os.O_RDWR|os.O_APPEND, 0)
	must(t, err)
	t.Cleanup(func() { _ = f.Close() })
	host, theirs := control(t)
	other, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = other.Close() })
	listener, err := other.(*net.TCPListener).File()
	must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	for _, c := range []struct {
		name  string
		extra []*os.File
		want  string
	}{
		{"nothing", nil, "descriptor 3 is not the socketpair of a host"},
		{"a file as 3", []*os.File{f}, "descriptor 3 is not the socketpair of a host"},
		{"a listener as 3", []*os.File{listener}, "descriptor 3 is not the socketpair of a host"},
		{"a file as 4", []*os.File{theirs, f}, "descriptor 4 is not close-on-exec"},
		{"a second control as 4", []*os.File{theirs, theirs}, "descriptor 4 is not close-on-exec"},
		{"a listener as 6", []*os.File{theirs, nil, nil, listener}, "descriptor 6 is not close-on-exec"},
	} {
		t.Run("bk/WP17 "+c.name, func(t *testing.T) {
			got := bootstrap(t, [3]*os.File{}, c.extra...)
			if got.status != 1 || got.out != "" || got.errOut != "brainbox: worker: "+c.want+"\n" {
				t.Errorf("%+v, want status 1 and %q", got, c.want)
			}
		})
	}
	// Positive control: with the pipes and a host it greets, and ends when the host goes.
	answer := make(chan string, 1)
	go func() {
		b := make([]byte, 4096)
		n, err := unix.Read(int(host.Fd()), b)
		_ = host.Close()
		answer <- fmt.Sprint(string(b[:max(n, 0)]), err)
	}()
	if got := bootstrap(t, [3]*os.File{}, theirs); strings.Contains(got.errOut, "descriptor") {
		t.Errorf("control: %+v", got)
	}
	if got := <-answer; !strings.Contains(got, "brainbox-spawn/1") {
		t.Errorf("control: greeting %q", got)
	}
	if text, err := os.ReadFile(protected); err != nil || string(text) != policyText {
		t.Errorf("the file is %q, %v", text, err)
	}
}

// leakCase is a host with a mistake, and what must come of it.
type leakCase struct {
	name, id  string
	change    func(*hostConfig, *workerWorld)
	mutations []string
	refused   string // the requirement; "" is a worker that runs
	attempt   string // what the worker tries, if it runs
	reaches   bool   // the attack is to work: a layer was left out
}

// TestWorkerInheritsNothing: bk/M11, bk/M12, bk/M13, bk/M14, through package launcher. Each
// has its mutation.
func TestWorkerInheritsNothing(t *testing.T) {
	leak := func(c *hostConfig, w *workerWorld) { c.Leak = w.vars["P"] }
	hold := func(c *hostConfig, w *workerWorld) { c.Held = w.vars["P"] }
	nothing := func(*hostConfig, *workerWorld) {}
	write := call(unix.SYS_WRITE, 9, "s:leaked", 6)
	mapped := "run /bin/grep -c protected /proc/self/maps"
	for _, c := range []leakCase{
		{id: "bk/M11", name: "an inherited descriptor", change: leak, refused: "descriptor 9 is not close-on-exec"},
		{id: "bk/M11", name: "without the bootstrap's look, which the start closes", change: leak, mutations: []string{"fd-check"}, attempt: write},
		{id: "bk/M11", name: "without the start's closing, which the bootstrap refuses", change: leak, mutations: []string{"keep-fds"}, refused: "descriptor 9 is not close-on-exec"},
		{id: "bk/M11", name: "without both", change: leak, mutations: []string{"fd-check", "keep-fds"}, attempt: write, reaches: true},
		{id: "bk/M12", name: "a descriptor that is close-on-exec", change: hold, attempt: write},
		{id: "bk/M12", name: "with the flag cleared", change: hold, mutations: []string{"clear-cloexec"}, refused: "descriptor 9 is not close-on-exec"},
		{id: "bk/M12", name: "with the flag cleared and nobody who looks", change: hold, mutations: []string{"clear-cloexec", "fd-check", "keep-fds"}, attempt: write, reaches: true},
		{id: "bk/M13", name: "the policy as standard output", change: nothing, mutations: []string{"stdout-file"}, refused: "descriptor 1 is no pipe"},
		{id: "bk/M13", name: "without the bootstrap's look", change: nothing, mutations: []string{"stdout-file", "fifo-check"}, attempt: "cwd", reaches: true},
		{id: "bk/M14", name: "a shared mapping", change: hold, attempt: mapped},
	} {
		t.Run(c.id+" "+c.name, func(t *testing.T) { c.run(t) })
	}
}

func (c *leakCase) run(t *testing.T) {
	w := newWorkerWorld(t)
	cfg := hostConfig{Worker: w.worker(), mutations: c.mutations}
	if len(c.mutations) > 0 {
		cfg.mutations = append([]string{"skip-probe"}, c.mutations...)
	}
	c.change(&cfg, w)
	s := w.start(t, cfg)
	switch {
	case c.refused != "":
		if r := readRefusal(t, s.line(t, "start")); !strings.Contains(r.Requirement, c.refused) {
			t.Errorf("%q, want %q", r.Requirement, c.refused)
		}
	case strings.Contains(strings.Join(c.mutations, " "), "stdout-file"):
		_, err := io.WriteString(s.in, c.attempt+"\n") // it answers into the file
		must(t, err)
		s.done()
	default:
		got := s.ask(t, c.attempt)
		if reached := strings.HasPrefix(got, "ok"); reached != c.reaches {
			t.Errorf("%s: %q", c.attempt, got)
		}
		if got := s.ask(t, w.fill("write {S}/f 0x40 x")); got != "ok" {
			t.Errorf("control: scratch: %q", got)
		}
	}
	text, err := os.ReadFile(w.vars["P"])
	must(t, err)
	if changed := string(text) != policyText; changed != c.reaches {
		t.Errorf("the policy is %q, changed %v, want %v", text, changed, c.reaches)
	}
}

// TestWorkerHasNoTerminal: bk/M28. The host has a controlling terminal.
func TestWorkerHasNoTerminal(t *testing.T) {
	needs.TTY(t)
	layers := []string{"tty", "keep-session", layerFilter, layerLandlock}
	for _, c := range []struct {
		mutations []string
		reaches   bool
	}{{nil, false}, {[]string{"tty"}, false}, {[]string{"tty", layerLandlock, layerFilter}, false}, {[]string{"keep-session", layerLandlock, layerFilter}, false}, {layers, true}} {
		t.Run("bk/M28 without "+strings.Join(c.mutations, ","), func(t *testing.T) {
			w := newWorkerWorld(t)
			p := newPTY(t)
			cfg := hostConfig{Worker: w.worker()}
			if c.mutations != nil {
				cfg.mutations = append([]string{"skip-probe"}, c.mutations...)
			}
			cmd := w.command(t, cfg)
			cmd.ExtraFiles = []*os.File{p.slave}
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
			s := open(t, cmd)
			got := s.ask(t, openat("/dev/tty", unix.O_RDWR))
			if reached := strings.HasPrefix(got, "ok"); reached != c.reaches {
				t.Errorf("/dev/tty: %q", got)
			}
			if got := s.ask(t, w.fill("write {S}/f 0x40 x")); got != "ok" {
				t.Errorf("control: scratch: %q", got)
			}
		})
	}
}
