package explain

import (
	"os"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"brainbox/internal/notify"
	"brainbox/seccomp"
)

// What See adds to an allowed openat(2), without the notification and the plan's own answer.
func BenchmarkSee(b *testing.B) {
	dir := realTemp(b)
	put(b, dir, "a/b/c/", "a/b/c/f", "l -> a/b/c")
	b.Chdir(dir + "/a/b/c")
	fd, err := unix.Open(dir+"/a/b/c", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer unix.Close(fd)
	cwd := unix.AT_FDCWD
	for _, bc := range []struct {
		name, path string
		dir, flags int
	}{
		{"absolute", dir + "/a/b/c/f", cwd, 0},
		{"cwd", "f", cwd, 0},
		{"dirfd", "f", fd, 0},
		{"link", dir + "/l/f", cwd, 0},
		{"absent", dir + "/a/b/c/n", cwd, 0},
		{"create", dir + "/a/b/c/n", cwd, unix.O_CREAT | unix.O_EXCL},
	} {
		b.Run(bc.name, func(b *testing.B) {
			w := newWatch(b, Config{Judge: grants{below: []string{dir}}})
			nr, _ := seccomp.Number(runtime.GOARCH, "openat")
			name := append([]byte(bc.path), 0)
			var pin runtime.Pinner
			defer pin.Unpin()
			pin.Pin(&name[0])
			at := uint64(uintptr(unsafe.Pointer(&name[0])))
			c := &notify.Call{TID: w.tid, Nr: int(nr), Args: [6]uint64{uint64(bc.dir), at, uint64(bc.flags)}}
			_, _ = os.Stat(bc.path)
			b.ReportAllocs()
			begun := threadTime(b)
			for b.Loop() {
				w.See(c)
			}
			b.ReportMetric(float64(threadTime(b)-begun)/float64(b.N), "cpu-ns/op") // on a machine that others use
			if got := w.log.take(); len(got) > 0 {
				b.Fatal(words(got, dir))
			}
		})
	}
}

// threadTime is the processor time of this thread in nanoseconds.
func threadTime(tb testing.TB) int64 {
	tb.Helper()
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		tb.Fatal(err)
	}
	return ts.Nano()
}
