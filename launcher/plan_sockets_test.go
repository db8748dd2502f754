package launcher

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/broker"
)

// socketCases are plans that list Unix sockets in isolation landlock.
func socketCases() []planCase {
	lists := func(sockets, rest string) string { return bare + rest + "[network]\nunix = [" + sockets + "]\n" }
	one := lists(`"/run/x.sock"`, "")
	with := func(change func(*Facts)) host {
		return host{abi: 7, uid: 1000, command: []string{"true"}, change: change}
	}
	user := with(nil)
	missing := func(o broker.Offer) host { return with(func(f *Facts) { f.Broker = &o }) }
	old := missing(broker.Offer{Notify: unix.EINVAL})
	return []planCase{
		{"unix-docker", lists(`"/var/run/docker.sock"`, ""), host{
			abi: 7, uid: 1000, command: []string{"true"}, links: map[string]string{"/var/run/docker.sock": "/run/docker.sock"},
		}},
		{"unix-in-a-write-grant", lists(`"./db.sock", "/run/x.sock"`, ""), user},
		{"unix-in-a-write-grant-by-another-mount", one, with(func(f *Facts) { f.Sockets[0].Others = []string{f.Cwd.Target + "/run/x.sock"} })},
		{"unix-denied-by-another-mount", lists(`"/run/x.sock"`, "deny = [\"/srv/b\"]\n"), with(func(f *Facts) { f.Sockets[0].Others = []string{"/srv/b/x.sock"} })},
		{"unix-missing", one + "[sandbox]\ndegraded = [\"unix\"]\n", host{abi: 7, uid: 1000, absent: []string{"/run/x.sock"}}},
		{"unix-agent", lists(`"/run/x.sock", "/run/docker.sock"`, ""), with(func(f *Facts) {
			f.Environ = append(f.Environ, "SSH_AUTH_SOCK=/run//x.sock", "DOCKER_HOST=unix:///run/docker.sock")
		})},
		{"unix-agent-of-others", one, with(func(f *Facts) {
			f.Environ = append(f.Environ, "SSH_AUTH_SOCK=/run/other.sock", "DOCKER_HOST=tcp://127.0.0.1:2375")
		})},
		{"unix-missing-skip", lists(`{ path = "/run/x.sock", missing = "skip" }`, ""), host{abi: 7, uid: 1000, absent: []string{"/run/x.sock"}}},
		{"unix-no-socket", one, with(func(f *Facts) { f.Sockets[0].Socket = false })},
		{"unix-datagram", one, with(func(f *Facts) { f.Sockets[0].Datagram = true })},
		{"unix-denied", lists(`"/srv/b/x.sock"`, "deny = [\"/srv/b\"]\n"), user},
		{"unix-old-kernel", one, old},
		{"unix-old-kernel-degraded", one + "[sandbox]\ndegraded = [\"unix\"]\n", old},
		{"unix-blocked-getfd", one, missing(broker.Offer{GetFD: unix.EPERM})},
		{"unix-blocked-memory", one, missing(broker.Offer{Memory: unix.EPERM})},
		{"unix-blocked-trace", one, missing(broker.Offer{Trace: errors.New("kernel.yama.ptrace_scope is 3: operation not permitted")})},
		{"unix-ports", one + "mode = \"ports\"\nconnect_tcp = [443]\ndns = \"host\"\n", user},
		{"unix-host", one + "mode = \"host\"\n", user},
		{"unix-abi-9", one, host{abi: 9, uid: 1000, command: []string{"true"}}},
		{"unix-seccomp-none", one + "[process]\nseccomp = \"none\"\n", user},
		{"unix-no-supervisor", one, with(func(f *Facts) {
			f.Exec, f.RunDir, f.Sockets, f.Broker = true, "/tmp/brainbox-exec-1000", nil, nil
		})},
	}
}

// What is looked at when sockets are listed: where a link leads, its owner, and whether the
// kernel has a datagram socket there.
func TestListedSocketsAreLookedAt(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir) // names that are short enough
	l, err := net.Listen("unix", "stream")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: "dgram", Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := errors.Join(os.Symlink("stream", "link"), os.WriteFile("file", nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	real := resolved(dir)
	s := lookAtSocket(filepath.Join(dir, "link"), "")
	defer s.close()
	if s.Err != nil || !s.Socket || s.Target != real+"/stream" || s.UID != uint32(os.Geteuid()) || s.folder <= 0 || s.Datagram {
		t.Errorf("a link to a socket: %+v", s)
	}
	if f := lookAtSocket(filepath.Join(dir, "file"), ""); f.Err != nil || f.Socket {
		t.Errorf("a file: %+v", f)
	}
	if a := lookAtSocket(filepath.Join(dir, "absent"), ""); !errors.Is(a.Err, os.ErrNotExist) {
		t.Errorf("an absent one: %+v", a)
	}
	for _, name := range []string{"stream", "dgram"} { // bound by relative names: as they stand in the list
		if got := onlyDatagram(readSmall("/proc/self/net/unix"), name); got != (name == "dgram") {
			t.Errorf("%s is a datagram socket: %v", name, got)
		}
	}
	const head = "Num       RefCount Protocol Flags    Type St Inode Path\n"
	for text, want := range map[string]bool{
		"": false,
		"000: 00000002 00000000 00000000 0002 01 19 /a b":                                                  true,
		"000: 00000002 00000000 00010000 0001 01 19 /a b":                                                  false,
		"000: 00000002 00000000 00000000 0002 01 19 /b":                                                    false,
		"000: 00000002 00000000 00000000 0002 01 19 /a b\n001: 00000002 00000000 00010000 0001 01 20 /a b": false,
	} {
		if got := onlyDatagram(head+text+"\n", "/a b"); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
