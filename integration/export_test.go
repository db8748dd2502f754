package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// bundle is what policy export made, with what starts it.
type bundle struct {
	dir   string
	start func(args ...string) *exec.Cmd
	id    string
}

// rootfs makes the root file system of the bundles: one program, under two names, and what a
// policy keeps from it.
func rootfs(t testing.TB) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "rootfs")
	for _, dir := range []string{"bin", "etc", "tmp", "usr"} {
		must(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	must(t, exec.Command("cp", program("victim"), filepath.Join(root, "bin", "true")).Run())
	must(t, os.WriteFile(filepath.Join(root, "etc", "secret"), []byte(canaryText), 0o644))
	return root
}

// runtimes are the OCI runtimes that there are, by name; for an ordinary user runc.
func runtimes(t *testing.T, test func(t *testing.T, start func(args ...string) *exec.Cmd)) {
	if os.Geteuid() != 0 {
		t.Run("runc", func(t *testing.T) {
			path := needs.Rootless(t)
			test(t, func(args ...string) *exec.Cmd { return exec.Command(path, args...) })
		})
		return
	}
	t.Run("runc", func(t *testing.T) {
		path := needs.Container(t)
		test(t, func(args ...string) *exec.Cmd { return exec.Command(path, args...) })
	})
	t.Run("crun", func(t *testing.T) { test(t, needs.Crun(t)) })
}

// exported has brainbox write a bundle's configuration, for a start in dir.
func exported(t testing.TB, dir string, start func(args ...string) *exec.Cmd, flags []string, command ...string) *bundle {
	t.Helper()
	b := &bundle{dir: t.TempDir(), start: start, id: fmt.Sprintf("brainbox-test-%d-%d", os.Getpid(), containers.Add(1))}
	args := append([]string{"policy", "export", "--to", "oci", "--rox", bin}, flags...)
	res := run(t, dir, exec.Command(program("brainbox"), append(append(args, "--"), command...)...))
	if res.status != 0 || res.out == "" {
		t.Fatalf("export: status %d, %s", res.status, res.err)
	}
	must(t, os.WriteFile(filepath.Join(b.dir, "config.json"), []byte(res.out), 0o600))
	t.Cleanup(func() { // the runtime has removed it; not so after a failure
		_ = b.command("delete", "--force", b.id).Run()
	})
	return b
}

func (b *bundle) command(args ...string) *exec.Cmd {
	return b.start(append([]string{"--root", filepath.Join(b.dir, "state")}, args...)...)
}

// container is the command that starts it.
func (b *bundle) container() *exec.Cmd { return b.command("run", "--bundle", b.dir, b.id) }

// exportWorld is a world with a checkout in W that has hooks, and a program in W and X.
func exportWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	for _, name := range []string{"O/f", "R/f", "W/f", "X/f"} {
		must(t, os.WriteFile(filepath.Join(w.root, name), []byte(canaryText), 0o644))
	}
	for _, name := range []string{"W/.git/hooks", "W/secret"} {
		must(t, os.MkdirAll(filepath.Join(w.root, name), 0o755))
	}
	must(t, os.WriteFile(filepath.Join(w.root, "W/.git/hooks/pre-commit"), []byte(canaryText), 0o755))
	must(t, os.WriteFile(filepath.Join(w.root, "W/.git/HEAD"), []byte("ref: refs/heads/main\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(w.root, "W/secret/key"), []byte(canaryText), 0o644))
	for _, name := range []string{"W/tool", "X/tool"} {
		must(t, exec.Command("cp", program("victim"), filepath.Join(w.root, name)).Run())
	}
	for _, z := range zones {
		w.vars[z] = w.dir(z)
	}
	return w
}

// flags are those of the policy that is run and exported.
func (w *world) flags() []string {
	return []string{
		"--ro", w.dir("R"), "--rw", w.dir("X"), "--protect", w.dir("W") + "/.git/hooks", "--deny", w.dir("W") + "/secret",
		"--nofile", "200",
	}
}

// put fills the world's names in.
func (w *world) put(attempt string) string {
	return placeholder.ReplaceAllStringFunc(attempt, func(name string) string { return w.vars[name[1:len(name)-1]] })
}

// accepted are the gaps of a policy with a write grant: names that do not exist, and git's
// identity where the machine has one.
var accepted = []string{"--allow-gap", "protect", "--allow-gap", "env"}

// TestExported is what the exported bundle is for: what brainbox run refuses is refused by
// runc and crun as well, from the same policy; and what is allowed works.
func TestExported(t *testing.T) {
	needs.Userns(t)
	kernel(t)
	if inside() {
		return // the starts name the isolation themselves
	}
	t.Run("brainbox", func(t *testing.T) {
		w := exportWorld(t)
		cmd := exec.Command(program("brainbox"), append(append([]string{"run", "--isolation", "namespaces", "--rox", bin}, w.flags()...), "--", program("victim"))...)
		cmd.Dir, cmd.Env = w.dir("W"), environ(t)
		denials(t, w, open(t, cmd))
	})
	runtimes(t, func(t *testing.T, start func(args ...string) *exec.Cmd) {
		w := exportWorld(t)
		flags := append(append([]string{"--rootfs", rootfs(t)}, w.flags()...), accepted...)
		b := exported(t, w.dir("W"), start, flags, program("victim"))
		denials(t, w, open(t, b.container()))
		for _, left := range cgroupsNamed(t, b.id) {
			t.Errorf("a cgroup is left: %s", left)
		}
	})
}

// denials makes every attempt in a world, and looks at it from outside afterwards.
func denials(t *testing.T, w *world, box *side) {
	t.Helper()
	for _, attempt := range allowed() {
		if got := box.ask(t, w.put(attempt)); !hit(got, []string{"ok"}) {
			t.Errorf("%q = %q, want ok", attempt, got)
		}
	}
	control := exportWorld(t)
	outside := bare(t, control.dir("W"))
	before := w.look(t)
	tried := 0
	for _, r := range exportRows(t) {
		got := outside.ask(t, control.put(r.attempt))
		if os.Geteuid() != 0 && (hit(got, r.want) || hit(got, errnos("EPERM", "EACCES"))) {
			continue // only root can, outside: root's run shows it
		}
		if tried++; !hit(got, []string{"ok"}) && !r.differs || hit(got, r.want) {
			t.Errorf("%s: control outside %q = %q", r.name, r.attempt, got)
		}
		if got := box.ask(t, w.put(r.attempt)); !hit(got, r.want) {
			t.Errorf("%s: %q = %q, want one of %q", r.name, r.attempt, got, r.want)
		}
	}
	box.done()
	if tried < 20 {
		t.Errorf("only %d attempts", tried)
	}
	if after := w.look(t); after != before {
		t.Errorf("the outside changed:\n%s\nit was\n%s", after, before)
	}
	if got := w.net.got.Load(); got != 0 {
		t.Errorf("%d connections reached the host", got)
	}
	if text, err := os.ReadFile(filepath.Join(w.dir("W"), "made")); err != nil || string(text) != "x" {
		t.Errorf("what was written in the checkout: %q, %v", text, err)
	}
}

// look lists every name in the world with its mode and content, but for what may be made.
func (w *world) look(t testing.TB) string {
	t.Helper()
	var lines []string
	must(t, filepath.Walk(w.root, func(path string, st os.FileInfo, err error) error {
		must(t, err)
		text := ""
		if st.Mode().IsRegular() && st.Size() < 1000 {
			content, err := os.ReadFile(path)
			must(t, err)
			text = string(content)
		}
		lines = append(lines, fmt.Sprintf("%s %v %d %q", path, st.Mode(), st.Size(), text))
		return nil
	}))
	return strings.Join(lines, "\n")
}

// allowed are attempts that work in every box.
func allowed() []string {
	return []string{
		"write {W}/made " + itoa(unix.O_CREAT) + " x", "read {R}/f", "read {W}/.git/hooks/pre-commit", "write {X}/f 0 canary",
		"write {W}/.git/index " + itoa(unix.O_CREAT) + " x", "run /bin/true cwd", "run {W}/tool cwd", "read /proc/self/status",
		openat("/dev/null", unix.O_RDWR), openat("/dev/shm/s", unix.O_CREAT|unix.O_RDWR), openat("/tmp/t", unix.O_CREAT|unix.O_RDWR),
		then(socket(unix.AF_INET, unix.SOCK_STREAM, 0), call(unix.SYS_BIND, "$1", "in4:127.0.0.1:0", "#"), call(unix.SYS_LISTEN, "$1", 1)),
		call(unix.SYS_DUP3, 0, 150, 0), "fork " + call(unix.SYS_GETPID),
	}
}

// exportRows are the attempts that are refused everywhere. One that differs is answered
// otherwise outside, without an effect.
func exportRows(t testing.TB) []row {
	t.Helper()
	readOnly, hidden, eperm := errnos("EROFS", "EACCES"), errnos("ENOENT"), errnos("EPERM")
	tcp := then(socket(unix.AF_INET, unix.SOCK_STREAM, 0), connect("in4:{TCP4}"))
	local := then(socket(unix.AF_UNIX, unix.SOCK_STREAM, 0), connect("un:{UNIX}"))
	rows := []row{
		{name: "read ungranted", attempt: "read {O}/f", want: hidden},
		{name: "list ungranted", attempt: "list {O}", want: hidden},
		{name: "read denied", attempt: "read {W}/secret/key", want: errnos("ENOENT", "EACCES")},
		{name: "write read-only", attempt: openat("{R}/f", unix.O_WRONLY), want: readOnly},
		{name: "make in read-only", attempt: openat("{R}/new", unix.O_WRONLY|unix.O_CREAT), want: readOnly},
		{name: "rename in read-only", attempt: renameat2("{R}/f", "{R}/g", 0), want: readOnly},
		{name: "write protected", attempt: openat("{W}/.git/hooks/pre-commit", unix.O_WRONLY), want: readOnly},
		{name: "make in protected", attempt: openat("{W}/.git/hooks/post-merge", unix.O_WRONLY|unix.O_CREAT), want: readOnly},
		{name: "move protected away", attempt: renameat2("{W}/.git", "{W}/.g", 0), want: errnos("EBUSY", "EACCES", "EXDEV")},
		{name: "exec in noexec", attempt: "run {X}/tool cwd", want: errnos("EACCES")},
		{name: "chmod set-id", attempt: call(unix.SYS_FCHMODAT, cwd, "s:{W}/f", 0o4755), want: eperm},
		{name: "mknod device", attempt: mknodat("{W}/c", unix.S_IFCHR|0o666, unix.Mkdev(1, 3)), want: eperm},
		{name: "open a control of the kernel", attempt: openat("/proc/sys/kernel/core_pattern", unix.O_WRONLY), want: readOnly},
		{
			name: "mount", attempt: then(call(unix.SYS_MOUNT, "s:none", "s:{O}", "s:tmpfs", 0, 0), call(unix.SYS_UMOUNT2, "s:{O}", 0)),
			want: eperm,
		},
		{name: "user namespace", attempt: fork(call(unix.SYS_UNSHARE, unix.CLONE_NEWUSER)), want: eperm},
		{name: "chroot", attempt: fork(call(unix.SYS_CHROOT, "s:/proc")), want: eperm},
		{
			name: "ptrace other", attempt: fork(call(unix.SYS_PTRACE, unix.PTRACE_ATTACH, "{PID}", 0, 0), call(unix.SYS_KILL, "{PID}", int(unix.SIGCONT))),
			want: errnos("EPERM", "ESRCH"),
		},
		{name: "signal other", attempt: call(unix.SYS_KILL, "{PID}", 0), want: errnos("ESRCH", "EPERM")},
		{name: "raw socket", attempt: socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP), want: errnos("EPERM", "EPROTONOSUPPORT", "EAFNOSUPPORT", "ESOCKTNOSUPPORT")},
		{name: "TCP connect", attempt: tcp, want: errnos("ECONNREFUSED", "ENETUNREACH")},
		{name: "Unix socket", attempt: local, want: hidden},
		{name: "keyctl", attempt: call(unix.SYS_KEYCTL, 0, -3, 0), want: eperm},
		{name: "bpf", attempt: call(unix.SYS_BPF, 9999, 0, 0), want: eperm, differs: true},
		{name: "io_uring", attempt: call(unix.SYS_IO_URING_SETUP, 1, "buf:120"), want: errnos("ENOSYS")},
		{name: "module load", attempt: call(unix.SYS_INIT_MODULE, 0, 0, 0), want: eperm, differs: true},
		{name: "reboot", attempt: call(unix.SYS_REBOOT, 0, 0, 0), want: eperm, differs: true},
		{name: "more descriptors", attempt: call(unix.SYS_DUP3, 0, 300, 0), want: errnos("EBADF")},
		{name: "gain by set-id", attempt: "status NoNewPrivs", want: []string{"ok NoNewPrivs=1"}, differs: true},
		{name: "capabilities", attempt: "status CapEff", want: []string{"ok CapEff=0000000000000000"}, differs: true},
	}
	for _, device := range []string{"/dev/mem", "/dev/kmsg", "/dev/port"} {
		if _, err := os.Stat(device); err == nil {
			rows = append(rows, row{name: "device " + device, attempt: openat(device, unix.O_RDONLY), want: hidden})
		}
	}
	if _, err := os.Stat("/proc/sysrq-trigger"); err == nil {
		rows = append(rows, row{name: "sysrq", attempt: openat("/proc/sysrq-trigger", unix.O_WRONLY), want: readOnly})
	}
	if len(rows) < 20 || slices.ContainsFunc(rows, func(r row) bool { return len(r.want) == 0 }) {
		t.Fatalf("%d rows", len(rows))
	}
	return rows
}
