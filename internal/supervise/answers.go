package supervise

import (
	"os"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"brainbox/internal/broker"
	"brainbox/internal/notify"
	"brainbox/seccomp"
)

// answers is what answers the calls that the program's filter notifies, all by one listener.
type answers struct {
	broker *broker.Broker // nil: the job has none
	server server         // nil: nothing is notified
}

type server interface {
	Serve(listener int)
	Close()
}

// newAnswers makes it before the start, so that a program whose calls nobody could answer
// never runs.
func (r *run) newAnswers() (*answers, error) {
	job, a := r.job, &answers{}
	job.Spawn.Listener = job.Broker != nil || job.Watch != nil
	if !job.Spawn.Listener {
		return a, nil
	}
	arch, err := auditArch()
	if err != nil {
		return nil, err
	}
	// It holds as long as the program, which may outlive this process.
	if job.Spawn.Filter, err = soleListener(job.Spawn.Filter); err != nil {
		return nil, err
	}
	if job.Broker == nil {
		s, err := notify.New(notify.Config{Handlers: job.Watch.Handlers(nil), Arch: arch, Surplus: watchSurplus, Late: watchLate})
		if err != nil {
			return nil, err
		}
		a.server = s
		return a, nil
	}
	cfg := *job.Broker
	if id := job.Spawn.Identity; id != nil {
		cfg.Identity = &broker.Identity{UID: id.UID, GID: id.GID, Groups: id.Groups}
	}
	cfg.KeepGroups, cfg.Arch = job.Spawn.Groups, arch
	if job.Watch != nil {
		cfg.Around, cfg.Surplus, cfg.Late, cfg.Threads = job.Watch.Handlers, watchSurplus, watchLate, watchThreads
	}
	if a.broker, err = broker.New(cfg); err != nil {
		return nil, err
	}
	a.server = a.broker
	return a, nil
}

// A watched program makes very many calls that take no time, so one thread waits for them, and
// another only when the first has been at one for long.
const (
	watchSurplus = 1
	watchLate    = 10 * time.Millisecond

	// With a broker: connects may block for long, on as many threads, and all other calls wait
	// when there is none left.
	watchThreads = 32
)

// soleListener is [seccomp.SoleListener] in the kernel's own type, which has the same layout.
func soleListener(filter []unix.SockFilter) ([]unix.SockFilter, error) {
	p, err := seccomp.SoleListener(unsafe.Slice((*seccomp.Insn)(unsafe.Pointer(unsafe.SliceData(filter))), len(filter)))
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*unix.SockFilter)(unsafe.Pointer(&p[0])), len(p)), nil
}

func auditArch() (uint32, error) {
	switch runtime.GOARCH {
	case "amd64":
		return unix.AUDIT_ARCH_X86_64, nil
	case "arm64":
		return unix.AUDIT_ARCH_AARCH64, nil
	}
	return 0, os.NewSyscallError("seccomp", unix.ENOSYS)
}

func (a *answers) serve(listener int) {
	if a.server != nil {
		a.server.Serve(listener)
	}
}

func (a *answers) close() {
	if a.server != nil {
		a.server.Close()
	}
}
