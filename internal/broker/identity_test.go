package broker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brainbox/internal/needs"
	"brainbox/seccomp"
)

// The server sees the program's user, group and groups, and the file's mode is judged for
// them: root's supervisor lends nothing.
func TestServerSeesTheProgram(t *testing.T) {
	needs.Root(t)
	id := &Identity{UID: 61000, GID: 61001, Groups: []uint32{61002, 61003}}
	dir := folder(t)
	in := func(name string) string { return filepath.Join(dir, name) }
	serve(t, "unix", in("open"))
	closed, ofGroup := serve(t, "unix", in("closed")), serve(t, "unix", in("group"))
	must(t, os.Chmod(in("closed"), 0o700))
	must(t, os.Chmod(in("group"), 0o770))
	must(t, os.Lchown(in("group"), 0, 61003))
	must(t, os.Mkdir(in("private"), 0o700))
	hidden := serve(t, "unix", in("private/hidden"))
	sockets := []Socket{listed(t, in("open")), listed(t, in("closed")), listed(t, in("group")), listed(t, in("private/hidden"))}
	p := start(t, Config{Sockets: sockets, Identity: id}, seccomp.NetNone, "connect",
		"stream "+in("open"), "nonblock "+in("open"), "stream "+in("closed"), "stream "+in("private/hidden"), "stream "+in("group"))
	who := "61000:61001:[61002 61003]"
	for _, want := range []string{"open " + who, "open " + who, "EACCES", "EACCES", "group " + who} {
		if got := p.line(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if closed.count()+hidden.count() != 0 || ofGroup.count() != 1 {
		t.Errorf("closed, hidden, group saw %d, %d, %d", closed.count(), hidden.count(), ofGroup.count())
	}
	// No thread of this process is one that the program could signal.
	tasks, err := os.ReadDir("/proc/self/task")
	must(t, err)
	for _, task := range tasks {
		text, err := os.ReadFile("/proc/self/task/" + task.Name() + "/status")
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(text), "\nUid:")
		ids := strings.Fields(strings.SplitN(rest, "\n", 2)[0])
		if len(ids) != 4 || ids[0] != "0" || ids[2] != "0" {
			t.Errorf("thread %s has ids %v, want real and saved 0", task.Name(), ids)
		}
	}
}

// Root's program without another identity has no capability, and neither has the broker's
// thread when it acts for it.
func TestRootsProgramHasNoCapability(t *testing.T) {
	needs.Root(t)
	dir := folder(t)
	at := filepath.Join(dir, "other")
	s := serve(t, "unix", at)
	must(t, os.Lchown(at, 61000, 61000))
	must(t, os.Chmod(at, 0o700))
	p := start(t, Config{Sockets: []Socket{listed(t, at)}}, seccomp.NetNone, "connect", "stream "+at)
	if got := p.line(); got != "EACCES" || s.count() != 0 {
		t.Errorf("%s, %d connections; want EACCES, as without CAP_DAC_OVERRIDE", got, s.count())
	}
	if got := launch(t, nil, nil, "connect", []string{"stream " + at}).line(); got != "EACCES" { // the kernel says the same
		t.Errorf("without a broker: %s", got)
	}
}
