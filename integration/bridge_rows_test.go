package integration

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestBridgeSocketStays is IP-14, BR-13 and IP-17: nothing inside takes the place of the
// socket, and socket pairs work as ever.
func TestBridgeSocketStays(t *testing.T) {
	w := newBridgeWorld(t)
	r := w.run(t, nil, `
S=$BRAINBOX_SOCKET
$B call host.pid >/dev/null && echo before
for c in "rm -f $S" "mv $S $S.old" "ln -sf /tmp/x $S" "cp /etc/hostname $S" "mkdir $S.d" "rmdir $(dirname $S)" "mv $(dirname $S) /tmp/y"; do
	$c 2>/dev/null && echo "done: $c"
done
`+program("victim")+` <<X | sed 's/^/victim /'
`+call(unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_STREAM, 0, "buf:8")+`
`+then(socket(unix.AF_UNIX, unix.SOCK_STREAM, 0), call(unix.SYS_BIND, "$1", "un:$S", "#"))+`
X
$B call host.pid >/dev/null && echo after`)
	for _, want := range []string{"before", "after", "victim ok"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("without %q:\n%s\n%s", want, r.out, r.err)
		}
	}
	t.Run("esc/IP-17 socketpair works", func(t *testing.T) {
		if !strings.Contains(r.out, "victim ok") {
			t.Errorf("%s\n%s", r.out, r.err)
		}
	})
	for _, id := range []string{"esc/IP-14 the socket is not replaced", "esc/BR-13 nor taken away"} {
		t.Run(id, func(t *testing.T) {
			if strings.Contains(r.out, "done:") {
				t.Errorf("%s", r.out)
			}
		})
	}
}

// TestBridgeOperatorsSide: the program reaches neither the operator's socket nor his key, and
// a second run finds nothing of the first, esc/BR-14.
func TestBridgeOperatorsSide(t *testing.T) {
	w := newBridgeWorld(t)
	first := w.command(nil, "sh", "-c", program("brainbox")+" call host.pid >/dev/null; echo up; read -r x")
	in, err := first.StdinPipe()
	must(t, err)
	out := &syncBuffer{}
	first.Stdout = out
	must(t, first.Start())
	defer func() { _ = first.Process.Kill(); _ = first.Wait() }()
	waitFor(t, "the first run", func() bool { return strings.Contains(out.String(), "up") })
	found, err := filepath.Glob(w.runtime + "/brainbox/*/ui.sock")
	if err != nil || len(found) != 1 {
		t.Fatalf("%q, %v", found, err)
	}
	ui, agent, key := found[0], filepath.Dir(found[0])+"/agent.sock", w.state+"/brainbox/operator.key"
	for _, dir := range []string{filepath.Dir(ui), w.runtime + "/brainbox"} {
		if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", dir, st.Mode(), err)
		}
	}
	attempts := []string{reach(ui), reach(agent), openat(key, unix.O_RDONLY)}
	inside := w.command(nil, program("victim"))
	second := open(t, inside)
	for _, a := range attempts {
		if got := second.ask(t, a); strings.HasPrefix(got, "ok") {
			t.Errorf("esc/BR-14: %q = %q", a, got)
		}
	}
	control := bare(t, w.dir)
	for _, a := range attempts {
		if got := control.ask(t, a); !strings.HasPrefix(got, "ok") {
			t.Errorf("the control: %q = %q", a, got)
		}
	}
	t.Run("esc/BR-14 no other session", func(t *testing.T) {
		if got := second.ask(t, reach(agent)); strings.HasPrefix(got, "ok") {
			t.Errorf("%q", got)
		}
	})
	must(t, in.Close())
	_ = first.Wait()
}

// TestBridgeKeyIsNotGranted: a grant of the operator's that would show the key is refused.
func TestBridgeKeyIsNotGranted(t *testing.T) {
	w := newBridgeWorld(t)
	must(t, os.MkdirAll(w.state+"/brainbox", 0o700))
	for _, dir := range []string{w.state, w.state + "/brainbox", w.runtime} {
		r := w.run(t, []string{"--ro", dir}, "true")
		if r.status != 125 || !strings.Contains(r.err, "with a bridge") {
			t.Errorf("--ro %s: %d %s", dir, r.status, r.err)
		}
	}
	if r := w.run(t, []string{"--ro", w.config}, "true"); r.status != 0 {
		t.Errorf("the control: %d %s", r.status, r.err)
	}
}

// TestProjectFileAddsNoBridge is TH-16: a checkout can have the gate ask and deny more, and
// nothing else.
func TestProjectFileAddsNoBridge(t *testing.T) {
	w := newBridgeWorld(t)
	project := w.dir + "/.brainbox.toml"
	for _, text := range []string{
		"[bridge]\nenvelope = \"x.json\"\n", "[bridge]\nroots = { up = \"..\" }\n",
		"[[gate.rule]]\nsurface = \"*\"\npattern = \"*\"\naction = \"allow\"\n", "[gate]\nallowed_tools = [\"bash\"]\n",
	} {
		must(t, os.WriteFile(project, []byte("version = 1\n"+text), 0o644))
		r := w.run(t, nil, "echo started")
		t.Run("esc/TH-16 "+strings.SplitN(text, "\n", 2)[0], func(t *testing.T) {
			if r.status != 125 || strings.Contains(r.out, "started") || !strings.Contains(r.err, ".brainbox.toml") {
				t.Errorf("%q: %d %s %s", text, r.status, r.out, r.err)
			}
		})
	}
	must(t, os.WriteFile(project, []byte("version = 1\n[[gate.rule]]\nsurface = \"path_write\"\npattern = \"*narrowed*\"\naction = \"deny\"\n"), 0o644))
	r := w.run(t, nil, "echo x | $B write narrowed; echo narrowed $?; echo x | $B write other; echo other $?")
	if !strings.Contains(r.out, "narrowed 1") || !strings.Contains(r.out, "other 0") {
		t.Errorf("%s\n%s", r.out, r.err)
	}
}

