package integration

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// change reads the bundle's configuration, and writes it again.
func (b *bundle) change(t testing.TB, change func(*specs.Spec)) {
	t.Helper()
	name := filepath.Join(b.dir, "config.json")
	text, err := os.ReadFile(name)
	must(t, err)
	var s specs.Spec
	must(t, json.Unmarshal(text, &s))
	change(&s)
	text, err = json.Marshal(&s)
	must(t, err)
	must(t, os.WriteFile(name, text, 0o600))
}

// TestExportedFilter loads what is printed for docker into a container that has no other
// filter, and all of docker's capabilities: what it refuses, it alone refuses.
func TestExportedFilter(t *testing.T) {
	needs.Root(t)
	kernel(t)
	if inside() {
		return // there is no isolation in it
	}
	eperm := errnos("EPERM")
	rows := []row{
		{name: "keyctl", attempt: call(unix.SYS_KEYCTL, 0, -3, 0), want: eperm},
		{name: "ptrace", attempt: fork(call(unix.SYS_PTRACE, unix.PTRACE_TRACEME, 0, 0, 0)), want: eperm},
		{name: "io_uring", attempt: call(unix.SYS_IO_URING_SETUP, 1, "buf:120"), want: errnos("ENOSYS")},
		{name: "user namespace", attempt: fork(call(unix.SYS_UNSHARE, unix.CLONE_NEWUSER)), want: eperm},
		{name: "chroot", attempt: fork(call(unix.SYS_CHROOT, "s:/proc")), want: eperm},
		{name: "chmod set-id", attempt: call(unix.SYS_FCHMODAT, cwd, "s:{W}/f", 0o4755), want: eperm},
		{name: "mknod device", attempt: mknodat("{W}/c", unix.S_IFCHR|0o666, unix.Mkdev(1, 3)), want: eperm},
		{name: "raw socket", attempt: socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP), want: errnos("EPERM", "EPROTONOSUPPORT", "EAFNOSUPPORT", "ESOCKTNOSUPPORT")},
	}
	runtimes(t, func(t *testing.T, start func(args ...string) *exec.Cmd) {
		ask := func(with *specs.LinuxSeccomp, judge func(r row, got string)) {
			w := exportWorld(t)
			b := exported(t, w.dir("W"), start, append([]string{"--rootfs", rootfs(t)}, accepted...), program("victim"))
			b.change(t, func(s *specs.Spec) {
				caps := dockerCaps()
				s.Process.Capabilities = &specs.LinuxCapabilities{Bounding: caps, Effective: caps, Permitted: caps}
				s.Linux.Seccomp = with
			})
			box := open(t, b.container())
			for _, r := range rows {
				judge(r, box.ask(t, w.put(r.attempt)))
			}
			box.done()
		}
		ask(nil, func(r row, got string) {
			if !hit(got, []string{"ok"}) {
				t.Errorf("control without a filter: %s: %q", r.name, got)
			}
		})
		res := run(t, t.TempDir(), exec.Command(program("brainbox"), "policy", "export", "--to", "seccomp"))
		filter := &specs.LinuxSeccomp{}
		if err := json.Unmarshal([]byte(res.out), filter); err != nil || res.status != 0 {
			t.Fatalf("status %d, %v, %s", res.status, err, res.err)
		}
		ask(filter, func(r row, got string) {
			if !hit(got, r.want) {
				t.Errorf("%s: %q, want one of %q", r.name, got, r.want)
			}
		})
	})
}

// TestExportedPids: the limit of the policy is the container's.
func TestExportedPids(t *testing.T) {
	needs.Root(t)
	kernel(t)
	if inside() {
		return // there is no isolation in it
	}
	_, v1 := os.Stat("/sys/fs/cgroup/pids")
	if v2, _ := os.ReadFile("/sys/fs/cgroup/cgroup.controllers"); v1 != nil && !strings.Contains(string(v2), "pids") {
		t.Skip("no pids controller for a runtime to use") // gating: internal/needs has no word for it
	}
	// Each one of the chain waits for the next, and a Go program has some threads.
	chain := strings.Repeat("self ", 12) + "status Seccomp"
	runtimes(t, func(t *testing.T, start func(args ...string) *exec.Cmd) {
		for limit, works := range map[string]bool{"500": true, "20": false} {
			w := exportWorld(t)
			flags := append([]string{"--rootfs", rootfs(t), "--pids", limit}, accepted...)
			b := exported(t, w.dir("W"), start, flags, append([]string{program("victim")}, strings.Fields(chain)...)...)
			res := run(t, b.dir, b.container())
			if hit(strings.TrimSuffix(res.out, "\n"), []string{"ok"}) != works {
				t.Errorf("--pids %s: status %d, %q, %.300s", limit, res.status, res.out, res.err)
			}
		}
	})
}
