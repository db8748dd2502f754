package integration

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// attacks are scripts that lie in the repository, as an agent's own would.
func attacks(repo string) map[string]string {
	return map[string]string{
		"nested.sh": "w=; t=" + repo + "/policy/nested\n" +
			"sh -c \"echo x >$t\" 2>/dev/null && w=$w.shell\n" +
			"(echo x >$t) 2>/dev/null & wait $! && w=$w.job\n" +
			"perl -e 'open(F,\">>\",$ARGV[0]) or exit 1; print F \"x\"' $t 2>/dev/null && w=$w.perl\n" +
			"printf '#!/bin/sh\\necho x >%s\\n' $t >$BRAINBOX_SCRATCH/s && chmod +x $BRAINBOX_SCRATCH/s && $BRAINBOX_SCRATCH/s 2>/dev/null && w=$w.script\n" +
			"[ -z \"$w\" ] && echo nothing || echo written$w\n",
		"cli.sh": "echo x >" + repo + "/policy/cli\n",
		"ext.sh": "echo first >" + repo + "/policy/ext 2>$BRAINBOX_SCRATCH/ext.log; echo ran >>$BRAINBOX_SCRATCH/ext.log\n",
	}
}

// attackWorld is a repository with everything that the rows aim at, and a host whose own
// processes hold the protected file.
func attackWorld(t *testing.T) (*workerWorld, *listeners, *canary) {
	t.Helper()
	w := newWorkerWorld(t)
	for _, name := range []string{"write", "append", "truncate", "unlink", "rename", "chmod", "nested", "cli", "ext"} {
		must(t, os.WriteFile(filepath.Join(w.repo, "policy", name), []byte(policyText), 0o644))
	}
	must(t, os.Mkdir(filepath.Join(w.repo, "moved"), 0o755))
	must(t, os.Mkdir(filepath.Join(w.repo, "attack"), 0o755))
	for name, text := range attacks(w.repo) {
		must(t, os.WriteFile(filepath.Join(w.repo, "attack", name), []byte("#!/bin/sh\n"+text), 0o755))
	}
	must(t, os.WriteFile(filepath.Join(w.repo, "attack/cli.sh"), []byte(attacks(w.repo)["cli.sh"]), 0o755))
	suid, err := os.ReadFile(program("victim"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(w.repo, "suid"), suid, 0o755))
	if os.Geteuid() == 0 {
		must(t, os.Chown(filepath.Join(w.repo, "suid"), 12345, 12345))
		must(t, unix.Chmod(filepath.Join(w.repo, "suid"), 0o6755))
	}
	l, c := listen(t, w.vars["O"]), newCanary(t)
	for name, value := range l.vars {
		w.vars[name] = value
	}
	inRepo(t, w, l)
	w.vars["PID"], w.vars["ADDR"] = fmt.Sprint(c.pid), fmt.Sprint(c.address)
	return w, l, c
}

// inRepo serves a socket in the repository. Its path is made short by a link.
func inRepo(t *testing.T, w *workerWorld, l *listeners) {
	t.Helper()
	short, err := os.MkdirTemp("", "bb-") //nolint:usetesting // a socket's path has 107 bytes
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(short) })
	must(t, os.Symlink(w.repo, short+"/r"))
	ln, err := net.Listen("unix", short+"/r/work/sock")
	must(t, err)
	ln.(*net.UnixListener).SetUnlinkOnClose(false)
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			l.got.Add(1)
			_ = conn.Close()
		}
	}()
}

// matches reports whether an answer begins with one of those that are wanted.
func (r *workerRow) holds(w *workerWorld, answer string) bool {
	return slices.ContainsFunc(r.want, func(want string) bool { return strings.HasPrefix(answer, w.fill(want)) })
}

func (r *workerRow) isRed(w *workerWorld, answer string) bool {
	if r.red == "" {
		return strings.HasPrefix(answer, "ok") && !r.holds(w, answer)
	}
	return strings.HasPrefix(answer, w.fill(r.red))
}

