package landlock

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// refusal is what Landlock answers to nearly everything.
func refusal() []unix.Errno { return []unix.Errno{unix.EACCES} }

func TestEscapeContent(t *testing.T) {
	out, noWrite := []string{zoneOut}, []string{zoneOut, zoneRead, zoneExec}
	flags := func(name string, flags int) func(*testing.T, place) func() error {
		return now(func(p place) error { return open(p.at(name), flags) })
	}
	for _, a := range []attempt{
		{"esc/FS-01 read a file", 1, out, zoneRead, refusal(), flags("f", unix.O_RDONLY)},
		{"esc/FS-01 read a file deeper", 1, out, zoneRead, refusal(), flags("dir/f", unix.O_RDONLY)},
		{"esc/FS-02 read by a relative path", 1, out, zoneRead, refusal(), now(func(p place) error {
			if err := unix.Chdir(p.at("")); err != nil {
				return err
			}
			return open("f", unix.O_RDONLY)
		})},
		{"esc/FS-03 read through dots", 1, out, zoneRead, refusal(), now(func(p place) error {
			return open(p.root+"/"+zoneWrite+"/dir/./..//../"+p.zone+"/f", unix.O_RDONLY)
		})},
		{"esc/FS-04 list a folder", 1, out, zoneRead, refusal(), flags("dir", unix.O_RDONLY|unix.O_DIRECTORY)},
		{"esc/FS-05 create a file", 1, noWrite, zoneWrite, refusal(), flags("new", unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)},
		{"esc/FS-06 open for writing", 1, noWrite, zoneWrite, refusal(), flags("f", unix.O_WRONLY)},
		{"esc/FS-06 open for appending", 1, noWrite, zoneWrite, refusal(), flags("f", unix.O_WRONLY|unix.O_APPEND)},
		{"esc/FS-07 O_RDONLY and O_TRUNC", 3, noWrite, zoneWrite, refusal(), flags("f", unix.O_RDONLY|unix.O_TRUNC)},
		{"esc/FS-08 truncate by path", 3, noWrite, zoneWrite, refusal(), now(func(p place) error {
			return unix.Truncate(p.at("f"), 0)
		})},
		{"esc/FS-08 creat over a file", 3, noWrite, zoneWrite, refusal(), now(func(p place) error {
			return open(p.at("f"), unix.O_CREAT|unix.O_WRONLY|unix.O_TRUNC)
		})},
		{"esc/FS-22 write through a symbolic link", 1, noWrite, zoneAlso, refusal(), now(func(p place) error {
			link := p.in(zoneWrite, "link-to-"+p.zone)
			if err := os.Symlink(p.at("f"), link); err != nil {
				return err
			}
			return open(link, unix.O_WRONLY)
		})},
		{"esc/FS-23 read by /proc/self/root", 1, out, zoneRead, refusal(), now(func(p place) error {
			return open("/proc/self/root"+p.at("f"), unix.O_RDONLY)
		})},
		{"esc/FS-23 read by /proc/self/cwd", 1, out, zoneRead, refusal(), now(func(p place) error {
			if err := unix.Chdir(p.at("")); err != nil {
				return err
			}
			return open("/proc/self/cwd/f", unix.O_RDONLY)
		})},
		{"esc/FS-24 reopen an O_PATH descriptor", 1, noWrite, zoneWrite, refusal(), reopen(unix.O_PATH, unix.O_RDWR)},
		{"esc/FS-25 reopen for writing", 1, noWrite, zoneWrite, refusal(), reopen(unix.O_RDONLY, unix.O_RDWR)},
		{"esc/FS-37 write to a FIFO", 1, noWrite, zoneWrite, refusal(), flags("fifo", unix.O_RDWR)},
	} {
		t.Run(a.name, a.run)
	}
}

// reopen opens the zone's file before the child is confined, and again through
// /proc afterwards.
func reopen(before, after int) func(*testing.T, place) func() error {
	return func(t *testing.T, p place) func() error {
		t.Helper()
		fd, err := unix.Open(p.at("f"), before|unix.O_CLOEXEC, 0)
		must(t, err)
		return func() error { return open(fmt.Sprintf("/proc/self/fd/%d", fd), after) }
	}
}

