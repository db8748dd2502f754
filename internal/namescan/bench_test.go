package namescan

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// benchTree makes a tree like a checkout with its dependencies: 10 names a folder.
func benchTree(b *testing.B, names int) string {
	b.Helper()
	top := b.TempDir()
	for n, dir := 0, 0; n < names; dir++ {
		d := fmt.Sprintf("%s/pkg%02d/mod%02d/dir%02d", top, dir%20, dir/20%20, dir/400)
		if err := os.MkdirAll(d, 0o755); err != nil {
			b.Fatal(err)
		}
		for f := range 9 {
			if err := os.WriteFile(fmt.Sprintf("%s/file-%d.txt", d, f), nil, 0o644); err != nil {
				b.Fatal(err)
			}
		}
		n += 10
	}
	return top
}

func treeFor(b *testing.B) string {
	if t := os.Getenv("NAMESCAN_TREE"); t != "" {
		return t
	}
	return benchTree(b, 20000)
}

func BenchmarkScan(b *testing.B) {
	fd := open(b, treeFor(b))
	n := 0
	b.ResetTimer()
	for range b.N {
		res, err := Scan(fd, Options{})
		if err != nil {
			b.Fatal(err)
		}
		n = res.Count
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/name")
	b.ReportMetric(float64(n), "names")
}

// BenchmarkFloor is what the kernel alone takes: openat2, getdents64 until the end and
// close of the same folders, with raw calls and nothing looked at.
func BenchmarkFloor(b *testing.B) {
	top := treeFor(b)
	fd := open(b, top)
	res, err := Scan(fd, Options{})
	if err != nil {
		b.Fatal(err)
	}
	var dirs [][]byte
	_ = filepath.WalkDir(top, func(p string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			if d.Name() == ".git" {
				return filepath.SkipDir
			}
			rel, _ := filepath.Rel(top, p)
			dirs = append(dirs, append([]byte(rel), 0))
		}
		return nil
	})
	buf := make([]byte, bufferSize)
	how := unix.OpenHow{Flags: openFlags, Resolve: resolve}
	b.ResetTimer()
	for range b.N {
		for _, d := range dirs {
			sub, _, e := unix.RawSyscall6(unix.SYS_OPENAT2, uintptr(fd), uintptr(unsafe.Pointer(&d[0])), uintptr(unsafe.Pointer(&how)), unix.SizeofOpenHow, 0, 0)
			if e != 0 {
				continue
			}
			for {
				n, _, _ := unix.RawSyscall(unix.SYS_GETDENTS64, sub, uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)))
				if int(n) <= 0 {
					break
				}
			}
			_, _, _ = unix.RawSyscall(unix.SYS_CLOSE, sub, 0, 0)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*res.Count), "ns/name")
	b.ReportMetric(float64(len(dirs)), "folders")
}
