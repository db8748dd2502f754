package seccomp

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// dirVar passes a folder to the child.
const dirVar = "BRAINBOX_TEST_SECCOMP_DIR"

// filtered runs body without a filter and then, in a child, under the filter of
// o. dir is the same for both; what body leaves there is for the caller.
func filtered(t *testing.T, o Options, dir string) (child bool) {
	t.Helper()
	needs.Seccomp(t)
	if !needs.IsChild(t) {
		needs.RunChild(t, dirVar+"="+dir)
		return false
	}
	p, err := Default(o)
	if err != nil {
		t.Fatal(err)
	}
	load(t, p)
	return true
}

func workDir(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv(dirVar); dir != "" {
		return dir
	}
	return t.TempDir()
}

// TestSetIDBits is esc/MD-08 on files.
func TestSetIDBits(t *testing.T) {
	dir := workDir(t)
	file := filepath.Join(dir, "f")
	if !needs.IsChild(t) {
		if err := os.WriteFile(file, nil, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := unix.Chmod(file, 0o4755); err != nil || mode(t, file)&fs.ModeSetuid == 0 {
			t.Fatalf("without a filter: chmod = %v", err) // the positive control
		}
		if err := unix.Chmod(file, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if !filtered(t, Options{}, dir) {
		if got := mode(t, file); got != 0o2750 && got != fs.ModeSetgid|0o750 {
			t.Errorf("mode after the child = %v, want what it set last", got)
		}
		return
	}
	for name, chmod := range map[string]func() error{
		"chmod":     func() error { return unix.Chmod(file, 0o4755) },
		"fchmodat":  func() error { return unix.Fchmodat(unix.AT_FDCWD, file, 0o6755, 0) },
		"fchmodat2": func() error { return unix.Fchmodat(unix.AT_FDCWD, file, 0o4755, unix.AT_SYMLINK_NOFOLLOW) },
		"mknod":     func() error { return unix.Mknod(filepath.Join(dir, "n"), unix.S_IFREG|0o4755, 0) },
		"device":    func() error { return unix.Mknod(filepath.Join(dir, "d"), unix.S_IFCHR|0o600, 0x103) },
	} {
		if err := chmod(); !errors.Is(err, unix.EPERM) {
			t.Errorf("%s = %v, want EPERM", name, err)
		}
	}
	if got := mode(t, file); got != 0o700 {
		t.Errorf("mode = %v, want it unchanged", got)
	}
	if err := unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Errorf("mkfifo = %v", err)
	}
	if err := unix.Chmod(file, 0o2750); err != nil {
		t.Errorf("chmod g+s = %v: folders need it, and the call does not show the type", err)
	}
	// An ordinary user's open is not filtered: the walk after the run finds this.
	fd, err := unix.Open(filepath.Join(dir, "s"), unix.O_CREAT|unix.O_WRONLY, 0o4755)
	if err != nil {
		t.Errorf("open of a set-id file = %v, want it open without KeepsRoot", err)
	}
	_ = unix.Close(fd)
}

func mode(t *testing.T, file string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}

// TestKeepsRoot is the rule for a program that keeps user id 0.
func TestKeepsRoot(t *testing.T) {
	dir := workDir(t)
	if !filtered(t, Options{KeepsRoot: true}, dir) {
		names, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil || len(names) != 1 || filepath.Base(names[0]) != "plain" {
			t.Errorf("left behind: %v, %v; want the plain file only", names, err)
		}
		return
	}
	for _, bits := range []uint32{0o4755, 0o2755, 0o6000} {
		_, err := unix.Open(filepath.Join(dir, "s"), unix.O_CREAT|unix.O_WRONLY, bits)
		if !errors.Is(err, unix.EPERM) {
			t.Errorf("open with mode %#o = %v, want EPERM", bits, err)
		}
		if _, err = unix.Open(dir, unix.O_TMPFILE|unix.O_WRONLY, bits); !errors.Is(err, unix.EPERM) {
			t.Errorf("open of a file without a name with mode %#o = %v, want EPERM", bits, err)
		}
	}
	how := unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY, Mode: 0o4755}
	if _, err := unix.Openat2(unix.AT_FDCWD, filepath.Join(dir, "s"), &how); !errors.Is(err, unix.ENOSYS) {
		t.Errorf("openat2 = %v, want ENOSYS", err)
	}
	file := filepath.Join(dir, "plain")
	fd, err := unix.Open(file, unix.O_CREAT|unix.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.Close(fd)
	// Without O_CREAT the mode is what the register held.
	if fd, err = unix.Open(file, unix.O_RDONLY, 0o6777); err != nil {
		t.Errorf("open of a file that exists = %v", err)
	}
	_ = unix.Close(fd)
}

// TestThreadsAndProgramsStart shows that clone3 is not missed: esc/NS-03.
func TestThreadsAndProgramsStart(t *testing.T) {
	if !filtered(t, Options{}, "") {
		return
	}
	var started sync.WaitGroup
	release := make(chan struct{})
	for range 20 { // each goroutine holds a thread of its own
		started.Add(1)
		go func() {
			var ts unix.Timespec
			_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
			started.Done()
			<-release
		}()
	}
	started.Wait()
	close(release)
	out, err := exec.Command("/bin/sh", "-c", "/bin/echo $(echo a | cat) & wait").CombinedOutput()
	if err != nil || string(out) != "a\n" {
		t.Errorf("sh = %q, %v", out, err)
	}
}

// TestFilterStatus is esc/SC-15, SC-06 and SC-09.
func TestFilterStatus(t *testing.T) {
	if !filtered(t, Options{}, "") {
		return
	}
	status, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nNoNewPrivs:\t1\n", "\nSeccomp:\t2\n"} {
		if !strings.Contains(string(status), want) {
			t.Errorf("status lacks %q:\n%s", want, status)
		}
	}
	for _, nr := range []uintptr{472, 473, 475, 480, 599, 1000} {
		if _, _, e := unix.RawSyscall(nr, 0, 0, 0); e != unix.ENOSYS {
			t.Errorf("call %d = %v, want ENOSYS", nr, e)
		}
	}
	everything := Program{{Code: opRetK, K: uint32(Allow)}}
	if err := setFilter(everything, 0); err != nil {
		t.Fatalf("a filter inside a filter: %v", err)
	}
	if _, _, e := unix.RawSyscall(unix.SYS_UNSHARE, unix.CLONE_NEWUTS, 0, 0); e != unix.EPERM {
		t.Errorf("unshare under an inner filter that allows = %v, want EPERM", e)
	}
}
