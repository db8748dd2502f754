package integration

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brainbox/internal/needs"
)

// toldOf is what one event says, for a comparison.
func toldOf(e deniedEvent) string {
	target := e.Path
	if e.Port != 0 {
		target = itoa(e.Port)
	}
	if e.Event == "limit" {
		return "limit " + e.Clause
	}
	return strings.TrimSpace(e.Operation+" "+target) + " → " + e.Remedy.Flag
}

func python(t *testing.T, root, code string) []string {
	t.Helper()
	needs.Program(t, "python3")
	file := filepath.Join(root, "W", "code")
	must(t, os.WriteFile(file, []byte(pythonHead+code), 0o644))
	return []string{"python3", "-I", "-S", file}
}

// TestExplainBlamesNothingElse has a program fail for reasons of its own: nothing is told.
func TestExplainBlamesNothingElse(t *testing.T) {
	kernel(t)
	needs.Notify(t)
	root := explainRoot(t)
	w := filepath.Join(root, "W")
	must(t, os.Mkdir(filepath.Join(w, "dir"), 0o755))
	must(t, os.WriteFile(filepath.Join(w, "f"), []byte("text\n"), 0o644))
	must(t, os.Mkdir(filepath.Join(w, "full"), 0o755))
	must(t, os.WriteFile(filepath.Join(w, "full", "f"), nil, 0o644))
	must(t, os.WriteFile(filepath.Join(w, "closed"), nil, 0o000))
	code := `
tries('absent', lambda: open('none'))
tries('absent-outside', lambda: open('` + root + `/none'))
tries('absent-folder', lambda: open('/nowhere/at/all'))
tries('no-folder', lambda: open('f/x'))
tries('there', lambda: os.mkdir('dir'))
tries('there-already', lambda: open('f', 'x'))
tries('full', lambda: os.rmdir('.'))
tries('is-folder', lambda: open('dir', 'w'))
tries('not-empty', lambda: os.rmdir('full'))
tries('no-program', lambda: subprocess.check_call(['./none']))
tries('no-link', lambda: os.readlink('f'))
tries('remove-absent', lambda: os.unlink('none'))
tries('rename-absent', lambda: os.rename('none', 'other'))
`
	if os.Geteuid() != 0 {
		code += "tries('mode', lambda: open('closed'))\ntries('no-x', lambda: subprocess.check_call(['./f']))\n"
	}
	r, got := explainRun(t, w, []string{"--rw", w}, python(t, root, code)...)
	if strings.Contains(r.out, " ok\n") || strings.Count(r.out, " no\n") < 13 || r.status != 0 {
		t.Errorf("status %d, inside:\n%s", r.status, r.out)
	}
	for _, e := range got {
		t.Errorf("blamed: %s", toldOf(e))
	}
	// The positive control: the same run tells of what is a denial.
	must(t, os.WriteFile(filepath.Join(root, "f"), nil, 0o644))
	_, got = explainRun(t, w, []string{"--rw", w}, python(t, root, code+"tries('outside', lambda: open('"+root+"/f'))\n")...)
	if len(got) != 1 || got[0].Path != root+"/f" {
		t.Errorf("with one denial: %+v", got)
	}
}

// TestExplainPorts is for TCP, whose ports are what a policy has.
func TestExplainPorts(t *testing.T) {
	kernel(t)
	needs.Notify(t)
	root := explainRoot(t)
	w := filepath.Join(root, "W")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	must(t, err)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	_, other, err := net.SplitHostPort(free.Addr().String())
	must(t, err)
	must(t, free.Close())
	code := `
import socket
def connect(port): socket.socket().connect(('127.0.0.1', port))
def bind(port):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(('127.0.0.1', port))
tries('connect', lambda: connect(` + port + `))
tries('bind', lambda: bind(` + other + `))
`
	flags := []string{"--rw", w, "--net", "ports"}
	r, got := explainRun(t, w, flags, python(t, root, code)...)
	if inside() && r.status == 125 {
		t.Skipf("ports of the host need isolation landlock: %s", r.err)
	}
	var told []string
	for _, e := range got {
		told = append(told, toldOf(e))
	}
	want := []string{"connect " + port + " → --connect-tcp " + port, "bind " + other + " → --bind-tcp " + other}
	slices.Sort(told)
	slices.Sort(want)
	if !slices.Equal(told, want) || r.out != "connect no\nbind no\n" {
		t.Errorf("told of %q, want %q; inside %q\n%s", told, want, r.out, r.err)
	}
	r, got = explainRun(t, w, append(flags, "--connect-tcp", port, "--bind-tcp", other), python(t, root, code)...)
	if r.out != "connect ok\nbind ok\n" || len(got) != 0 {
		t.Errorf("with both: %q, %+v\n%s", r.out, got, r.err)
	}
}

