package spawn

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestListIsGolden(t *testing.T) {
	r := &Request{
		Path: "/bin/true", Argv: []string{"true"}, Ruleset: 9, Filter: allowAll(), Stdio: [3]int{0, 7, 2},
		Pass: []Pass{{From: 8, To: 3}}, Dir: 6, Umask: 0o77, Session: true, DieWithParent: true, Bounding: true,
		Limits:   []Limit{{Resource: unix.RLIMIT_CORE}},
		Identity: &Identity{UID: 10002, GID: 10003, Groups: []uint32{5}},
		Probes:   []Probe{{Name: "socket(AF_VSOCK)", Nr: unix.SYS_SOCKET, Args: [6]uintptr{40, 1}, Errnos: []syscall.Errno{unix.EPERM}}},
	}
	j := newJob()
	if err := j.build(r, func(fd int) int { return fd + 100 }, 4242); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/list.golden", show(j.calls))

	r.Limits, r.FilesLast = append(r.Limits, Limit{Resource: unix.RLIMIT_NOFILE, Cur: 9, Max: 9}), true
	j = newJob()
	if err := j.build(r, func(fd int) int { return fd + 100 }, 4242); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/files-last.golden", show(j.calls))

	r.Listener, r.FilesLast = true, false
	r.Mark = testMark
	j = newJob()
	if err := j.build(r, func(fd int) int { return fd + 100 }, 4242); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/listener.golden", show(j.calls))
}

// show writes a list, without the addresses and the repetitions.
func show(calls []call) string {
	var b strings.Builder
	for _, c := range calls {
		if c.name == "rt_sigaction" && c.a[0] > 2 || c.name == "prctl" && c.step == StepBounding && c.a[1] > 1 && c.a[1] < lastCap {
			continue
		}
		fmt.Fprintf(&b, "%-14s %-24s", c.step, c.name)
		for n, a := range c.a {
			switch {
			case c.cell&(1<<n) != 0:
				b.WriteString(" cell")
			case a == atFDCWD:
				b.WriteString(" cwd")
			case a > 1<<32:
				b.WriteString(" ptr")
			default:
				fmt.Fprintf(&b, " %d", a)
			}
		}
		if c.want == wantCell || c.want == wantSame {
			c.errs = [4]uintptr{}
		}
		fmt.Fprintf(&b, " want=%d %v", c.want, c.errs)
		if c.run > 0 {
			fmt.Fprintf(&b, " for %d up to %d", c.run-1, maxRun)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func golden(t *testing.T, name, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(read(t, name), text); diff != "" {
		t.Errorf("the list changed (-golden +now):\n%s", diff)
	}
}

func TestListsInNamespacesAreGolden(t *testing.T) {
	r := &Request{
		Path: "/bin/true", Argv: []string{"true"}, Ruleset: 9, Filter: allowAll(), Stdio: [3]int{0, 7, 2},
		Pass: []Pass{{From: 8, To: 3}}, Dir: 6, Umask: 0o77, Session: true, Identity: &Identity{UID: 10002, GID: 10003},
		Namespaces: &Namespaces{
			Net: true, Loopback: true, Hostname: "room", Dir: "/w",
			Reopen: [3]Reopen{1: {Path: "/dev/console", Flags: unix.O_RDWR}},
			Mounts: []Mount{
				{Kind: KindDir, Path: "/w", Mode: 0o755},
				{Kind: KindBind, Path: "/w", Source: "/home/w", Held: 20, Writable: true, Recursive: true},
				{Kind: KindSelf, Path: "/w/.git", Held: 21},
				{Kind: KindMask, Path: "/w/key", Held: 22},
				{Kind: KindMask, Path: "/w/secret", Held: 23},
				{Kind: KindDir, Path: "/proc"},
				{Kind: KindFS, Path: "/proc", FSType: "proc", Options: []string{"subset=pid"}},
				{Kind: KindMask, Path: "/proc/keys", Mode: 0o444},
				{Kind: KindMask, Path: "/proc/timer_list", Mode: 0o444},
				{Kind: KindFile, Path: "/passwd", Data: []byte("x")},
				{Kind: KindSymlink, Path: "/bin", Source: "usr/bin"},
				{Kind: KindDir, Path: "/tmp"},
				{Kind: KindFS, Path: "/tmp", FSType: "tmpfs", Writable: true},
				{Kind: KindGrant, Path: "/tmp", Access: 4},
				{Kind: KindSeal, Path: "/tmp"},
			},
		},
	}
	kind := func(fd int) (identity, error) {
		return identity{ino: uint64(fd), kind: map[bool]uint32{true: unix.S_IFREG, false: unix.S_IFDIR}[fd == 22]}, nil
	}
	lists := func() string {
		if err := r.check(); err != nil {
			t.Fatal(err)
		}
		s := newSetup()
		if err := s.build(r, func(fd int) int { return fd + 100 }, 150, []span{{1 << 40, 99}}, kind); err != nil {
			t.Fatal(err)
		}
		return "the init, before:\n" + show(s.before.calls) + "\nthe command:\n" + show(s.command.calls) + "\nthe init, after:\n" + show(s.after.calls)
	}
	golden(t, "testdata/namespaces.golden", lists())
	r.Namespaces.Mounts, r.Listener, r.Mark = nil, true, testMark
	r.Limits = []Limit{{Resource: unix.RLIMIT_CORE}, {Resource: unix.RLIMIT_NOFILE, Cur: 9, Max: 9}}
	golden(t, "testdata/listener-inside.golden", lists())
}
