package netns

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/spawn"
)

func loopback(port int) unix.Sockaddr {
	return &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}
}

// listeners are what a start makes: a proxy and a resolver on low ports, and one on a port
// that anybody may bind.
func listeners(t *testing.T, id *spawn.Identity) (*agent, []int) {
	t.Helper()
	var fds []int
	var six bool
	a := inside(t, id, func(ns NS) (err error) {
		if fds, six, err = up(ns, TCP4(), TCP4(), UDP4(), TCP4(), UDP4()); err != nil {
			return err
		}
		for i, port := range []int{1023, 53, 53, 8443, 8443} {
			if err := Listen(fds[i], loopback(port)); err != nil {
				return err
			}
		}
		if !six {
			return nil
		}
		more, err := ns.Sockets(TCP6(), UDP6())
		for _, fd := range more {
			fds = append(fds, fd)
			if err := Listen(fd, &unix.SockaddrInet6{Port: 8446, Addr: [16]byte{15: 1}}); err != nil {
				return err
			}
		}
		return err
	})
	if !six {
		t.Log("there is no IPv6 here")
	}
	t.Cleanup(func() {
		for _, fd := range fds {
			unix.Close(fd)
		}
	})
	return a, fds
}

// Nobody inside can take or share what is bound from outside, nor change its routes
// (esc/NW-18), whoever he is in there; and what is his own he keeps.
func TestProgramCannotTakeTheListeners(t *testing.T) {
	ids := map[string]*spawn.Identity{"as the caller": nil}
	if os.Geteuid() == 0 {
		ids["as another user"] = &spawn.Identity{UID: 61000, GID: 61000}
	}
	for name, id := range ids {
		t.Run(name, func(t *testing.T) {
			a, fds := listeners(t, id)
			if got := a.ask("status CapEff"); got != "0000000000000000" {
				t.Fatalf("the program has capabilities: %s", got)
			}
			if got := a.ask("fds"); got != "" {
				t.Errorf("descriptors inside: %s", got)
			}
			for _, at := range []string{"127.0.0.1:1023", "0.0.0.0:1023", "198.18.0.1:443", "127.0.0.1:53"} {
				for _, network := range []string{"tcp", "udp"} {
					if got := a.ask("bind %s %s reuse share", network, at); got != "EACCES" {
						t.Errorf("bind of %s %s: %s", network, at, got)
					}
				}
			}
			for _, options := range []string{"", "reuse", "share", "reuse share"} {
				for _, at := range []string{"127.0.0.1:8443", "0.0.0.0:8443", "[::1]:8446", "[::]:8446"} {
					if at[0] == '[' && len(fds) < 7 {
						continue
					}
					for _, network := range []string{"tcp", "udp"} {
						if got := a.ask("bind %s %s %s", network, at, options); got != "EADDRINUSE" {
							t.Errorf("bind of %s %s (%s): %s", network, at, options, got)
						}
					}
				}
			}
			if got := a.ask("up"); got != "EPERM" {
				t.Errorf("a change of routes: %s", got)
			}
			// Positive controls: his own loopback is his, and ours can be reached.
			for _, at := range []string{"127.0.0.1:8080", "127.0.0.2:8443", "192.0.2.7:9000"} {
				if got := a.ask("bind tcp %s", at); got != "ok" {
					t.Errorf("an own listener on %s: %s", at, got)
				}
			}
			more, err := a.ns.Sockets(TCP4())
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(more[0])
			if err := Listen(more[0], &unix.SockaddrInet4{Port: 443, Addr: [4]byte{198, 18, 0, 1}}); err != nil {
				t.Fatal(err)
			}
			a.tell("dial tcp 198.18.0.1:443")
			if got := answerOne(t, more[0]) + " " + a.answer(); got != "198.18.0.1:443 from 198.18.0.1 got t" {
				t.Errorf("made while it runs: %s", got)
			}
			a.tell("dial tcp 127.0.0.1:1023")
			if got := answerOne(t, fds[0]); got != "127.0.0.1:1023" {
				t.Errorf("reached %s", got)
			}
			if got := a.answer(); got != "from 127.0.0.1 got t" {
				t.Errorf("the program got %s", got)
			}
		})
	}
}

