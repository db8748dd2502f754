package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"brainbox/internal/namescan"
)

// scanNames is how many names are scanned: as many as one start reads at most.
const scanNames = 100_000

// The two ways through a tree.
const scanned, bareCalls = "the scan", "bare calls"

// scanRows measures the names-only scan of a tree of 100 000 names, ten a folder, beside
// the system calls of that alone: openat2, getdents64 and close, of folders whose names are
// known, and nothing looked at.
func (o *options) scanRows() ([]row, error) {
	top := filepath.Join(o.root, "names")
	for n := 0; n < scanNames; n += 10 {
		dir := filepath.Join(top, fmt.Sprintf("a%02d/b%02d/c%03d", n%200/10, n/200%20, n/4000))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		for i := range 10 {
			if err := os.WriteFile(fmt.Sprintf("%s/file-%d.txt", dir, i), nil, 0o644); err != nil {
				return nil, err
			}
		}
	}
	f, err := os.Open(top)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var folders [][]byte
	err = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			folders = append(folders, append([]byte("."+strings.TrimPrefix(path, top)), 0))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	count := 0
	got, err := interleave([]string{scanned, bareCalls}, o.warm, o.long, func(name string) (sample, error) {
		before := time.Now()
		if name == scanned {
			res, err := namescan.Scan(int(f.Fd()), namescan.Options{})
			count = res.Count
			return sample{ms: float64(time.Since(before).Nanoseconds()) / 1e6}, err
		}
		err := bareScan(int(f.Fd()), folders)
		return sample{ms: float64(time.Since(before).Nanoseconds()) / 1e6}, err
	})
	if err != nil {
		return nil, err
	}
	name := 1e3 / float64(count) // µs a name for each ms
	return []row{
		bounded("µs a name, scan of 100 000 names", got.time(scanned).times(name), 0.4),
		plain("µs a name, its system calls alone", got.time(bareCalls).times(name), "%.2f"),
		plain("the scan, × its system calls", got.ratio(scanned, bareCalls), "%.2f"),
	}, nil
}

// bareScan reads all folders and looks at nothing.
func bareScan(top int, folders [][]byte) error {
	buf := make([]byte, 64<<10)
	how := unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV,
	}
	for _, dir := range folders {
		fd, _, e := unix.RawSyscall6(unix.SYS_OPENAT2, uintptr(top), uintptr(unsafe.Pointer(&dir[0])),
			uintptr(unsafe.Pointer(&how)), unix.SizeofOpenHow, 0, 0)
		if e != 0 {
			return os.NewSyscallError("openat2", e)
		}
		for n := uintptr(1); n != 0; {
			if n, _, e = unix.RawSyscall(unix.SYS_GETDENTS64, fd, uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf))); e != 0 {
				return os.NewSyscallError("getdents64", e)
			}
		}
		_ = unix.Close(int(fd))
	}
	return nil
}
