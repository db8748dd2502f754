package integration

import (
	"net"
	"path/filepath"
	"strings"
	"testing"

	"brainbox/internal/needs"

	"golang.org/x/sys/unix"
)

// port is the last part of an address.
func port(t *testing.T, address string) string {
	t.Helper()
	_, p, err := net.SplitHostPort(address)
	must(t, err)
	return p
}

// TestNetworkPorts is esc/NW-14 and what of area J still holds when one port is
// granted: no other port, no other protocol, no way round the port rule.
func TestNetworkPorts(t *testing.T) {
	kernel(t)
	needs.LandlockABI(t, 4) // else ports are refused
	w := newWorld(t)
	granted := listen(t, w.dir("O")).vars["TCP4"]
	inside := w.box(t, "--net", "ports", "--connect-tcp", port(t, granted))
	outside := bare(t, w.dir("W"))
	const v4, stream, dgram, mptcp = unix.AF_INET, unix.SOCK_STREAM, unix.SOCK_DGRAM, 262
	fastOpen := call(unix.SYS_SENDTO, "$1", "s:x", 1, unix.MSG_FASTOPEN, "in4:{TCP4}", "#")
	bind := call(unix.SYS_BIND, "$1", "in4:127.0.0.1:0", "#")
	any := row{}
	for name, attempt := range map[string]string{
		"esc/NW-01 another port":                 then(socket(v4, stream, 0), connect("in4:{TCP4}")),
		"esc/NW-01 another port of v6":           then(socket(unix.AF_INET6, stream, 0), connect("in6:{TCP6}")),
		"esc/NW-03 MPTCP":                        then(socket(v4, stream, mptcp), connect("in4:{TCP4}")),
		"esc/NW-03 MPTCP to the granted port":    then(socket(v4, stream, mptcp), connect("in4:"+granted)),
		"esc/NW-04 fast open to another port":    then(socket(v4, stream, 0), fastOpen),
		"esc/NW-06 UDP":                          then(socket(v4, dgram, 0), sendTo("in4:{UDP4}")),
		"esc/NW-09 bind":                         then(socket(v4, stream, 0), bind),
		"esc/NW-10 listen without bind":          then(socket(v4, stream, 0), call(unix.SYS_LISTEN, "$1", 1)),
		"esc/NW-11 MPTCP bind":                   then(socket(v4, stream, mptcp), bind),
		"esc/IP-03 a socket by path, with ports": then(socket(unix.AF_UNIX, stream, 0), connect("un:{UNIX}")),
	} {
		t.Run(name, func(t *testing.T) {
			attempt := w.fill(any, attempt)
			if got := inside.ask(t, attempt); !strings.HasPrefix(got, "errno E") || hit(got, errnos("ECONNREFUSED", "EINVAL")) {
				t.Errorf("%q = %q, want a refusal", attempt, got)
			}
			if w.net.got.Load() != 0 {
				t.Errorf("something arrived outside")
			}
		})
		if got := inside.ask(t, then(socket(v4, stream, 0), connect("in4:"+granted))); !hit(got, []string{"ok"}) {
			t.Errorf("control: the granted port: %q", got)
		}
	}
	for _, use := range []string{fastOpen, call(unix.SYS_LISTEN, "$1", 1)} {
		attempt := w.fill(any, then(socket(v4, stream, 0), use))
		if got := outside.ask(t, attempt); !hit(got, []string{"ok"}) {
			t.Errorf("control: %q outside: %q", attempt, got)
		}
	}
}

// TestWhyAgrees is esc/LA-17: what brainbox why says is what the kernel does, for the
// same path and the same operation.
func TestWhyAgrees(t *testing.T) {
	kernel(t)
	w := newWorld(t)
	r := row{id: "LA-17", name: "why"}
	w.layout(t, row{id: r.id, name: r.name, attempt: "{O}{R}{W}{X}"})
	flags := []string{"--isolation", isolation, "--ro", w.dir("R"), "--rw", w.dir("X"), "--rox", bin}
	inside := w.box(t)
	attempts := map[string]string{}
	for _, zone := range zones {
		file := filepath.Join(w.at(r, zone), "f")
		attempts["read "+file] = openat(file, unix.O_RDONLY)
		attempts["write "+file] = openat(file, unix.O_WRONLY)
		attempts["exec "+filepath.Join(w.at(r, zone), "prog")] = "run " + filepath.Join(w.at(r, zone), "prog")
	}
	to := func(family int, address string) string {
		return then(socket(family, unix.SOCK_STREAM, 0), connect(address))
	}
	attempts["connect "+port(t, w.net.vars["TCP4"])] = to(unix.AF_INET, "in4:{TCP4}")
	attempts["unix "+w.net.vars["UNIX"]] = to(unix.AF_UNIX, "un:{UNIX}")
	attempts["syscall ptrace"] = fork(call(unix.SYS_PTRACE, unix.PTRACE_SEIZE, "{PID}", 0, 0))
	attempts["syscall getppid"] = call(unix.SYS_GETPPID)
	attempts["syscall io_uring_setup"] = call(unix.SYS_IO_URING_SETUP, 1, "buf:120")
	attempts["env LANG"], attempts["env GITHUB_TOKEN"] = "", ""
	for question, attempt := range attempts {
		t.Run(question, func(t *testing.T) {
			args := append([]string{"why"}, flags...)
			cmd := boxed(nil)
			cmd.Args = append([]string{"brainbox"}, append(args, strings.Fields(question)...)...)
			said := run(t, w.dir("W"), cmd)
			if said.status > 1 {
				t.Fatalf("why %s: status %d: %s%s", question, said.status, said.out, said.err)
			}
			did := strings.Contains(question, "LANG")
			if attempt != "" {
				did = hit(inside.ask(t, w.fill(r, attempt)), []string{"ok"})
			}
			if did != (said.status == 0) {
				t.Errorf("why says status %d (%s), the kernel allowed it: %v", said.status, strings.TrimSpace(said.out), did)
			}
		})
	}
}
