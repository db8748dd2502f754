package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/vmjob"
)

// place is one mount. dir is made before.
type place struct {
	source, dir, kind, data string
	flags                   uintptr
}

// system is what is mounted once the root file system is the disk's.
func system() []place {
	const quiet = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	return []place{
		{"proc", "/proc", "proc", "", quiet},
		{"sysfs", "/sys", "sysfs", "", quiet},
		{"devtmpfs", "/dev", "devtmpfs", "mode=0755", unix.MS_NOSUID},
		{"devpts", "/dev/pts", "devpts", "gid=5,mode=620,ptmxmode=666", unix.MS_NOSUID | unix.MS_NOEXEC},
		{"tmpfs", "/dev/shm", "tmpfs", "mode=1777", unix.MS_NOSUID | unix.MS_NODEV},
		{"tmpfs", "/run", "tmpfs", "mode=0755", unix.MS_NOSUID | unix.MS_NODEV},
		{"cgroup2", "/sys/fs/cgroup", "cgroup2", "", quiet},
		{"securityfs", "/sys/kernel/security", "securityfs", "", quiet},
		{vmjob.DiskPayload, vmjob.Payload, "ext4", "", unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV},
	}
}

// prepare makes a system of what the kernel has started: modules, the disk as the root,
// mounts, the user's folders and the control groups.
func prepare() error {
	if err := loadModules("/modules"); err != nil {
		return err
	}
	if err := diskAsRoot(); err != nil {
		return err
	}
	for _, p := range system() {
		if err := os.MkdirAll(p.dir, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(p.source, p.dir, p.kind, p.flags, p.data); err != nil {
			return fmt.Errorf("mount %s: %w", p.dir, err)
		}
	}
	// As systemd leaves it: what a mount does is seen elsewhere.
	if err := unix.Mount("", "/", "", unix.MS_SHARED|unix.MS_REC, ""); err != nil {
		return err
	}
	return errors.Join(devices(), settings(), folders(), controllers(vmjob.Group))
}

// loadModules loads the modules of dir in the order of its list.
func loadModules(dir string) error {
	list, err := os.Open(filepath.Join(dir, "list"))
	if err != nil {
		return err
	}
	defer list.Close()
	lines := bufio.NewScanner(list)
	for lines.Scan() {
		f, err := os.Open(filepath.Join(dir, lines.Text()))
		if err != nil {
			return err
		}
		err = unix.FinitModule(int(f.Fd()), "", 0)
		_ = f.Close()
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("module %s: %w", lines.Text(), err)
		}
	}
	return lines.Err()
}

// diskAsRoot mounts the disk over the initial file system, which cannot be left by
// pivot_root(2), and makes it the root.
func diskAsRoot() error {
	for _, dir := range []string{"/dev", "/root"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := unix.Mount("devtmpfs", "/dev", "devtmpfs", 0, ""); err != nil && !errors.Is(err, unix.EBUSY) {
		return fmt.Errorf("mount /dev: %w", err)
	}
	for _, disk := range []string{vmjob.DiskRoot, vmjob.DiskPayload, vmjob.DiskResults} {
		if err := waitFor(disk, time.Minute); err != nil {
			return err
		}
	}
	if err := unix.Mount(vmjob.DiskRoot, "/root", "ext4", 0, ""); err != nil {
		return fmt.Errorf("mount the root: %w", err)
	}
	if err := os.Chdir("/root"); err != nil {
		return err
	}
	if err := unix.Mount(".", "/", "", unix.MS_MOVE, ""); err != nil {
		return fmt.Errorf("move the root: %w", err)
	}
	return errors.Join(unix.Chroot("."), os.Chdir("/"))
}

// waitFor waits until a device is there: the kernel looks for disks in its own time.
func waitFor(name string, most time.Duration) error {
	for end := time.Now().Add(most); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(name); err == nil {
			return nil
		} else if time.Now().After(end) {
			return err
		}
	}
}

// devices are the links that udev would make.
func devices() error {
	var errs []error
	for name, target := range map[string]string{"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"} {
		if err := os.Symlink(target, "/dev/"+name); err != nil && !errors.Is(err, os.ErrExist) {
			errs = append(errs, err)
		}
	}
	if _, err := os.Lstat("/dev/ptmx"); err == nil {
		errs = append(errs, os.Chmod("/dev/ptmx", 0o666))
	}
	return errors.Join(errs...)
}

// settings are the kernel's, as Debian sets them, and the loopback interface.
func settings() error {
	if err := unix.Sethostname([]byte("vm")); err != nil {
		return err
	}
	for name, value := range map[string]string{
		"/proc/sys/kernel/printk": "1", "/proc/sys/net/ipv4/ping_group_range": "0 2147483647",
		"/proc/sys/fs/protected_hardlinks": "1", "/proc/sys/fs/protected_symlinks": "1",
	} {
		if err := os.WriteFile(name, []byte(value), 0); err != nil {
			return err
		}
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	ifr, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	ifr.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifr)
}

// folders are those that every user may write, and the ordinary user's home.
func folders() error {
	const home = "/home/user"
	return errors.Join(
		os.MkdirAll("/tmp", 0o755), os.Chmod("/tmp", 0o777|os.ModeSticky),
		os.MkdirAll("/var/tmp", 0o755), os.Chmod("/var/tmp", 0o777|os.ModeSticky),
		os.MkdirAll("/root", 0o700), os.Chmod("/root", 0o700),
		os.MkdirAll(home, 0o755), os.Chmod(home, 0o700), os.Chown(home, vmjob.UID, vmjob.GID),
		os.MkdirAll("/run/user/1000", 0o700), os.Chown("/run/user/1000", vmjob.UID, vmjob.GID))
}

// controllers makes a group for the jobs' groups, with every controller that limits need.
func controllers(group string) error {
	if err := os.Mkdir(group, 0o755); err != nil {
		return err
	}
	for _, dir := range []string{filepath.Dir(group), group} {
		if err := enable(dir); err != nil {
			return err
		}
	}
	return nil
}

// enable gives the groups below dir the controllers.
func enable(dir string) error {
	words := "+" + strings.Join([]string{"memory", "pids", "cpu"}, " +")
	return os.WriteFile(dir+"/cgroup.subtree_control", []byte(words), 0)
}