func TestEscapeNames(t *testing.T) {
	noWrite := []string{zoneOut, zoneRead, zoneExec}
	name := func(do func(string) error, name string) func(*testing.T, place) func() error {
		return now(func(p place) error { return do(p.at(name)) })
	}
	for _, a := range []attempt{
		{"esc/FS-09 unlink", 1, noWrite, zoneWrite, refusal(), name(unix.Unlink, "f")},
		{"esc/FS-09 rmdir", 1, noWrite, zoneWrite, refusal(), name(unix.Rmdir, "empty")},
		{"esc/FS-10 mkdir", 1, noWrite, zoneWrite, refusal(), name(mkdir, "new")},
		{"esc/FS-10 symlink", 1, noWrite, zoneWrite, refusal(), name(symlink, "new")},
		{"esc/FS-10 mkfifo", 1, noWrite, zoneWrite, refusal(), name(mkfifo, "new")},
		{"esc/FS-10 bind a Unix socket", 1, noWrite, zoneWrite, refusal(), now(bindPath)},
		{"esc/FS-12 rename out of a write grant", 2, noWrite, zoneAlso, refusal(), now(func(p place) error {
			return unix.Rename(p.in(zoneWrite, "f"), p.at("new"))
		})},
		{"esc/FS-13 rename into a write grant", 2, noWrite, zoneAlso, refusal(), now(func(p place) error {
			return unix.Rename(p.at("f"), p.in(zoneWrite, "stolen-from-"+p.zone))
		})},
		{"esc/FS-14 exchange two files", 2, noWrite, zoneAlso, refusal(), now(func(p place) error {
			return unix.Renameat2(unix.AT_FDCWD, p.in(zoneWrite, "f"), unix.AT_FDCWD, p.at("f"), unix.RENAME_EXCHANGE)
		})},
		{"esc/FS-14 exchange two files, the other way", 2, noWrite, zoneAlso, refusal(), now(func(p place) error {
			return unix.Renameat2(unix.AT_FDCWD, p.at("f"), unix.AT_FDCWD, p.in(zoneWrite, "f"), unix.RENAME_EXCHANGE)
		})},
		{"esc/FS-16 esc/FS-17 hard link into a write grant", 2, noWrite, zoneAlso, linkRefusal(), now(func(p place) error {
			return unix.Link(p.at("f"), p.in(zoneWrite, "alias-of-"+p.zone))
		})},
		{"esc/FS-18 hard link an O_PATH descriptor", 2, noWrite, zoneAlso, linkRefusal(), linkHeld},
		{"esc/FS-19 hard link an empty path", 2, noWrite, zoneAlso, linkEmptyRefusal(), linkEmpty},
		{"esc/FS-20 link a nameless file", 2, noWrite, zoneAlso, refusal(), now(linkNameless)},
		{"esc/FS-20 make a nameless file", 1, noWrite, zoneWrite, refusal(), now(func(p place) error {
			return open(p.at(""), unix.O_TMPFILE|unix.O_RDWR)
		})},
	} {
		t.Run(a.name, a.run)
	}
}

// linkRefusal is EXDEV where the folder does not give REFER, else EACCES.
func linkRefusal() []unix.Errno { return []unix.Errno{unix.EXDEV, unix.EACCES} }

func mkdir(path string) error   { return unix.Mkdir(path, 0o755) }
func mkfifo(path string) error  { return unix.Mkfifo(path, 0o644) }
func symlink(path string) error { return unix.Symlink("/", path) }

func bindPath(p place) error {
	// The path is longer than a socket address: the folder's descriptor is short.
	dir, err := unix.Open(p.at(""), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(dir) }()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	return unix.Bind(fd, &unix.SockaddrUnix{Name: fmt.Sprintf("/proc/self/fd/%d/s", dir)})
}

func linkHeld(t *testing.T, p place) func() error {
	t.Helper()
	fd := hold(t, p.at("f"))
	return func() error {
		return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD,
			p.in(zoneWrite, "alias-of-"+p.zone), unix.AT_SYMLINK_FOLLOW)
	}
}

// linkEmptyRefusal has ENOENT for a program without CAP_DAC_READ_SEARCH on an
// older kernel.
func linkEmptyRefusal() []unix.Errno { return append(linkRefusal(), unix.ENOENT) }

// linkEmpty needs CAP_DAC_READ_SEARCH, or a descriptor of its own credentials;
// where the control zone cannot do it either, an open stands for it.
func linkEmpty(t *testing.T, p place) func() error {
	t.Helper()
	fd := hold(t, p.at("f"))
	return func() error {
		err := unix.Linkat(fd, "", unix.AT_FDCWD, p.in(zoneWrite, "alias-of-"+p.zone), unix.AT_EMPTY_PATH)
		if p.zone == zoneAlso && errors.Is(err, unix.ENOENT) {
			return open(p.at("f"), unix.O_RDWR)
		}
		return err
	}
}

func linkNameless(p place) error {
	fd, err := unix.Open(p.in(zoneWrite, ""), unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, p.at("new"),
		unix.AT_SYMLINK_FOLLOW)
}

func TestEscapeExecution(t *testing.T) {
	start := func(p place) error { return exec.Command(p.at("prog")).Run() }
	for _, a := range []attempt{
		{"esc/FS-26 execute outside every grant", 1, []string{zoneOut}, zoneExec, refusal(), now(start)},
		{"esc/FS-26 execute with read alone", 1, []string{zoneRead}, zoneExec, refusal(), now(start)},
		{"esc/FS-27 execute with write alone", 1, []string{zoneWrite}, zoneFull, refusal(), now(start)},
		{"esc/FS-27 execute what was just written", 1, []string{zoneWrite}, zoneFull, refusal(), now(func(p place) error {
			if err := os.WriteFile(p.at("prog"), []byte(script), 0o755); err != nil {
				return err
			}
			return exec.Command(p.at("prog")).Run()
		})},
	} {
		t.Run(a.name, a.run)
	}
}

func TestEscapeOwnRoot(t *testing.T) {
	attempt{
		"esc/FS-32 rename a write grant's own root", 2,
		[]string{zoneOut},
		zoneAlso, refusal(),
		now(func(p place) error {
			if p.zone == zoneOut {
				return unix.Rename(p.in(zoneWrite, ""), filepath.Join(p.root, "moved"))
			}
			return unix.Rename(p.at("dir"), p.at("moved"))
		}),
	}.run(t)
}
