package needs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func tryLandlock(abi int) error {
	got, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return os.NewSyscallError("landlock_create_ruleset", errno)
	}
	if int(got) < abi {
		return fmt.Errorf("the kernel has ABI %d", got)
	}
	return nil
}

func tryKernel() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	// Not /proc/self, which emulators know.
	exe, err := os.Readlink("/proc/thread-self/exe")
	if err == nil && exe != self {
		err = errors.New("its program is " + exe)
	}
	if err != nil {
		return fmt.Errorf("/proc/thread-self/exe: %w", err)
	}
	from, to := []byte("k"), make([]byte, 1)
	local := []unix.Iovec{{Base: &to[0], Len: 1}}
	remote := []unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(&from[0])), Len: 1}}
	if _, err := unix.ProcessVMReadv(os.Getpid(), local, remote, 0); err != nil || to[0] != 'k' {
		return fmt.Errorf("process_vm_readv: %w", err)
	}
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	root, err := unix.Openat2(unix.AT_FDCWD, "/", &how)
	if err != nil {
		return fmt.Errorf("openat2: %w", err)
	}
	_ = unix.Close(root)
	fd := -1
	cmd := exec.CommandContext(context.Background(), self, "-test.run=^$")
	cmd.SysProcAttr = &syscall.SysProcAttr{PidFD: &fd, Pdeathsig: unix.SIGKILL}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("clone with CLONE_PIDFD: %w", err)
	}
	err = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed, or was faster
	if fd >= 0 {
		_ = unix.Close(fd)
	}
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

func trySysResource() error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have [2]unix.CapUserData
	if err := unix.Capget(&head, &have[0]); err != nil {
		return err
	}
	if have[0].Permitted&(1<<unix.CAP_SYS_RESOURCE) == 0 {
		return errors.New("no CAP_SYS_RESOURCE")
	}
	return nil
}

// trySeccomp asks to load a filter at the null address: the kernel looks at
// the flags first and answers EFAULT when it would have loaded one.
func trySeccomp() error { return tryFilter(0) }

func tryNotify() error {
	return tryFilter(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
}

func tryFilter(flags uintptr) error {
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, 0)
	if errno != unix.EFAULT {
		return os.NewSyscallError("seccomp", errno)
	}
	return nil
}

func tryUserns() error { return tryClone(unix.CLONE_NEWUSER, unix.CLONE_NEWNS) }

func tryNetns() error {
	if os.Geteuid() == 0 {
		return tryClone(unix.CLONE_NEWNET, 0)
	}
	return tryClone(unix.CLONE_NEWUSER|unix.CLONE_NEWNET, 0)
}

// tryClone starts this program with the namespaces, up to the execve, and ends
// it. With CLONE_NEWNS in unshare the start includes the mount that makes the
// root private.
func tryClone(clone, unshare uintptr) error {
	attr := &syscall.SysProcAttr{Cloneflags: clone, Unshareflags: unshare, Pdeathsig: unix.SIGKILL}
	if clone&unix.CLONE_NEWUSER != 0 {
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	// The program has no test of this name; only its start matters.
	cmd := exec.CommandContext(context.Background(), "/proc/self/exe", "-test.run=^$")
	cmd.SysProcAttr = attr
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("clone with flags %#x, unshare %#x: %w", clone, unshare, err)
	}
	err := cmd.Process.Kill()
	_ = cmd.Wait() // it was killed, or was faster
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

func tryRoot() error {
	if uid := os.Geteuid(); uid != 0 {
		return fmt.Errorf("uid %d is not root", uid)
	}
	return nil
}

func tryUser() error {
	if os.Geteuid() == 0 {
		return errors.New("this is root")
	}
	return nil
}

func tryTTY() error {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer master.Close()
	var unlock int32
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, master.Fd(), unix.TIOCSPTLCK, uintptr(unsafe.Pointer(&unlock)))
	if errno != 0 {
		return os.NewSyscallError("ioctl TIOCSPTLCK", errno)
	}
	peer, _, errno := unix.Syscall(unix.SYS_IOCTL, master.Fd(), unix.TIOCGPTPEER,
		uintptr(unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC))
	if errno != 0 {
		return os.NewSyscallError("ioctl TIOCGPTPEER", errno)
	}
	return os.NewSyscallError("close", unix.Close(int(peer)))
}

func tryTool(name string) (string, error) {
	path, err := tryProgram(name)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%q --version: %w: %s", path, err, bytes.TrimSpace(out))
	}
	return path, nil
}

func tryProgram(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

func tryOverlay(dir string) error {
	return tryScript(dir, `
mkdir lower upper work merged
mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work merged
: >merged/file`)
}

func tryCasefold(dir string) error {
	return tryScript(dir, `
truncate -s 8M image
mkfs.ext4 -q -O casefold -E encoding=utf8 image
mkdir at
mount -o loop image at
mkdir at/fold
chattr +F at/fold
: >at/fold/NAME
test -e at/fold/name`)
}

func tryBtrfs(dir string) error {
	return tryScript(dir, `
truncate -s 128M image
mkfs.btrfs -q image
mkdir at
mount -t btrfs -o loop image at
: >at/file`)
}

func tryExt4(dir string) error {
	return tryScript(dir, `
truncate -s 8M image
mkfs.ext4 -q image
mkdir at
mount -t ext4 -o loop image at
: >at/file`)
}

// tryXFS makes the smallest image that mkfs.xfs(8) makes since version 6.
func tryXFS(dir string) error {
	return tryScript(dir, `
truncate -s 300M image
mkfs.xfs -q image
mkdir at
mount -t xfs -o loop image at
: >at/file`)
}

func tryVFAT(dir string) error {
	return tryScript(dir, `
truncate -s 8M image
mkfs.vfat image
mkdir at
mount -t vfat -o loop image at
: >at/file`)
}

func tryFUSE(dir string) error {
	return tryScript(dir, `
mkdir from at
bindfs from at
: >at/file
umount at`)
}

// tryScript runs a shell script in dir, in a mount namespace of its own, so
// that what it mounts ends with it.
func tryScript(dir, script string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-ec", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin", "LC_ALL=C")
	cmd.SysProcAttr = ownMounts()
	cmd.SysProcAttr.Pdeathsig = unix.SIGKILL
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, strings.ReplaceAll(string(bytes.TrimSpace(out)), "\n", "; "))
	}
	return nil
}
