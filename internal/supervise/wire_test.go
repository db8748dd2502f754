package supervise

import (
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"

	"brainbox/internal/broker"
	"brainbox/internal/spawn"
)

func fullJob() *Job {
	return &Job{
		Spawn: spawn.Request{
			Path: "/bin/\xffodd", Argv: []string{"a", "", "b\nc"}, Env: []string{"A=\xfe", "B="},
			Filter: []unix.SockFilter{{Code: 6, Jt: 1, Jf: 2, K: 0x7fff0000}}, Umask: 0o22,
			Limits:   []spawn.Limit{{Resource: 4, Cur: 0, Max: ^uint64(0)}},
			Identity: &spawn.Identity{UID: 10002, GID: 10003, Groups: []uint32{7}}, Bounding: true,
			Probes:  []spawn.Probe{{Name: "x", Nr: 257, Args: [6]uintptr{^uintptr(99)}, Path: "/c", PathArg: 1, Errnos: []syscall.Errno{13, 2}}},
			Ruleset: 13, Dir: 14, Cgroup: 15, Stdio: [3]int{10, 11, 12}, Pass: []spawn.Pass{{From: 16, To: 5}},
			Session: true, DieWithParent: true,
			Namespaces: &spawn.Namespaces{
				Net: true, Loopback: true, Hostname: "room", Dir: "/w", UIDMap: []spawn.IDMap{{Inside: 0, Outside: 1, Count: 1<<32 - 1}},
				GIDMap: []spawn.IDMap{{Inside: 1, Outside: 2, Count: 3}, {Inside: 4, Outside: 5, Count: 6}},
				Reopen: [3]spawn.Reopen{{Path: "/dev/console", Flags: 2}, {}, {Path: "/dev/null", Flags: 0x801}},
				Mounts: []spawn.Mount{
					{Kind: spawn.KindBind, Path: "/\xff", Source: "/s", Held: 17, Over: 18, Writable: true, Exec: true, Devices: true, Recursive: true, OneMount: true},
					{Kind: spawn.KindFile, Path: "/f", Mode: 0o1777, Data: []byte{0, 0xfe}},
					{Kind: spawn.KindGrant, Path: "/f", Access: ^uint64(0)},
					{Kind: spawn.KindFS, Path: "/p", FSType: "proc", Options: []string{"subset=pid", "x"}},
					{Kind: spawn.KindMask, Path: "/m", Held: 19},
				},
			},
		},
		Broker: &broker.Config{
			Sockets: []broker.Socket{{Folder: 20, Name: "\xff.sock", UID: 1<<32 - 2}, {Folder: 21, Name: "b", Pinned: 22}},
			Rules:   broker.Rules{Ports: []uint16{1, 65535}, UDP: true, All: true},
		},
		Timeout: time.Second, KillAfter: 2 * time.Second, OutputLimit: 5, Relay: [3]bool{false, true, false}, Sanitize: true,
	}
}

func TestJobsSurviveTheWire(t *testing.T) {
	for _, want := range []*Job{
		fullJob(),
		{Spawn: spawn.Request{Path: "/x", Argv: []string{"x"}, Session: true, DieWithParent: true, Namespaces: &spawn.Namespaces{}}},
		{Spawn: spawn.Request{Path: "/x", Argv: []string{"x"}, Stdio: [3]int{1, 2, 3}, Session: true, DieWithParent: true}},
		{Spawn: spawn.Request{Path: "/x", Argv: []string{"x"}, Session: true, DieWithParent: true}, Broker: &broker.Config{}},
	} {
		text, fds := want.Encode()
		got, err := Decode(text, fds)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(spawn.Request{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("a job changed on the wire (-sent +received):\n%s", diff)
		}
		again, _ := got.Encode()
		if string(again) != string(text) {
			t.Errorf("the text is not canonical:\n%s\n%s", text, again)
		}
	}
}

func TestDecodeRefusesTheWrongNumberOfDescriptors(t *testing.T) {
	text, fds := fullJob().Encode()
	if _, err := Decode(text, fds); err != nil { // positive control
		t.Fatal(err)
	}
	if _, err := Decode(text, fds[:len(fds)-1]); err == nil {
		t.Error("one too few: accepted")
	}
	if _, err := Decode(text, append(fds, 99)); err == nil {
		t.Error("one too many: accepted")
	}
}

func FuzzDecode(f *testing.F) {
	text, _ := fullJob().Encode()
	f.Add(text, 10)
	f.Add([]byte(`{}`), 3)
	f.Fuzz(func(t *testing.T, text []byte, n int) {
		fds := make([]int, max(0, min(n, 64)))
		for i := range fds {
			fds[i] = 10 + i
		}
		j, err := Decode(text, fds)
		if err != nil {
			return
		}
		again, back := j.Encode()
		if k, err := Decode(again, back); err != nil || !cmp.Equal(j, k, cmpopts.IgnoreUnexported(spawn.Request{}), cmpopts.EquateEmpty()) {
			t.Errorf("an accepted job does not come back: %v", err)
		}
	})
}
