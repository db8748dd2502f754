package integration

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// corpus is how many denials of the tables are told apart, each tried by a program of a language.
// There are more in the other tests.
const corpus = 107

// TestExplainCorpus counts them, so that none is lost unseen.
func TestExplainCorpus(t *testing.T) {
	n := 0
	for _, language := range languages {
		for _, d := range append(deeds(), special()...) {
			if d.code[language] != "" {
				n++
			}
		}
		if slices.Contains(readers, language) {
			n += len(changes(language))
		}
	}
	if n < corpus {
		t.Errorf("%d denials are tried, and %d were", n, corpus)
	}
}

// toldOnly compares what a run told of with what it should tell of, in any order.
func toldOnly(t *testing.T, r result, got []deniedEvent, want ...string) {
	t.Helper()
	var told []string
	for _, e := range got {
		if e.Certainty != "proven" {
			t.Errorf("%s: %s", toldOf(e), e.Certainty)
		}
		told = append(told, toldOf(e))
	}
	slices.Sort(told)
	slices.Sort(want)
	if !slices.Equal(told, want) {
		t.Errorf("told of %q,\nwant %q; inside %q\n%s", told, want, r.out, r.err)
	}
}

// ungranted finds a device that no policy grants by itself and that this user may open: it does
// nothing when it is opened for reading.
func ungranted(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"fuse", "net/tun", "autofs", "loop-control", "hwrng", "kvm"} {
		path := filepath.Join("/dev", name)
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err == nil {
			must(t, unix.Close(fd))
			return path
		}
	}
	t.Skip("needs: a device that is granted to nobody") // gating: internal/needs has no word for it
	return ""
}

// TestExplainDevices: a device is told as any file is.
func TestExplainDevices(t *testing.T) {
	kernel(t)
	needs.Notify(t)
	root := explainRoot(t)
	w, device := filepath.Join(root, "W"), ungranted(t)
	code := "tries('device', lambda: os.close(os.open('" + device + "', os.O_RDONLY | os.O_NONBLOCK)))\n" +
		"tries('null', lambda: os.close(os.open('/dev/null', os.O_RDWR)))\n"
	r, got := explainRun(t, w, []string{"--rw", w}, python(t, root, code)...)
	toldOnly(t, r, got, "read "+device+" → --ro "+device)
	if r.out != "device no\nnull ok\n" {
		t.Errorf("inside: %q", r.out)
	}
	r, got = explainRun(t, w, []string{"--rw", w, "--ro", device}, python(t, root, code)...)
	toldOnly(t, r, got)
	if r.out != "device ok\nnull ok\n" {
		t.Errorf("with what was suggested: %q\n%s", r.out, r.err)
	}
}

// TestExplainProc is for the kernel's own files: its settings, and those of processes.
func TestExplainProc(t *testing.T) {
	kernel(t)
	needs.Notify(t)
	root := explainRoot(t)
	w := filepath.Join(root, "W")
	const setting = "/proc/sys/vm/swappiness"
	code := `
tries('own', lambda: open('/proc/self/status'))
tries('none', lambda: open('/proc/self/nothing'))
tries('setting', lambda: os.close(os.open('` + setting + `', os.O_WRONLY)))
tries('score', lambda: os.close(os.open('/proc/%d/oom_score_adj' % os.getpid(), os.O_WRONLY)))
`
	r, got := explainRun(t, w, []string{"--rw", w}, python(t, root, code)...)
	if r.out != "own ok\nnone no\nsetting no\nscore no\n" {
		t.Errorf("inside: %q", r.out)
	}
	var told []string
	for _, e := range got {
		note := e.Remedy.Note
		told = append(told, e.Operation+" "+filepath.Base(e.Path)+" → "+e.Remedy.Flag+" ("+note+")")
	}
	const readOnly = "the program's own /proc is read-only"
	want := []string{"write oom_score_adj →  (it belongs to one process, whose number is another one the next time)"}
	if inside() {
		want[0] = "write oom_score_adj →  (" + readOnly + ")"
	}
	switch { // for an ordinary user the mode of the setting refuses it in any case
	case os.Geteuid() != 0:
	case inside():
		want = append(want, "write swappiness →  ("+readOnly+")")
	default:
		want = append(want, "write swappiness → --rw "+setting+" (it changes the whole host's kernel)")
	}
	slices.Sort(told)
	slices.Sort(want)
	if !slices.Equal(told, want) {
		t.Errorf("told of %q,\nwant %q\n%s", told, want, r.err)
	}
}

