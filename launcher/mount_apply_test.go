package launcher

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
	"brainbox/policy"
)

// The plan is carried out here with plain calls, in namespaces of a child, to see that it
// means what it should: package spawn does the same with held descriptors and raw calls.

const applyMark = "BRAINBOX_TEST_APPLY"

// inNamespaces runs the rest of a test in namespaces of its own, as pid 1, and reports
// whether this is it. dir is the checkout, made before.
func inNamespaces(t *testing.T, dir string) bool {
	t.Helper()
	if os.Getenv(applyMark) != "" {
		runtime.LockOSThread()
		return true
	}
	needs.Userns(t)
	needs.LandlockABI(t, 1)
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.count=1", "-test.v")
	cmd.Env = append(os.Environ(), applyMark+"="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWNET | unix.CLONE_NEWUTS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN}, // execve(2) takes the others from an ordinary user
	}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("inside: %v\n%s", err, out)
	}
	return false
}

// enter makes the program's file system and goes there.
func enter(t *testing.T, p *Plan, f *Facts) {
	t.Helper()
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	for _, dir := range []string{f.RunDir, f.RunDir + "/home", f.RunDir + "/tmp"} {
		must("mkdir", os.MkdirAll(dir, 0o700))
	}
	must("private", unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	top, empty := f.RunDir+"/root", f.RunDir+"/empty"
	must("mkdir", errors.Join(os.Mkdir(top, 0o755), os.Mkdir(empty, 0o755)))
	must("tmpfs", unix.Mount("root", top, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755"))
	must("tmpfs", unix.Mount("empty", empty, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755"))
	must("mask", errors.Join(os.Mkdir(empty+"/dir", 0o555), os.WriteFile(empty+"/file", nil, 0o444)))
	for _, m := range p.Mounts {
		must(showMounts([]Mount{m}), carryOut(&m, top, empty))
	}
	must("seal", unix.Mount("", top, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, ""))
	must("pivot_root", errors.Join(unix.Chdir(top), unix.PivotRoot(".", "."), unix.Unmount(".", unix.MNT_DETACH), unix.Chdir("/")))
}

func carryOut(m *Mount, top, empty string) error {
	path := top + m.Path
	switch m.Kind {
	case MountDir:
		return os.Mkdir(path, 0o755)
	case MountFile:
		return os.WriteFile(path, m.Data, os.FileMode(m.Mode))
	case MountLink:
		return os.Symlink(m.Source, path)
	case MountFS:
		flags := uintptr(unix.MS_NOSUID)
		for _, x := range []struct {
			open bool
			flag uintptr
		}{{m.Writable, unix.MS_RDONLY}, {m.Exec, unix.MS_NOEXEC}, {m.Devices, unix.MS_NODEV}} {
			if !x.open {
				flags |= x.flag
			}
		}
		return unix.Mount(m.FSType, path, m.FSType, flags, strings.Join(m.Options, ","))
	case MountBind:
		return clone(m.Source, path, m)
	case MountSelf:
		return clone(path, path, m)
	case MountMask:
		from := empty + "/file"
		if st, err := os.Lstat(path); err != nil || st.IsDir() {
			from = empty + "/dir"
		}
		return clone(from, path, &Mount{})
	case MountGrant:
	}
	return nil
}

func clone(from, to string, m *Mount) error {
	flags := uint(unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_SYMLINK_NOFOLLOW)
	at := uint(unix.AT_EMPTY_PATH)
	if m.Recursive {
		flags |= unix.AT_RECURSIVE
		at |= unix.AT_RECURSIVE
	}
	fd, err := unix.OpenTree(unix.AT_FDCWD, from, flags)
	if err != nil {
		return os.NewSyscallError("open_tree", err)
	}
	defer unix.Close(fd)
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID}
	for _, x := range []struct {
		open bool
		attr uint64
	}{{m.Writable, unix.MOUNT_ATTR_RDONLY}, {m.Exec, unix.MOUNT_ATTR_NOEXEC}, {m.Devices, unix.MOUNT_ATTR_NODEV}} {
		if !x.open {
			attr.Attr_set |= x.attr
		}
	}
	if err := unix.MountSetattr(fd, "", at, &attr); err != nil {
		return os.NewSyscallError("mount_setattr", err)
	}
	return os.NewSyscallError("move_mount", unix.MoveMount(fd, "", unix.AT_FDCWD, to, unix.MOVE_MOUNT_F_EMPTY_PATH))
}

// refused fails unless an attempt ends with one of the errnos.
func refused(t *testing.T, what string, err error, errnos ...error) {
	t.Helper()
	if !slices.ContainsFunc(errnos, func(e error) bool { return errors.Is(err, e) }) {
		t.Errorf("%s: %v, want one of %v", what, err, errnos)
	}
}

func overwrite(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err == nil {
		_ = f.Close()
	}
	return err
}

func applied(t *testing.T, text string, names ...string) (dir string, inside bool) {
	t.Helper()
	if dir = os.Getenv(applyMark); dir == "" {
		dir = checkout(t, names...)
	}
	if !inNamespaces(t, dir) {
		return dir, false
	}
	p, f := lookInside(t, dir, strings.ReplaceAll(text, "BASE", filepath.Dir(dir)))
	plan := newPlan(p, f, true)
	if plan.Refusal != nil {
		t.Fatalf("refused: %+v", plan.Refusal)
	}
	f.Close() // package spawn compares what is held; a held descriptor of the host leads out
	enter(t, plan, f)
	return dir, true
}

// esc/FS-34, esc/FS-35, esc/TH-01 to esc/TH-10: what is protected stays, and so does every
// folder on the way to it.
func TestAppliedProtection(t *testing.T) {
	dir, inside := applied(t, "",
		".git/HEAD: ref: refs/heads/main\n", ".git/config: [core]\n\thooksPath = .githooks\n", ".git/hooks/old: x", ".git/objects/", ".git/refs/", ".githooks/h: x",
		"vendor/a/.git/HEAD: x", "vendor/a/.git/config: x", "vendor/a/.git/hooks/", "sub/.git: gitdir: ../real\n", "real/HEAD: x", "real/config: x",
		"own/.git/HEAD: x", "own/.git/config: [core]\n\thooksPath = .\n", "own/pre-commit: x",
		".npmrc -> rc", "rc: x", "src/main.go: x", ".envrc: x")
	if !inside {
		for _, name := range []string{".git/hooks/new", ".git/config.new", "vendor2", "gone", "w"} {
			if _, err := os.Lstat(dir + "/" + name); (err == nil) != (name == "w") {
				t.Errorf("outside, %s: %v", name, err)
			}
		}
		if b, err := os.ReadFile(dir + "/.git/hooks/old"); err != nil || string(b) != "x" {
			t.Errorf("outside, a hook: %q, %v", b, err)
		}
		return
	}
	write := func(name string) error { return os.WriteFile(dir+"/"+name, []byte("evil"), 0o755) }
	move := func(a, b string) error { return os.Rename(dir+"/"+a, dir+"/"+b) }
	for _, name := range []string{".git/hooks/new", ".githooks/new", "vendor/a/.git/hooks/new"} {
		refused(t, "creating "+name, write(name), unix.EROFS)
	}
	for _, name := range []string{".git/config", ".git/hooks/old", "vendor/a/.git/config", "sub/.git", "real/config", ".envrc", "rc", ".npmrc", "own/pre-commit"} {
		refused(t, "writing "+name, overwrite(dir+"/"+name), unix.EROFS)
	}
	if err := errors.Join(write("src/file"), os.Mkdir(dir+"/src/folder", 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".git", ".git/config", ".git/hooks", "vendor", "vendor/a", "vendor/a/.git", "sub", "sub/.git", "real", ".npmrc", ".envrc"} {
		var before, after unix.Stat_t
		if err := unix.Lstat(dir+"/"+name, &before); err != nil {
			t.Fatal(err)
		}
		refused(t, "moving "+name, move(name, name+"-gone"), unix.EBUSY)
		refused(t, "moving it elsewhere", move(name, "src/gone"), unix.EBUSY, unix.EXDEV)
		beside := filepath.Dir(name) + "/beside"
		for _, err := range []error{write(beside), os.Mkdir(dir+"/"+beside+"-folder", 0o755)} {
			if err != nil {
				t.Errorf("beside %s: %v", name, err)
			}
		}
		for _, other := range []string{beside, beside + "-folder", "src/file", "src/folder"} {
			refused(t, "moving "+other+" over "+name, move(other, name), unix.EBUSY, unix.EXDEV, unix.EEXIST, unix.EISDIR, unix.ENOTDIR)
			refused(t, "exchanging it", unix.Renameat2(unix.AT_FDCWD, dir+"/"+name, unix.AT_FDCWD, dir+"/"+other, unix.RENAME_EXCHANGE), unix.EBUSY, unix.EXDEV)
		}
		refused(t, "removing "+name, unix.Unlink(dir+"/"+name), unix.EBUSY, unix.EISDIR)
		if err := unix.Lstat(dir+"/"+name, &after); err != nil || before.Ino != after.Ino {
			t.Errorf("%s is another one now: %v", name, err)
		}
		if err := errors.Join(os.Remove(dir+"/"+beside), os.Remove(dir+"/"+beside+"-folder")); err != nil {
			t.Error(err)
		}
	}
	// Positive control: everything else can be done.
	for what, err := range map[string]error{
		"a file":             write("w"),
		"in .git":            write(".git/index"),
		"replacing in .git":  errors.Join(write(".git/x"), move(".git/x", ".git/HEAD")),
		"moving a folder":    errors.Join(os.Mkdir(dir+"/d", 0o755), move("d", "d2"), os.Remove(dir+"/d2")),
		"beside a nested":    write("vendor/b"),
		"following the link": func() error { _, err := os.ReadFile(dir + "/.npmrc"); return err }(),
		"running a hook":     func() error { _, err := os.ReadFile(dir + "/.githooks/h"); return err }(),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// esc/FS-01, esc/FS-36, esc/FS-38, esc/MD-01, esc/MD-09, esc/NS-08, esc/NS-09: what is not
// granted is not there, and what is denied is empty.
func TestAppliedView(t *testing.T) {
	dir, inside := applied(t, "extends = [\"default\"]\n[filesystem]\nread = [\"BASE/ro\"]\nwrite = [\"BASE/data\"]\ndeny = [\"./secret\", \"./deep/er/key\", \"BASE/ro/hidden\"]\n",
		"secret/id: x", "deep/er/key: x", "deep/er/other: x", "../ro/f: x", "../ro/hidden/id: x", "../data/prog: #!/bin/sh\n", "../out/f: x")
	base := filepath.Dir(dir)
	if !inside {
		if b, err := os.ReadFile(dir + "/secret/id"); err != nil || string(b) != "x" {
			t.Errorf("outside: %q, %v", b, err)
		}
		return
	}
	for _, path := range []string{base + "/out/f", base + "/out", "/etc/shadow", "/root", "/var/log", "/dev/kmsg", "/dev/mem", "/boot", "/oldroot"} {
		_, err := os.Lstat(path)
		refused(t, "looking at "+path, err, unix.ENOENT)
	}
	for _, path := range []string{"/x", "/etc/x", "/usr/x", "/home/x", base + "/ro/x", "/dev/x", "/run/x", dir + "/secret/x", base + "/ro/hidden/x"} {
		refused(t, "creating "+path, os.WriteFile(path, nil, 0o644), unix.EROFS, unix.EACCES, unix.ENOENT)
	}
	for _, path := range []string{"/usr/bin/env", base + "/ro/f", "/etc/passwd", dir + "/deep/er/key"} {
		refused(t, "chmod "+path, os.Chmod(path, 0o777), unix.EROFS)
	}
	for _, path := range []string{dir + "/secret", base + "/ro/hidden"} {
		if list, err := os.ReadDir(path); err != nil || len(list) != 0 {
			t.Errorf("%s holds %v, %v", path, list, err)
		}
	}
	if b, err := os.ReadFile(dir + "/deep/er/key"); err != nil || len(b) != 0 {
		t.Errorf("a denied file: %q, %v", b, err)
	}
	for _, name := range []string{"secret", "deep", "deep/er", "deep/er/key"} {
		refused(t, "moving "+name, os.Rename(dir+"/"+name, dir+"/"+name+"-gone"), unix.EBUSY)
	}
	refused(t, "a program in a no-exec tree", unix.Exec(base+"/data/prog", []string{"prog"}, nil), unix.EACCES)
	passwd, err := os.ReadFile("/etc/passwd")
	if err != nil || strings.Count(string(passwd), "\n") > 3 || !strings.Contains(string(passwd), ":x:"+itoa(os.Getuid())+":") {
		t.Errorf("passwd: %q, %v", passwd, err)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || strings.Contains(string(mounts), "old") {
		t.Errorf("%v\n%s", err, mounts)
	}
	// Positive control.
	for what, err := range map[string]error{
		"writing in a grant":        os.WriteFile(base+"/data/w", nil, 0o644),
		"reading in a grant":        func() error { _, err := os.ReadFile(base + "/ro/f"); return err }(),
		"/tmp":                      os.WriteFile("/tmp/x", nil, 0o644),
		"/dev/shm":                  os.WriteFile("/dev/shm/x", nil, 0o644),
		"/dev/null":                 overwrite("/dev/null"),
		"listing the root":          func() error { _, err := os.ReadDir("/"); return err }(),
		"beside what is denied":     os.WriteFile(dir+"/deep/er/other", nil, 0o644),
		"a program of the system":   exec.Command("/bin/sh", "-c", "test -w /dev/null && test -d /proc/self/fd").Run(),
		"a terminal of one's own":   func() error { _, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0); return err }(),
		"the descriptors by number": func() error { _, err := os.Stat("/dev/fd/0"); return err }(),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// esc/IP-05, esc/IP-12: the one that is listed answers, the others do not.
func TestAppliedSockets(t *testing.T) {
	dir, inside := applied(t, "extends = [\"default\"]\n[filesystem]\nread = [\"BASE/run\"]\n[network]\nunix = [\"BASE/run/db.sock\", \"BASE/else/one.sock\"]\n",
		"s =", "a/b/deep =", "../run/db.sock =", "../run/docker.sock =", "../else/one.sock =", "../else/two.sock =")
	if !inside {
		return
	}
	connect := func(path string) error {
		d, err := os.Open(filepath.Dir(path))
		if err != nil {
			return err
		}
		defer d.Close()
		c, err := net.Dial("unix", fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), filepath.Base(path)))
		if err == nil {
			_ = c.Close()
		}
		return err
	}
	base := filepath.Dir(dir)
	for _, path := range []string{dir + "/s", dir + "/a/b/deep", base + "/run/docker.sock"} {
		refused(t, "connecting to "+path, connect(path), unix.ECONNREFUSED, unix.EACCES)
	}
	refused(t, "connecting beside the listed one", connect(base+"/else/two.sock"), unix.ENOENT)
	for _, path := range []string{base + "/run/db.sock", base + "/else/one.sock"} {
		if err := connect(path); err != nil {
			t.Errorf("connecting to %s: %v", path, err)
		}
	}
	own, err := net.Listen("unix", "/tmp/own.sock")
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	if err := connect("/tmp/own.sock"); err != nil {
		t.Errorf("a socket of one's own: %v", err)
	}
}

// A checkout behind links is found by both spellings.
func TestAppliedLinks(t *testing.T) {
	dir, inside := applied(t, "extends = [\"default\"]\n[filesystem]\nread = [\"BASE/one/two/ro\"]\n",
		"../store/ro/f: x", "../one -> store/links", "../store/links/two -> ../../store")
	if !inside {
		return
	}
	base := filepath.Dir(dir)
	for _, path := range []string{base + "/one/two/ro/f", base + "/store/ro/f", "/bin/sh"} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if got, err := os.Readlink(base + "/one"); err != nil || got != "store/links" {
		t.Errorf("the link is %q, %v", got, err)
	}
	refused(t, "what is beside the links", func() error { _, err := os.Stat(base + "/store/other"); return err }(), unix.ENOENT)
}

// Every descriptor that a plan names holds what is at the place that it names: package
// spawn refuses the start otherwise.
func TestHeldDescriptorsAreWhatThePlanSays(t *testing.T) {
	dir := checkout(t, ".git/HEAD: x", ".git/config: x", ".git/hooks/", "a/b/.git/config: x", ".npmrc -> rc", "rc: x", "s =", "secret/x: x", "v/x: x", "../run/db.sock =")
	p, f := lookInside(t, dir, fmt.Sprintf("extends = [\"default\"]\n[filesystem]\nread = [\"./v\", \"/\"]\ndeny = [\"./secret\"]\n[network]\nunix = [%q]\n", filepath.Dir(dir)+"/run/db.sock"))
	plan := newPlan(p, f, true)
	seen := map[HeldIn]int{}
	for _, m := range plan.Mounts {
		if fd := f.held(m.Held); m.Held.In != HeldNone && m.Held.In < HeldHome {
			seen[m.Held.In]++
			var held, there unix.Stat_t
			err := errors.Join(unix.Fstat(fd, &held), unix.Lstat(firstOf(m.Source, m.Path), &there))
			if err != nil || held.Dev != there.Dev || held.Ino != there.Ino {
				t.Errorf("%s: %v, %d:%d and %d:%d", showMounts([]Mount{m}), err, held.Dev, held.Ino, there.Dev, there.Ino)
			}
		} else if fd != 0 {
			t.Errorf("%+v is held by the facts", m.Held)
		}
	}
	for _, in := range []HeldIn{HeldPath, HeldName, HeldFolder, HeldSocket, HeldUnix, HeldSpread} {
		if seen[in] == 0 {
			t.Errorf("nothing of list %d is mounted", in)
		}
	}
}

// "/" itself can be granted: what the sandbox has of its own stays its own.
func TestAppliedRoot(t *testing.T) {
	needs.LandlockABI(t, 5) // else "/" cannot be granted: it has device files
	exec := `"/usr", "/bin", "/lib"`
	if _, err := os.Stat("/lib64"); err == nil { // Debian has none on arm64
		exec += `, "/lib64"`
	}
	dir, inside := applied(t, "[filesystem]\nread = [\"/\"]\nexec = ["+exec+"]\nwrite = [\".\"]\n", "x: x", "../run-me/x: x")
	if !inside {
		return
	}
	if err := os.WriteFile(dir+"/w", nil, 0o644); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(dir) + "/run-me/x"); strings.HasPrefix(dir, "/tmp/") != errors.Is(err, unix.ENOENT) {
		t.Errorf("what is in the host's /tmp: %v", err)
	}
	if _, err := os.Stat("/etc/hostname"); err != nil {
		t.Error(err)
	}
	refused(t, "writing there", os.WriteFile("/etc/x", nil, 0o644), unix.EROFS)
	if list, err := os.ReadDir("/run"); err != nil || len(list) != 0 {
		t.Errorf("/run holds %v, %v", list, err)
	}
}

// git itself can work in a protected checkout, and cannot change what runs on the host.
func TestAppliedGit(t *testing.T) {
	git := needs.Tool(t, "git")
	if !policy.Below(resolved(git), "/usr") {
		t.Skip("this git lies in no system folder") // gating: where it is installed
	}
	dir := os.Getenv(applyMark)
	if dir == "" {
		dir = checkout(t, "f: x")
		gitRun(t, git, dir, "init", "-q")
		gitRun(t, git, dir, "commit", "-q", "--allow-empty", "-m", "x")
		gitRun(t, git, dir, "worktree", "add", "-q", filepath.Dir(dir)+"/wt")
		dir = filepath.Dir(dir) + "/wt"
	}
	if !inNamespaces(t, dir) {
		return
	}
	p, f := lookInside(t, dir, "")
	plan := newPlan(p, f, true)
	if plan.Refusal != nil {
		t.Fatalf("refused: %+v", plan.Refusal)
	}
	f.Close()
	enter(t, plan, f)
	main := filepath.Dir(dir) + "/co"
	run := func(args ...string) error {
		cmd := exec.Command(git, append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=b"}, args...)...)
		cmd.Env = []string{"HOME=/tmp", "PATH=/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM=1"}
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("git %q: %w\n%s", args, err, out)
		}
		return nil
	}
	if err := errors.Join(os.WriteFile(dir+"/new", []byte("x"), 0o644), run("add", "new"), run("commit", "-q", "-m", "y"), run("status"), run("branch", "b")); err != nil {
		t.Error(err)
	}
	if err := run("config", "core.fsmonitor", "evil"); err == nil {
		t.Error("the configuration was changed")
	}
	refused(t, "a hook", os.WriteFile(main+"/.git/hooks/pre-commit", nil, 0o755), unix.EROFS)
	refused(t, "another common directory", overwrite(main+"/.git/worktrees/wt/commondir"), unix.EROFS)
	refused(t, "another git directory", overwrite(dir+"/.git"), unix.EROFS)
}
