package explain

import (
	"strings"

	"golang.org/x/sys/unix"

	"brainbox/launcher"
)

// permitsOnHost answers for a folder that is the run's own and that the host has too: a grant
// would bring the host's, whose mode counts then. ok is false where there is no other.
func (e *Engine) permitsOnHost(c *credentials, q *question, own *status) (a answer, ok bool) {
	if !e.cfg.Inside || !q.folder || strings.HasPrefix(q.path, "/proc/") {
		return perhaps, false
	}
	host := lookOnHost(q.path, false, isLocal)
	if host.fd < 0 {
		return perhaps, false
	}
	defer closeFD(host.fd)
	if host.status.dev == own.dev && host.status.ino == own.ino {
		return perhaps, false
	}
	root, errno := openat2Slow(unix.AT_FDCWD, "/", lookFlags|unix.O_DIRECTORY, 0)
	if errno != 0 {
		return perhaps, true
	}
	defer closeFD(root)
	return e.reckon(c, root, &question{fd: host.fd, path: host.path, want: q.want, gone: -1}, &host.status), true
}

// remedyOnHost is what helps a program that makes a name which the host has already, as a
// folder that the program does not see: a grant of just that.
func (l *look) remedyOnHost(op *launcher.Operation) (launcher.Remedy, bool) {
	if !l.e.cfg.Inside || op.Op != launcher.OpCreate || strings.HasPrefix(op.Path, "/proc/") {
		return launcher.Remedy{}, false
	}
	path := op.Path
	got, ok := await(&l.e.budget, func() onHost { return lookOnHost(path, false, isLocal) }, func(h onHost) { closeFD(h.fd) })
	if !ok || got.fd < 0 {
		return launcher.Remedy{}, false
	}
	defer closeFD(got.fd)
	if got.status.kind() != launcher.KindFolder {
		return launcher.Remedy{}, false
	}
	r := l.e.cfg.Judge.Judge(launcher.Operation{Op: launcher.OpRead, Path: got.path, Kind: launcher.KindFolder}).Remedy
	if !strings.HasPrefix(r.Flag, "--ro ") {
		return launcher.Remedy{}, false
	}
	r.Flag = strings.Replace(r.Flag, "--ro ", "--rw ", 1)
	r.Line = strings.Replace(r.Line, "\nread = ", "\nwrite = ", 1)
	return r, true
}