// TestBridgeHostDies: the run goes on, calls say so, and it is told once.
func TestBridgeHostDies(t *testing.T) {
	w := newBridgeWorld(t)
	cmd := w.command(nil, "sh", "-c", "B="+program("brainbox")+`
$B call host.pid >/dev/null && echo up
while [ ! -e killed ]; do sleep 0.05; done
$B call host.pid; echo call $?
echo x | $B write after; echo write $?`)
	out, errs := &syncBuffer{}, &syncBuffer{}
	cmd.Stdout, cmd.Stderr = out, errs
	must(t, cmd.Start())
	waitFor(t, "the run", func() bool { return strings.Contains(out.String(), "up") })
	hosts := w.hosts(t)
	if len(hosts) != 1 || !alive(hosts[0]) {
		t.Fatalf("hosts: %v", hosts)
	}
	must(t, unix.Kill(hosts[0], unix.SIGKILL))
	waitFor(t, "the notice", func() bool { return strings.Contains(errs.String(), "brainbox-host ended") })
	must(t, os.WriteFile(w.dir+"/killed", nil, 0o644))
	err := cmd.Wait()
	if err != nil || !strings.Contains(out.String(), "write") || strings.Contains(out.String(), "call 0") || strings.Contains(out.String(), "write 0") {
		t.Errorf("%v\n%s\n%s", err, out, errs)
	}
	if n := strings.Count(errs.String(), "brainbox-host ended"); n != 1 {
		t.Errorf("told %d times:\n%s", n, errs)
	}
	if _, err := os.Lstat(w.dir + "/after"); err == nil {
		t.Error("something was written without a host")
	}
	w.clean(t)
}

// TestBridgeBrainboxDies: nothing of the host is left.
func TestBridgeBrainboxDies(t *testing.T) {
	w := newBridgeWorld(t)
	cmd := w.command(nil, "sh", "-c", program("brainbox")+" call host.pid >/dev/null && echo up; exec sleep 60")
	out := &syncBuffer{}
	cmd.Stdout = out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	must(t, cmd.Start())
	waitFor(t, "the run", func() bool { return strings.Contains(out.String(), "up") })
	if hosts := w.hosts(t); len(hosts) != 1 || !alive(hosts[0]) {
		t.Fatalf("hosts: %v", hosts)
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	w.clean(t)
}

// askedWord is what has to be typed: it is another one each time.
var askedWord = regexp.MustCompile(`type ([a-z]+) to allow it once`)

// TestBridgeAsksOnTheTerminal: what the gate leaves to a person is asked there, and done or
// not as he says.
func TestBridgeAsksOnTheTerminal(t *testing.T) {
	w := newBridgeWorld(t)
	for _, allowed := range []bool{false, true} {
		p := newPTY(t)
		p.start(t, w.dir, w.command([]string{"--ask"}, "sh", "-c", program("brainbox")+" call host.other >/dev/null; echo status $?"))
		p.shows(t, "answer:")
		answer, want := "n", "status 1"
		if allowed {
			m := askedWord.FindStringSubmatch(p.seen.String())
			if m == nil {
				t.Fatalf("%q", p.seen)
			}
			answer, want = m[1], "status 0"
		}
		p.typed(t, answer+"\n")
		p.shows(t, want)
		if got := p.end(t); got != 0 {
			t.Errorf("status %d: %q", got, p.seen)
		}
	}
}

// TestBridgeByDescriptor: where a socket cannot be named, the program inherits a connection.
func TestBridgeByDescriptor(t *testing.T) {
	if inside() {
		t.Skip("isolation namespaces shows the socket by a name of its own") // gating: nothing to test there
	}
	w := newBridgeWorld(t)
	w.runtime += "/" + strings.Repeat("l", 90)
	must(t, os.Mkdir(w.runtime, 0o700))
	w.env = append(w.env, "XDG_RUNTIME_DIR="+w.runtime)
	r := w.run(t, nil, `echo fd $BRAINBOX_BRIDGE_FD socket "$BRAINBOX_SOCKET"
sh -c "$B call host.pid"; echo call $?
echo text | $B write f; echo write $?`)
	for _, want := range []string{"fd 3 socket \n", "call 0", "write 0", "from the host"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("without %q: %s\n%s", want, r.out, r.err)
		}
	}
	if got, err := os.ReadFile(w.dir + "/f"); err != nil || string(got) != "text\n" {
		t.Errorf("%q, %v", got, err)
	}
}