// TestExplainKinds is for what is no ordinary file: an interpreter, a socket, a call that the
// filter refuses.
func TestExplainKinds(t *testing.T) {
	kernel(t)
	needs.Notify(t)
	root := explainRoot(t)
	w, o := filepath.Join(root, "W"), filepath.Join(root, "O")
	must(t, os.Mkdir(o, 0o755))
	l, err := net.Listen("unix", o+"/sock")
	must(t, err)
	defer l.Close()
	must(t, os.Chmod(o+"/sock", 0o666))
	// With no socket listed the filter refuses socket(2) itself, in isolation landlock.
	listed, err := net.Listen("unix", o+"/listed")
	must(t, err)
	defer listed.Close()
	shell, err := os.ReadFile("/bin/sh")
	must(t, err)
	must(t, os.WriteFile(o+"/interpreter", shell, 0o755))
	must(t, os.WriteFile(w+"/script", []byte("#!"+o+"/interpreter\nexit 0\n"), 0o755))
	code := `
import socket, ctypes
def unix(): socket.socket(socket.AF_UNIX).connect('` + o + `/sock')
def mount():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b'none', b'/mnt', b'tmpfs', 0, None): raise OSError(ctypes.get_errno(), 'mount')
tries('interpreter', lambda: subprocess.check_call(['./script']))
tries('unix', unix)
tries('mount', mount)
`
	flags := []string{"--rwx", w, "--unix", o + "/listed"}
	r, got := explainRun(t, w, flags, python(t, root, code)...)
	want := []string{"exec " + o + "/interpreter → --rox " + o + "/interpreter", "unix " + o + "/sock → --unix " + o + "/sock", "syscall → --seccomp FILE"}
	var told []string
	for _, e := range got {
		told = append(told, toldOf(e))
	}
	slices.Sort(told)
	slices.Sort(want)
	if !slices.Equal(told, want) || r.out != "interpreter no\nunix no\nmount no\n" {
		t.Errorf("told of %q, want %q; inside %q\n%s", told, want, r.out, r.err)
	}
	r, _ = explainRun(t, w, append(flags, "--rox", o+"/interpreter", "--unix", o+"/sock"), python(t, root, code)...)
	if r.out != "interpreter ok\nunix ok\nmount no\n" {
		t.Errorf("with what was suggested: %q\n%s", r.out, r.err)
	}
}

// TestExplainLimits has programs reach limits: each is told with the flag that raises it.
func TestExplainLimits(t *testing.T) {
	kernel(t)
	needs.Notify(t)
	root := explainRoot(t)
	w := filepath.Join(root, "W")
	for _, c := range []struct {
		name  string
		flags []string
		code  string
		want  string
	}{
		{"nofile", []string{"--nofile", "32"}, "keep = []\ndef more():\n    while True: keep.append(open('/dev/null'))\ntries('opens', more)\n", "--nofile 64"},
		{"fsize", []string{"--fsize", "4096"}, "import signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_DFL)\nopen('big', 'wb', 0).write(bytes(8192))\nopen('big', 'ab', 0).write(bytes(8192))\n", "--fsize 8192"},
		{"time", []string{"--timeout", "1s", "--kill-after", "1s"}, "import time\ntime.sleep(600)\n", "--timeout 2s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, got := explainRun(t, w, append([]string{"--rw", w}, c.flags...), python(t, root, c.code)...)
			if len(got) != 1 || got[0].Event != "limit" || got[0].Clause != c.name || got[0].Remedy.Flag != c.want {
				t.Errorf("told %+v, want %s\n%s%s", got, c.want, r.out, r.err)
			}
		})
	}
}
