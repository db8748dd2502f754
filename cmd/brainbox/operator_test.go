package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/bridge/audit"
	"brainbox/bridge/bridgetest"
	"brainbox/bridge/client"
	"brainbox/gate/event"
	"brainbox/internal/state"
	"brainbox/internal/strictjson"
)

// operated is a real session, and the environment of its operator.
type operated struct {
	t    *testing.T
	real *bridgetest.Real
	env  map[string]string
}

func newOperated(t *testing.T) *operated {
	t.Helper()
	o := &operated{t: t, real: bridgetest.StartRealWaiting(t, `[]`, time.Minute), env: map[string]string{
		"XDG_STATE_HOME": t.TempDir(), "XDG_RUNTIME_DIR": t.TempDir(), "HOME": t.TempDir(), "TMPDIR": t.TempDir(),
	}}
	for name, value := range o.env {
		t.Setenv(name, value)
	}
	d, err := state.Open(o.env["XDG_STATE_HOME"] + "/brainbox")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	key, err := os.ReadFile(o.real.KeyFile)
	if err == nil {
		err = os.WriteFile(d.KeyFile(), key, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// run runs one verb on the session.
func (o *operated) run(args ...string) (status int, out, errs string) {
	o.t.Helper()
	var stdout, stderr bytes.Buffer
	status = Main(append([]string{"brainbox", args[0], "--socket", o.real.UI}, args[1:]...), &stdout, &stderr)
	return status, stdout.String(), stderr.String()
}

// asks has an agent ask a person.
func (o *operated) asks(value string) <-chan client.Said {
	o.t.Helper()
	agent, err := client.Open(o.t.Context(), client.Options{Socket: o.real.Agent})
	if err != nil {
		o.t.Fatal(err)
	}
	said := make(chan client.Said, 1)
	go func() {
		s, _ := agent.Prompt(context.Background(), client.Question{Surface: "bash", Value: value, Message: "hurry\x1b[2J"})
		said <- s
		_ = agent.Close()
	}()
	return said
}

var promptID = regexp.MustCompile(`perm-[-0-9a-f]{36}`)

// listed waits for a prompt and returns its id and what is shown of it.
func (o *operated) listed() (id, shown string) {
	o.t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		status, out, errs := o.run("approve", "--list")
		if status != 0 || errs != "" {
			o.t.Fatalf("status %d, %q", status, errs)
		}
		if id := promptID.FindString(out); id != "" {
			return id, out
		}
	}
	o.t.Fatal("nothing is asked")
	return "", ""
}

func TestApproveListAndDeny(t *testing.T) {
	o := newOperated(t)
	said := o.asks("npm publish")
	id, shown := o.listed()
	if !strings.Contains(shown, "npm publish") || !strings.Contains(shown, "hurry") || strings.Contains(shown, "\x1b") {
		t.Errorf("shown: %q", shown)
	}
	if status, _, errs := o.run("approve", "--deny", "perm-1"); status != 125 || !strings.Contains(errs, "hint") {
		t.Errorf("another id: status %d, %q", status, errs)
	}
	if status, out, errs := o.run("approve", "--deny", id); status != 0 || out+errs != "" {
		t.Errorf("status %d, %q %q", status, out, errs)
	}
	select {
	case s := <-said:
		if s.Approved {
			t.Errorf("%+v", s)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("nobody has answered")
	}
	if status, out, errs := o.run("approve", "--grants"); status != 0 || out+errs != "" {
		t.Errorf("grants: status %d, %q %q", status, out, errs)
	}
	if status, _, errs := o.run("approve", "--revoke", "1"); status != 125 || !strings.Contains(errs, "no approval") {
		t.Errorf("revoke: status %d, %q", status, errs)
	}
}

func TestEventsOfASession(t *testing.T) {
	o := newOperated(t)
	for _, r := range []event.Resolution{event.PolicyAllow, event.PolicyDeny} {
		o.real.Hub.Begin(event.Request{Surface: "bash", Value: "ls\x1b[2J"}).Decide(event.Verdict{Resolution: r, MatchedPattern: "ls *", Origin: "project"})
	}
	status, out, errs := o.run("events")
	if status != 0 || errs != "" || !strings.Contains(out, `allow bash ls\x1b[2J (policy_allow, rule ls * of project)`) || !strings.Contains(out, "deny bash") {
		t.Errorf("status %d, %q %q", status, out, errs)
	}
	status, out, _ = o.run("events", "--json", "--since", "0")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for _, line := range lines {
		v, err := strictjson.Decode([]byte(line), strictjson.Limits{})
		if err != nil || v.Get("seq") == nil || v.Get("data") == nil {
			t.Errorf("%q: %v", line, err)
		}
	}
	if status != 0 || len(lines) < 2 {
		t.Errorf("status %d, %q", status, out)
	}
	if _, out, _ := o.run("events", "--since", "1000000"); strings.Count(out, "deny bash") != 1 { // of another hub: all of this one
		t.Errorf("%q", out)
	}
	for _, bad := range [][]string{{"events", "--since", "x"}, {"events", "FILE"}, {"events", "--head", "x"}, {"approve", "x"}, {"approve", "--list", "--grants"}, {"approve", "--session", "00c0ffee"}} {
		if status, out, _ := o.run(bad...); status != 125 || out != "" {
			t.Errorf("%q: status %d, %q", bad, status, out)
		}
	}
}

func TestNoSession(t *testing.T) {
	o := newOperated(t)
	for _, verb := range []string{"events", "approve"} {
		for _, args := range [][]string{{verb, "--list"}, {verb, "--session", "00c0ffee", "--list"}, {verb, "--session", "x", "--list"}} {
			if verb == "events" {
				args = args[:len(args)-1]
			}
			var out, errs bytes.Buffer
			if status := Main(append([]string{"brainbox"}, args...), &out, &errs); status != 125 || out.Len() > 0 || !strings.HasPrefix(errs.String(), "brainbox: ") {
				t.Errorf("%q: status %d, %q %q", args, status, out.String(), errs.String())
			}
		}
	}
	if err := os.Chmod(o.env["XDG_STATE_HOME"]+"/brainbox/operator.key", 0o644); err != nil {
		t.Fatal(err)
	}
	if status, _, errs := o.run("approve", "--list"); status != 125 || !strings.Contains(errs, "read or changed by others") {
		t.Errorf("status %d, %q", status, errs)
	}
}

func TestEventsOfTheAuditFile(t *testing.T) {
	o := newOperated(t)
	d, err := state.Open(o.env["XDG_STATE_HOME"] + "/brainbox")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	l, err := audit.Open(audit.Options{Dir: d, Session: "s1"})
	if err == nil {
		err = errors.Join(l.Put(audit.Effect, strictjson.Object(strictjson.Pair("tool", strictjson.Text("write_file")), strictjson.Pair("__proto__", strictjson.Null()))), l.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	_, head := l.Head()
	file := d.Path() + "/" + audit.Name
	run := func(args ...string) (int, string) {
		var out, errs bytes.Buffer
		status := Main(append([]string{"brainbox", "events"}, args...), &out, &errs)
		return status, out.String() + errs.String()
	}
	for _, args := range [][]string{{"--verify"}, {"--verify", file}, {"--verify", "--head", head.String()}, {"--verify", "--audit", file}} {
		if status, out := run(args...); status != 0 || !strings.Contains(out, "3 lines, the chain holds; the last is 3, "+head.String()) {
			t.Errorf("%q: status %d, %q", args, status, out)
		}
	}
	if status, out := run("--audit", file); status != 0 || !strings.Contains(out, `2 s1 effect {"tool":"write_file","__proto__":null}`) {
		t.Errorf("status %d, %q", status, out)
	}
	if status, out := run("--audit", file, "--json"); status != 0 || strings.Count(out, "\n") != 3 { // no key hides a line
		t.Errorf("status %d, %q", status, out)
	}
	if status, out := run("--verify", "--head", strings.Repeat("1", 64)); status != 1 || !strings.Contains(out, "cut: ") {
		t.Errorf("status %d, %q", status, out)
	}
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, bytes.Replace(text, []byte("write_file"), []byte("read_file"), 1), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if status, out := run("--verify"); status != 1 || !strings.Contains(out, "line 2, byte ") || !strings.Contains(out, "changed") {
		t.Errorf("status %d, %q", status, out)
	}
	if status, out := run("--verify", "--json"); status != 1 || !strings.Contains(out, `"ok":false`) {
		t.Errorf("status %d, %q", status, out)
	}
	if err := unix.Mkfifo(file+".fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--verify", file + ".fifo"}, {"--verify", file + ".none"}, {"--verify", "--head", "x"}, {"--verify", file, file}, {"--audit", "/dev/zero"}} {
		if status, out := run(args...); status != 125 {
			t.Errorf("%q: status %d, %q", args, status, out)
		}
	}
}

// TestApproveOnATerminal answers a prompt of a real session with the word, on a real terminal.
func TestApproveOnATerminal(t *testing.T) {
	o := newOperated(t)
	bin, master, slave := terminal(t)
	cmd := exec.CommandContext(t.Context(), bin, "approve", "--socket", o.real.UI)
	cmd.Env = os.Environ()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	if err := errors.Join(cmd.Start(), slave.Close(), master.SetReadDeadline(time.Now().Add(60*time.Second))); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	see := func(want string) string {
		t.Helper()
		var all []byte
		b := make([]byte, 1)
		for !strings.Contains(string(all), want) {
			if _, err := master.Read(b); err != nil {
				t.Fatalf("the terminal shows %q: %v", all, err)
			}
			all = append(all, b...)
		}
		return string(all)
	}
	see("waiting for what session")
	for range 2 {
		said := o.asks("npm publish")
		m := regexp.MustCompile(`type ([a-z]{4}) `).FindStringSubmatch(see("answer: "))
		if m == nil {
			t.Fatal("no word")
		}
		if _, err := master.WriteString(m[1] + "\n"); err != nil {
			t.Fatal(err)
		}
		if s := <-said; !s.Approved {
			t.Errorf("%+v", s)
		}
	}
	if _, err := master.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("^C: %v", err)
	}
}