// Even where uid 0 inside may lower the first port that needs a capability, a bound one is
// taken.
func TestTheFirstFreePort(t *testing.T) {
	a, _ := listeners(t, nil)
	got := a.ask("write /proc/sys/net/ipv4/ip_unprivileged_port_start 0")
	want := "EADDRINUSE"
	if got != "ok" {
		want = "EACCES"
	}
	t.Logf("lowering it: %s", got)
	for _, options := range []string{"", "reuse share"} {
		if got := a.ask("bind tcp 127.0.0.1:1023 %s", options); got != want {
			t.Errorf("bind (%s): %s, want %s", options, got, want)
		}
	}
}

// A switched off IPv6 is said, and is no error.
func TestWithoutIPv6(t *testing.T) {
	a := capable(t)
	if got := a.ask("write /proc/sys/net/ipv6/conf/lo/disable_ipv6 1"); got == "ENOENT" {
		t.Skip("this kernel has no IPv6") // gating: needs has no word for it
	} else if got != "ok" {
		t.Fatal(got)
	}
	fds, six, err := up(a.ns, TCP4())
	if err != nil || six {
		t.Fatalf("Up = %v, %v", six, err)
	}
	defer unix.Close(fds[0])
	if got := a.ask("dial tcp 192.0.2.1:80"); got != "ECONNREFUSED" { // positive control
		t.Errorf("IPv4: %s", got)
	}
	if got := a.ask("dial tcp [2001:db8::1]:80"); got == "ok" {
		t.Errorf("IPv6: %s", got)
	}
	if got := a.ask("write /proc/sys/net/ipv6/conf/lo/disable_ipv6 0"); got != "ok" {
		t.Fatal(got)
	}
	if _, six, err = up(a.ns); err != nil || !six { // positive control, and a second time
		t.Errorf("switched on: Up = %v, %v", six, err)
	}
}

const laterEnv = "NETNS_TEST_LATER"

// later is another process of the same user, that no privilege was left and no debugger
// may look at: it has the descriptors, and serves one connection.
func later() int {
	for range 4 {
		go func() { runtime.LockOSThread(); select {} }()
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 2
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return 3
	}
	fds, err := NS{User: 3, Net: 4}.Sockets(TCP4(), TCP4())
	if err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		return 4
	}
	if err := Listen(fds[0], &unix.SockaddrInet4{Port: 443, Addr: [4]byte{198, 18, 0, 9}}); err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		return 5
	}
	if d, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || d != 0 {
		return 6
	}
	_, _ = os.Stdout.WriteString("ready\n")
	for {
		if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fds[0]), Events: unix.POLLIN}}, -1); n == 1 && err == nil {
			break
		}
	}
	conn, _, err := unix.Accept4(fds[0], unix.SOCK_CLOEXEC)
	if err != nil {
		return 7
	}
	if _, err := unix.Write(conn, []byte("later")); err != nil {
		return 8
	}
	return 0
}

// The descriptors serve another process as well, as long as the program runs.
func TestAnotherProcess(t *testing.T) {
	a := inside(t, nil, func(ns NS) error { _, _, err := up(ns); return err })
	if got := a.ask("dial tcp 198.18.0.9:443"); got != "ECONNREFUSED" {
		t.Fatalf("before: %s", got)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = []string{laterEnv + "=1"}
	for _, fd := range []int{a.ns.User, a.ns.Net} {
		own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		f := os.NewFile(uintptr(own), "ns")
		defer f.Close()
		cmd.ExtraFiles = append(cmd.ExtraFiles, f)
	}
	var failed bytes.Buffer
	cmd.Stderr = &failed
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 6)
	if n, err := out.Read(b); err != nil || string(b[:n]) != "ready\n" {
		t.Fatalf("%q, %v; %v: %s", b[:n], err, cmd.Wait(), failed.String())
	}
	if got := a.ask("dial tcp 198.18.0.9:443"); got != "from 198.18.0.9 got later" {
		t.Errorf("the program got %s", got)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, failed.String())
	}
}
