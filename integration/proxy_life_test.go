package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"brainbox/internal/needs"
)

// TestProxyInLandlock is esc/NW-19: isolation landlock has no network of the program's own, so it refuses.
func TestProxyInLandlock(t *testing.T) {
	kernel(t)
	w := newWorld(t)
	for _, flags := range [][]string{{"--net", "proxy"}, {"--net", "proxy", "--allow-host", "ok.test"}, {"--publish", "8080"}} {
		args := append([]string{"run", "--isolation", "landlock"}, flags...)
		r := run(t, w.dir("W"), exec.Command(program("brainbox"), append(args, "--", "/bin/sh", "-c", "echo ran")...))
		if r.status != 125 || r.out != "" || !strings.HasPrefix(r.err, "brainbox: ") || !strings.Contains(r.err, "namespaces") {
			t.Errorf("%q: status %d, %q, %q", flags, r.status, r.out, r.err)
		}
	}
	r := run(t, w.dir("W"), exec.Command(program("brainbox"), "run", "--isolation", "landlock", "--", "/bin/sh", "-c", "echo ran"))
	if r.status != 0 || r.out != "ran\n" {
		t.Errorf("control: status %d, %q, %q", r.status, r.out, r.err)
	}
}

// children are the brainbox-host that a brainbox has started for its run, and the run's init.
func children(t testing.TB, brainbox int) (host, program int) {
	t.Helper()
	for _, n := range processes(t) {
		if field(n, "PPid") != itoa(brainbox) {
			continue
		}
		if text, _ := os.ReadFile("/proc/" + itoa(n) + "/cmdline"); strings.HasPrefix(string(text), "brainbox-host\x00proxy\x00") {
			host = n
		} else {
			program = n
		}
	}
	if host == 0 || program == 0 {
		t.Fatalf("brainbox %d has host %d and init %d", brainbox, host, program)
	}
	return host, program
}

// netOf is the network namespace of a process; empty: it is gone, or this user may not look.
func netOf(pid int) string {
	name, _ := os.Readlink("/proc/" + itoa(pid) + "/ns/net")
	return name
}

// nobodyIn reports whether no process is in a network namespace any more.
func nobodyIn(t testing.TB, name string) bool {
	t.Helper()
	return !slices.ContainsFunc(processes(t), func(pid int) bool { return netOf(pid) == name })
}

// TestProxyHostDies is esc/PX-26: without its brainbox-host a run reaches nothing, by any
// way, and is told so.
func TestProxyHostDies(t *testing.T) {
	proxied(t)
	p := newProxyWorld(t)
	in := p.visit(t, p.usual()...)
	attempts := []string{
		getFrom("ok.test:"+p.web.port, "/"), connectTo("ok.test:"+p.lines.port, "x\n"), "line ok.test:" + p.lines.port,
		"fetch http://ok.test:" + p.web.port, "fetch http://ok.test:" + p.web.port + " direct",
	}
	for _, a := range attempts { // the positive control
		if got := in.ask(t, a); !strings.HasPrefix(got, "ok ") {
			t.Errorf("before: %q = %q", a, got)
		}
	}
	arrived := len(p.web.all()) + p.lines.count()
	host, _ := children(t, in.cmd.Process.Pid)
	must(t, syscall.Kill(host, syscall.SIGKILL))
	waitFor(t, "the end of brainbox-host", func() bool { return !alive(host) })
	const line = "brainbox: brainbox-host ended: the network is closed from now on\n"
	waitFor(t, "the line about it", func() bool { return strings.Contains(in.stderr.String(), line) })
	for _, a := range append(attempts, "line 127.0.0.1:"+p.web.port) {
		if got := in.ask(t, a); strings.HasPrefix(got, "ok ") {
			t.Errorf("after: %q = %q", a, got)
		}
	}
	if now := len(p.web.all()) + p.lines.count(); now != arrived {
		t.Errorf("%d arrived", now-arrived)
	}
	if n := strings.Count(in.stderr.String(), line); n != 1 {
		t.Errorf("standard error: %q", in.stderr)
	}
}

// TestProxyLeavesNothing: neither the end of a run nor a kill of brainbox leaves a process, a
// namespace or a listener.
func TestProxyLeavesNothing(t *testing.T) {
	proxied(t)
	p := newProxyWorld(t)
	published := freePort(t)
	for _, kill := range []bool{false, true} {
		in := p.visit(t, append(p.usual(), "--publish", published)...)
		if got := in.ask(t, "line ok.test:"+p.lines.port); got != "ok hello" {
			t.Fatal(got)
		}
		host, program := children(t, in.cmd.Process.Pid)
		name := strings.TrimPrefix(in.ask(t, "network"), "ok ")
		if nobodyIn(t, name) || name == netOf(os.Getpid()) || isFree(published) { // the positive control
			t.Fatalf("the network is %q", name)
		}
		if kill {
			must(t, in.cmd.Process.Kill())
		}
		in.done()
		waitFor(t, "the end of brainbox-host", func() bool { return !alive(host) })
		waitFor(t, "the end of the init", func() bool { return !alive(program) })
		waitFor(t, "an empty network namespace", func() bool { return nobodyIn(t, name) })
		waitFor(t, "a free port", func() bool { return isFree(published) })
	}
}