// TestWorkerMatrix makes the attacks of all rows on an unbroken worker, one after the other,
// and looks at the outside. The positive control is in the same worker: scratch works. That
// each row can be red shows TestWorkerMutations.
func TestWorkerMatrix(t *testing.T) {
	w, l, c := attackWorld(t)
	calm := c.state(t)
	s := w.start(t, hostConfig{Worker: w.worker(), Held: w.vars["P"]})
	s.ask(t, "cwd") // it runs: the probe's own traces are TestWorkerProbe's business
	before := w.manifest(t)
	w.vars["HOST"] = fmt.Sprint(s.cmd.Process.Pid)
	for _, r := range workerRows() {
		if r.root && os.Geteuid() != 0 && r.id == "bk/M48" {
			continue // there is no file of another user that an ordinary one could make
		}
		t.Run(r.id+" "+r.name, func(t *testing.T) {
			if got := s.ask(t, w.fill(r.attempt)); !r.holds(w, got) {
				t.Errorf("%s: %q, want one of %q", w.fill(r.attempt), got, r.want)
			}
		})
	}
	if got := s.ask(t, w.fill("write {S}/control 0x40 x ; read {S}/control")); got != `ok "x"` {
		t.Errorf("control: scratch: %q", got)
	}
	s.done()
	if diff := cmp.Diff(before, w.manifest(t)); diff != "" {
		t.Errorf("the outside (-before +after):\n%s", diff)
	}
	if n := l.got.Load(); n != 0 {
		t.Errorf("%d connections or datagrams came out", n)
	}
	if got := c.state(t); got != calm {
		t.Errorf("the canary is %q, was %q", got, calm)
	}
}

// TestWorkerMutations leaves out the layers of each row: all of them, and the row is red; one
// of them, and the others still hold it. So a row that is held by two layers shows both.
func TestWorkerMutations(t *testing.T) {
	type group struct {
		layers []string
		all    []*workerRow // must be red
		one    []*workerRow // must hold
	}
	var groups []*group
	at := func(layers []string) *group {
		for _, g := range groups {
			if slices.Equal(g.layers, layers) {
				return g
			}
		}
		groups = append(groups, &group{layers: layers})
		return groups[len(groups)-1]
	}
	rows := workerRows()
	for i := range rows {
		r := &rows[i]
		if len(r.layers) == 0 || r.root && os.Geteuid() != 0 {
			continue
		}
		g := at(r.layers)
		g.all = append(g.all, r)
		alone := r.alone
		if alone == nil && len(r.layers) > 1 {
			for _, layer := range r.layers {
				alone = append(alone, []string{layer})
			}
		}
		for _, layers := range alone {
			g := at(layers)
			g.one = append(g.one, r)
		}
	}
	for _, g := range groups {
		t.Run(strings.Join(g.layers, ","), func(t *testing.T) {
			w, _, _ := attackWorld(t)
			s := w.start(t, hostConfig{Worker: w.worker(), Held: w.vars["P"], mutations: append([]string{"skip-probe"}, g.layers...)})
			w.vars["HOST"] = fmt.Sprint(s.cmd.Process.Pid)
			if first := s.ask(t, "cwd"); strings.HasPrefix(first, `{"class":`) {
				// Without these layers nothing starts at all.
				t.Log(readRefusal(t, first).Requirement)
				for _, r := range g.all {
					t.Errorf("%s %s: the row cannot be red without %v: no worker starts", r.id, r.name, g.layers)
				}
				return
			}
			for _, r := range g.one {
				if got := s.ask(t, w.fill(r.attempt)); !r.holds(w, got) {
					t.Errorf("%s %s: %q without %v, want one of %q: the other layers do not hold it", r.id, r.name, got, g.layers, r.want)
				}
			}
			for _, r := range g.all {
				if got := s.ask(t, w.fill(r.attempt)); !r.isRed(w, got) {
					t.Errorf("%s %s: %q without %v: the row cannot be red", r.id, r.name, got, g.layers)
				}
			}
		})
	}
}