// TestExplainBesideFile: a file that is granted alone cannot be replaced. What is suggested is
// its folder, and the note says why.
func TestExplainBesideFile(t *testing.T) {
	kernel(t)
	needs.Notify(t)
	needs.Program(t, "git")
	for _, c := range []struct {
		name, made string
		command    []string
	}{
		{"lock", "config.lock", []string{"git", "config", "-f", "{O}/config", "a.b", "c"}},
		{"temporary", "config.tmp", []string{"sh", "-c", "echo x >{O}/config.tmp && mv {O}/config.tmp {O}/config"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := explainRoot(t)
			w, o := filepath.Join(root, "W"), filepath.Join(root, "O")
			must(t, os.Mkdir(o, 0o755))
			must(t, os.WriteFile(o+"/config", nil, 0o644))
			var command []string
			for _, word := range c.command {
				command = append(command, strings.ReplaceAll(word, "{O}", o))
			}
			r, got := explainRun(t, w, []string{"--rw", w, "--rw", o + "/config"}, command...)
			toldOnly(t, r, got, "create "+o+"/"+c.made+" → --rw "+o)
			if r.status == 0 || len(got) == 1 && !strings.Contains(got[0].Remedy.Note, "grant the folder") {
				t.Errorf("status %d, %+v", r.status, got)
			}
			r, got = explainRun(t, w, []string{"--rw", w, "--rw", o}, command...)
			toldOnly(t, r, got)
			if r.status != 0 {
				t.Errorf("with what was suggested: %d\n%s", r.status, r.err)
			}
		})
	}
}

const socketCode = `
import socket
def make(family, kind=socket.SOCK_STREAM): socket.socket(getattr(socket, family), kind).close()
`

// TestExplainSockets: where the filter refuses the socket itself, its family says what to do.
func TestExplainSockets(t *testing.T) {
	kernel(t)
	needs.Notify(t)
	root := explainRoot(t)
	w := filepath.Join(root, "W")
	code := socketCode + `
tries('unix', lambda: make('AF_UNIX'))
tries('tcp6', lambda: make('AF_INET6'))
tries('tcp', lambda: make('AF_INET'))
tries('udp', lambda: make('AF_INET', socket.SOCK_DGRAM))
tries('alg', lambda: make('AF_ALG', socket.SOCK_SEQPACKET))
tries('pair', lambda: socket.socketpair())
tries('lookup', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(('127.0.0.1', 53)))
`
	const byName = "--net proxy --allow-host NAME"
	r, got := explainRun(t, w, []string{"--rw", w}, python(t, root, code)...)
	if inside() {
		toldOnly(t, r, got, "connect 53 → "+byName, "syscall → --seccomp FILE")
		return
	}
	toldOnly(t, r, got, "syscall → --unix PATH", "syscall → --net ports --connect-tcp PORT",
		"syscall → --isolation namespaces "+byName, "syscall → --seccomp FILE")
	if want := "unix no\ntcp6 no\ntcp no\nudp no\nalg no\npair ok\nlookup no\n"; r.out != want {
		t.Errorf("inside: %q", r.out)
	}
	for _, e := range got {
		if strings.HasPrefix(e.Remedy.Flag, "--net ports") && e.Count != 2 {
			t.Errorf("both families of the Internet: %+v", e)
		}
	}
	// What they stand for opens them.
	l, err := net.Listen("unix", filepath.Join(root, "sock"))
	must(t, err)
	defer l.Close()
	r, got = explainRun(t, w, []string{"--rw", w, "--unix", filepath.Join(root, "sock"), "--net", "ports", "--connect-tcp", "1"}, python(t, root, code)...)
	toldOnly(t, r, got, "syscall → --dns host", "syscall → --seccomp FILE")
	if want := "unix ok\ntcp6 ok\ntcp ok\nudp no\nalg no\npair ok\nlookup no\n"; r.out != want {
		t.Errorf("with --unix and --net ports: %q", r.out)
	}
}