// TestProxyTwoRuns: of two runs at once each has its own list, and does not notice the end of
// the other.
func TestProxyTwoRuns(t *testing.T) {
	proxied(t)
	p := newProxyWorld(t)
	first := p.visit(t, p.allow("ok.test:"+p.lines.port, "127.0.0.1:"+p.lines.port)...)
	second := p.visit(t, p.allow("denied.test:"+p.lines.port, "127.0.0.1:"+p.lines.port)...)
	expect := func(s *side, attempt, want string) {
		t.Helper()
		if got := s.ask(t, attempt); got != want {
			t.Errorf("%q = %q, want %q", attempt, got, want)
		}
	}
	ok, denied := "line ok.test:"+p.lines.port, "line denied.test:"+p.lines.port
	expect(first, ok, "ok hello")
	expect(second, denied, "ok hello")
	expect(first, denied, "bad no such host")
	expect(second, ok, "bad no such host")
	served := strings.TrimPrefix(first.ask(t, "serve 127.0.0.1:0 first"), "ok ")
	expect(first, "line "+served, "ok first")
	expect(second, "line "+served, "errno ECONNREFUSED")
	first.done()
	expect(second, denied, "ok hello")
	second.done()
	if a, b := refusals(first.stderr.String()), refusals(second.stderr.String()); len(a) != 1 || len(b) != 1 ||
		!strings.Contains(a[0], " denied.test: ") || !strings.Contains(b[0], " ok.test: ") {
		t.Errorf("told: %q and %q", a, b)
	}
}

// TestProxyNested: a run inside a run is refused as long as it asks for what only namespaces
// have, and the outer one is as it was.
func TestProxyNested(t *testing.T) {
	proxied(t)
	p := newProxyWorld(t)
	for _, isolation := range []string{"namespaces", "auto"} {
		inner := append([]string{program("brainbox"), "run", "--isolation", isolation, "--rox", bin}, p.usual("denied.test:"+p.lines.port)...)
		inner = append(inner, "--", program("visitor"), "line", "denied.test:"+p.lines.port)
		r := confined(t, p.world, p.usual(), inner...)
		if r.status != 125 || r.out != "" || !strings.Contains(r.err, "brainbox: ") || strings.Contains(r.err, "internal error") {
			t.Errorf("%s: status %d, %q, %q", isolation, r.status, r.out, r.err)
		}
		if r := run(t, p.dir("W"), exec.Command(inner[0], inner[1:]...)); r.out != "ok hello\n" {
			t.Errorf("control: %s alone: status %d, %q, %q", isolation, r.status, r.out, r.err)
		}
	}
	if p.lines.count() != 2 {
		t.Errorf("%d connections arrived, want the controls' 2", p.lines.count())
	}
}

// TestProxyProjectNarrows: a project's own file takes hosts away, and adds none.
func TestProxyProjectNarrows(t *testing.T) {
	proxied(t)
	needs.Program(t, "git")
	p := newProxyWorld(t)
	outside(t, p.dir("W"), "git init -q -b main .")
	project := func(names ...string) {
		text := "version = 1\n[network]\nallow_hosts = [\"127.0.0.1:" + p.lines.port + "\""
		for _, n := range names {
			text += ", \"" + n + ":" + p.lines.port + "\""
		}
		must(t, os.WriteFile(filepath.Join(p.dir("W"), ".brainbox.toml"), []byte(text+"]\n"), 0o644))
	}
	flags := p.allow("*.test:"+p.lines.port, "127.0.0.1:"+p.lines.port)
	ask := func(name string) result {
		return confined(t, p.world, flags, program("visitor"), "line", name+":"+p.lines.port)
	}
	if r := ask("denied.test"); r.out != "ok hello\n" { // the positive control
		t.Errorf("without a project's file: %q, %q", r.out, r.err)
	}
	project("ok.test")
	r := ask("denied.test") // its resolver may ask again, so how often is not said here
	if told := refusals(r.err); r.out != "bad no such host\n" || len(told) != 1 || !strings.HasPrefix(told[0], "brainbox: refused: denied.test: not listed") {
		t.Errorf("taken away: %q, %q", r.out, r.err)
	}
	if r := ask("ok.test"); r.out != "ok hello\n" {
		t.Errorf("kept: %q, %q", r.out, r.err)
	}
	project("ok.test", "else.example")
	if r := ask("ok.test"); r.status != 125 || !strings.Contains(r.err, "the operator does not grant network.allow_hosts else.example:") {
		t.Errorf("added: status %d, %q, %q", r.status, r.out, r.err)
	}
}
