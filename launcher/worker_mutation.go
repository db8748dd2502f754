//go:build brainbox_mutation

package launcher

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"brainbox/internal/mutation"
	"brainbox/internal/spawn"
	"brainbox/internal/supervise"
)

// mutate leaves out of a decided job what a build for tests is told to leave out.
func mutate(job *supervise.Job, w *Worker) (release func()) {
	r, n := &job.Spawn, job.Spawn.Namespaces
	m := &mutator{n: n, repo: resolved(w.Repo), scratch: w.scratch()}
	if mutation.On("no-landlock") {
		r.Ruleset, r.Unconfined = 0, true
		m.drop(func(s *spawn.Mount) bool { return s.Kind == spawn.KindGrant })
	}
	if mutation.On("no-seccomp") {
		r.Filter, r.Unconfined = nil, true
		r.Probes = slices.DeleteFunc(r.Probes, func(p spawn.Probe) bool { return p.Path == "" })
	}
	if mutation.On("host-net") {
		n.Net, n.Loopback = false, false
	}
	if mutation.On("keep-session") {
		r.Session = false
	}
	if mutation.On("no-limits") {
		r.Limits = slices.DeleteFunc(r.Limits, func(l spawn.Limit) bool { return l.Resource == unix.RLIMIT_NPROC || l.Resource == unix.RLIMIT_FSIZE })
	}
	if mutation.On("host-scratch") {
		m.ungrant(m.scratch)
	}
	if mutation.On("host-proc") {
		m.ungrant("/proc")
	}
	m.mounts()
	return m.release
}

type mutator struct {
	n             *spawn.Namespaces
	repo, scratch string
	open          []int
}

func (m *mutator) release() {
	for _, fd := range m.open {
		unix.Close(fd)
	}
}

func (m *mutator) drop(which func(*spawn.Mount) bool) {
	m.n.Mounts = slices.DeleteFunc(m.n.Mounts, func(s spawn.Mount) bool { return which(&s) })
}

// ungrant takes back what only a place of the run's own can be granted.
func (m *mutator) ungrant(path string) {
	m.drop(func(s *spawn.Mount) bool { return s.Kind == spawn.KindGrant && s.Path == path })
}

func (m *mutator) hold(path string) int {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	m.open = append(m.open, fd)
	return fd
}

func (m *mutator) mounts() {
	for i := range m.n.Mounts {
		s := &m.n.Mounts[i]
		switch {
		case s.Kind == spawn.KindBind && s.Path == m.repo:
			s.Writable = mutation.On("writable-repo") || mutation.On("policy-only")
		case s.Kind == spawn.KindFS && s.Path == m.scratch && mutation.On("host-scratch"):
			dir := os.Getenv("BRAINBOX_MUTATION_SCRATCH")
			*s = spawn.Mount{Kind: spawn.KindBind, Path: s.Path, Source: dir, Held: m.hold(dir), Writable: true, Exec: true}
		case s.Kind == spawn.KindFS && s.Path == m.scratch && mutation.On("no-limits"):
			s.Options = slices.DeleteFunc(slices.Clone(s.Options), func(o string) bool {
				return strings.HasPrefix(o, "size=") || strings.HasPrefix(o, "nr_inodes=")
			})
		case s.Kind == spawn.KindFS && s.FSType == "proc" && mutation.On("host-proc"):
			*s = spawn.Mount{Kind: spawn.KindBind, Path: s.Path, Source: "/proc", Held: m.hold("/proc"), Recursive: true, Writable: true}
		}
	}
	if mutation.On("host-proc") {
		m.drop(func(s *spawn.Mount) bool { return s.Kind == spawn.KindMask && strings.HasPrefix(s.Path, "/proc/") })
	}
	if mutation.On("unmasked") {
		m.drop(func(s *spawn.Mount) bool { return s.Kind == spawn.KindMask && strings.HasPrefix(s.Path, m.repo) })
	}
	if mutation.On("scratch-in-repo") { // one mount, one device
		m.drop(func(s *spawn.Mount) bool {
			return s.Path == m.scratch && (s.Kind == spawn.KindFS || s.Kind == spawn.KindDir || s.Kind == spawn.KindGrant)
		})
		m.n.Mounts = append(m.n.Mounts, spawn.Mount{Kind: spawn.KindSymlink, Path: m.scratch, Source: m.repo + "/.scratch"})
	}
	if mutation.On("policy-only") {
		dir := filepath.Join(m.repo, "policy")
		m.n.Mounts = append(m.n.Mounts, spawn.Mount{Kind: spawn.KindSelf, Path: dir, Held: m.hold(dir)})
	}
	if mutation.On("tty") {
		m.n.Mounts = append(m.n.Mounts, spawn.Mount{Kind: spawn.KindFile, Path: "/dev/tty", Mode: 0o666},
			spawn.Mount{Kind: spawn.KindBind, Path: "/dev/tty", Source: "/dev/tty", Held: m.hold("/dev/tty"), Writable: true, Devices: true})
	}
}

// mutatePipes puts a file in the place of standard output, as a host would that lets a
// caller choose.
func mutatePipes(theirs *[3]*os.File) {
	if mutation.On("stdout-file") {
		if f, err := os.OpenFile(os.Getenv("BRAINBOX_MUTATION_STDOUT"), os.O_RDWR, 0); err == nil {
			_ = theirs[1].Close()
			theirs[1] = f
		}
	}
}