// TestExplainHosts: a name that is not listed is told with the flag that lists it.
func TestExplainHosts(t *testing.T) {
	proxied(t)
	needs.Notify(t)
	p, root := newProxyWorld(t), explainRoot(t)
	w := filepath.Join(root, "W")
	code := fmt.Sprintf(`
import urllib.request
for host in ('ok', 'denied', 'denied'):
    tries(host, lambda: urllib.request.urlopen('http://%%s.test:%s/' %% host, timeout=60).read())
`, p.web.port)
	flags := append(p.usual(), "--rw", w)
	r, got := explainRun(t, w, flags, python(t, root, code)...)
	if len(got) != 1 || got[0].Host != "denied.test" || got[0].Operation != "host" || itoa(got[0].Port) != p.web.port ||
		got[0].Remedy.Flag != "--allow-host denied.test:"+p.web.port || got[0].Count != 2 || got[0].Certainty != "proven" {
		t.Errorf("told: %+v\n%s", got, r.err)
	}
	if r.out != "ok ok\ndenied no\ndenied no\n" {
		t.Errorf("inside: %q\n%s", r.out, r.err)
	}
	r, got = explainRun(t, w, append(flags, "--allow-host", "denied.test:"+p.web.port), python(t, root, code)...)
	if r.out != "ok ok\ndenied ok\ndenied ok\n" || len(got) != 0 {
		t.Errorf("with what was suggested: %q, %+v\n%s", r.out, got, r.err)
	}
}

// readOnlyRights are what is missing where the program sees a folder and may not change it. In
// namespaces it is the mount that is in the way.
func readOnlyRights(d *deed) []string {
	switch {
	case !inside():
		return strings.Fields(d.right)
	case d.op == "exec":
		return []string{"execute"}
	}
	return []string{"write_file"}
}

// readers are the languages of TestExplainReadOnly.
var readers = []string{"sh", "python", "c"}

// changes are the deeds that need more than reading.
func changes(language string) []deed {
	return slices.DeleteFunc(deeds(), func(d deed) bool { return d.code[language] == "" || d.op == "read" })
}

// TestExplainReadOnly has everything granted for reading: what changes something is told with
// the right that it needs, in both isolations.
func TestExplainReadOnly(t *testing.T) {
	kernel(t)
	needs.Notify(t)
	for _, language := range readers {
		t.Run(language, func(t *testing.T) {
			list, root := changes(language), explainRoot(t)
			needLanguage(t, root, language)
			at := folders(t, root, list)
			dir := filepath.Join(root, "W")
			grants := []string{"--rwx", dir}
			for i := range list {
				grants = append(grants, "--ro", at(&list[i]))
			}
			r, got := explainRun(t, dir, grants, deedCommand(t, root, language, deedText(language, list, at))...)
			for i := range list {
				d, in := &list[i], func(s string) string { return strings.ReplaceAll(s, "{D}", at(&list[i])) }
				n := slices.IndexFunc(got, func(e deniedEvent) bool { return e.Operation == d.op && e.Path == in(d.path) && e.Dest == in(d.dest) })
				if n < 0 {
					t.Errorf("%s: not told", d.name)
					continue
				}
				e, note, flag := got[n], "", in(d.flag)
				if flag == "--rw "+at(d) { // the entry for the folder would win
					flag, note = "", flag+" in its place"
				}
				if !slices.Contains(readOnlyRights(d), e.Right) || e.Remedy.Flag != flag || !strings.HasSuffix(e.Remedy.Note, note) ||
					e.Certainty != "proven" || e.Count != 1 {
					t.Errorf("%s: %+v", d.name, e)
				}
				got = slices.Delete(got, n, n+1)
			}
			if len(got) > 0 || strings.Contains(r.out, " ok\n") || t.Failed() {
				t.Errorf("besides: %+v\ninside:\n%s\n%s", got, r.out, r.err)
			}
		})
	}
}
