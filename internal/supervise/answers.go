package supervise

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"brainbox/internal/broker"
)

// newBroker makes the job's broker before the start, so that a program whose connects
// nobody could make never runs. It is nil if the job has none.
func (r *run) newBroker() (*broker.Broker, error) {
	r.job.Spawn.Listener = r.job.Broker != nil
	if r.job.Broker == nil {
		return nil, nil
	}
	cfg := *r.job.Broker
	if id := r.job.Spawn.Identity; id != nil {
		cfg.Identity = &broker.Identity{UID: id.UID, GID: id.GID, Groups: id.Groups}
	}
	cfg.KeepGroups = r.job.Spawn.Groups
	switch runtime.GOARCH {
	case "amd64":
		cfg.Arch = unix.AUDIT_ARCH_X86_64
	case "arm64":
		cfg.Arch = unix.AUDIT_ARCH_AARCH64
	default:
		return nil, os.NewSyscallError("seccomp", unix.ENOSYS)
	}
	return broker.New(cfg)
}
