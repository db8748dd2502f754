//go:build cgo

package compile

import (
	"runtime"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"brainbox/seccomp"
	"brainbox/seccomp/profile"
)

// programs returns the strictest default filter as libseccomp makes it and as
// the search tree makes it.
func programs(b *testing.B) map[string]seccomp.Program {
	b.Helper()
	oci, err := profile.For(runtime.GOARCH, seccomp.Options{})
	if err != nil {
		b.Fatal(err)
	}
	p, err := plan(oci, runtime.GOARCH, resolves)
	if err != nil {
		b.Fatal(err)
	}
	all := map[string]seccomp.Program{}
	for name, level := range map[string]int{"libseccomp-list": optimizeList, "libseccomp-tree": optimizeTree} {
		raw, err := export(p, level)
		if err != nil {
			b.Fatal(err)
		}
		if all[name], err = seccomp.Decode(raw); err != nil {
			b.Fatal(err)
		}
	}
	if all["brainbox"], err = seccomp.Default(seccomp.Options{}); err != nil {
		b.Fatal(err)
	}
	return all
}

// BenchmarkLoad measures seccomp(2) alone. Each filter is loaded on a thread of
// its own, which then ends: no other thread gets it.
func BenchmarkLoad(b *testing.B) {
	for name, p := range programs(b) {
		b.Run(name, func(b *testing.B) {
			var total time.Duration
			for range b.N {
				took := make(chan time.Duration)
				go func() {
					runtime.LockOSThread() // the thread ends with this goroutine
					took <- loadHere(b, p)
				}()
				total += <-took
			}
			b.ReportMetric(float64(total.Nanoseconds())/float64(b.N), "ns/load")
			b.ReportMetric(float64(len(p)), "insns")
		})
	}
}

// loadHere loads p on the calling thread. Irreversible for that thread.
func loadHere(b *testing.B, p seccomp.Program) time.Duration {
	if _, _, e := unix.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0); e != 0 {
		b.Error(e)
	}
	fprog := struct {
		n      uint16
		filter *seccomp.Insn
	}{uint16(len(p)), &p[0]}
	start := time.Now()
	_, _, e := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&fprog)))
	took := time.Since(start)
	if e != 0 {
		b.Error(e)
	}
	return took
}

// BenchmarkCompile compiles docker's profile. Ours is no measure of what users
// bring: written in masked comparisons only, it has hundreds of rules for socket
// and ioctl, and libseccomp takes 100 times as long.
func BenchmarkCompile(b *testing.B) {
	docker := dockerProfile(b)
	for b.Loop() {
		if _, err := Compile(docker); err != nil {
			b.Fatal(err)
		}
	}
}
