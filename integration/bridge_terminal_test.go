package integration

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// asking starts a run on a terminal, by what is around it, and waits for its prompt.
func (w *bridgeWorld) asking(t *testing.T, around ...string) *pty {
	t.Helper()
	p := newPTY(t)
	p.size(t, 40, 200)
	cmd := w.command([]string{"--ask"}, "sh", "-c", program("brainbox")+" call host.other >/dev/null; echo ended $?")
	if len(around) > 0 {
		job := exec.Command(around[0], append(around[1:], cmd.Args...)...)
		job.Env, cmd = cmd.Env, job
	}
	cmd.Env = append(cmd.Env, "TERM=dumb")
	p.start(t, w.dir, cmd)
	p.shows(t, "answer:")
	return p
}

// TestAskKeys: ^C and ^Z typed at a prompt come to the job, as at any other time.
func TestAskKeys(t *testing.T) {
	w := newBridgeWorld(t)
	t.Run("^C", func(t *testing.T) {
		p := w.asking(t)
		p.typed(t, "\x03")
		if got := p.end(t); got != 130 {
			t.Errorf("status %d: %q", got, p.seen)
		}
		w.clean(t)
	})
	t.Run("^Z", func(t *testing.T) {
		p := w.asking(t, program("victim"), "job")
		p.typed(t, "\x1a")
		p.shows(t, "stopped")
		p.typed(t, "fg\n") // the small shell reads it
		p.shows(t, "continued")
		waitFor(t, "another prompt", func() bool { return strings.Count(p.seen.String(), "answer:") == 2 })
		p.typed(t, "n\n")
		p.shows(t, "ended 1")
		p.end(t)
		w.clean(t)
	})
}

// TestAskHostDies: a program that is held goes on when the one who had it held has died.
func TestAskHostDies(t *testing.T) {
	w := newBridgeWorld(t)
	p := w.asking(t)
	hosts := w.hosts(t)
	if len(hosts) != 1 {
		t.Fatalf("hosts: %v", hosts)
	}
	must(t, unix.Kill(hosts[0], unix.SIGKILL))
	p.shows(t, "brainbox-host ended")
	p.shows(t, "ended ")
	if got := p.end(t); got != 0 {
		t.Errorf("status %d: %q", got, p.seen)
	}
	w.clean(t)
}

// TestBridgeNothingIsBelieved: what the program could change for the next run is no envelope,
// and a folder that it was not given is no root that nobody has named.
func TestBridgeNothingIsBelieved(t *testing.T) {
	w := newBridgeWorld(t)
	text, err := os.ReadFile(w.config + "/bridge.json")
	must(t, err)
	must(t, os.WriteFile(w.dir+"/bridge.json", text, 0o600))
	cmd := exec.Command(program("brainbox"), boxArgs([]string{"--bridge", "bridge.json", "--allow-degraded", "protect"}, "echo", "started")...)
	cmd.Env = w.env
	if r := run(t, w.dir, cmd); r.status != 125 || !strings.Contains(r.err, "the bridge envelope in use") {
		t.Errorf("an envelope in the checkout: %d %s %s", r.status, r.out, r.err)
	}
	bare := w.config + "/bare.toml"
	must(t, os.WriteFile(bare, []byte("version = 1\nextends = [\"default\"]\n[filesystem.remove]\nwrite_exec = [\"@cwd\"]\n"), 0o600))
	if r := w.run(t, []string{"--policy", bare}, "$B call read_file '{\"path\":\"x\"}'"); r.status != 125 || !strings.Contains(r.err, "[bridge] roots") {
		t.Errorf("a root that nobody granted: %d %s %s", r.status, r.out, r.err)
	}
	if r := w.run(t, nil, "echo started"); r.status != 0 { // the control
		t.Errorf("%d %s", r.status, r.err)
	}
}
