//go:build amd64 || arm64

package nofile

// at holds what prlimit64(2) answered before package syscall started.
var at = read()

type reading struct {
	lim [2]uint64
	ok  bool
}

func read() (r reading) {
	r.ok = getNofile(&r.lim) == 0
	return r
}

// getNofile calls prlimit64(0, RLIMIT_NOFILE, NULL, lim) and returns its errno.
// Linux 2.6.36, prlimit(2).
//
//go:noescape
func getNofile(lim *[2]uint64) (errno uintptr)

// Original returns the soft and hard RLIMIT_NOFILE (descriptors) that the process
// was started with; ok is false if the kernel did not say.
func Original() (soft, hard uint64, ok bool) { return at.lim[0], at.lim[1], at.ok }
