package export

import (
	"slices"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

const gitConfigGlobal = "GIT_CONFIG_GLOBAL"

// process is the program: no capability, nothing to gain by a set-id file, and the plan's
// limits.
func (b *bundle) process() *specs.Process {
	uid, gid, groups := b.user()
	umask := uint32(b.Plan.Umask)
	p := &specs.Process{
		Terminal: b.Terminal, Args: b.Command, Cwd: b.Plan.Cwd,
		User:            specs.User{UID: uid, GID: gid, AdditionalGids: groups, Umask: &umask},
		Capabilities:    &specs.LinuxCapabilities{},
		NoNewPrivileges: true,
		Rlimits:         b.rlimits(),
	}
	if len(p.Args) == 0 {
		p.Args = []string{"/bin/sh"}
	}
	for _, v := range b.Plan.Env {
		if !strings.HasPrefix(v, gitConfigGlobal+"=") || len(b.Plan.GitConfig) == 0 {
			p.Env = append(p.Env, v)
		}
	}
	slices.Sort(p.Env)
	return p
}

// user is who the program is inside: as an ordinary user, the only one that there is.
func (b *bundle) user() (uid, gid uint32, groups []uint32) {
	if id := b.Plan.Identity; id != nil {
		return id.UID, id.GID, id.Groups
	}
	return 0, 0, nil // root's own number, or the ordinary user's inside
}

// rlimits leaves the number of processes to the pids controller: it counts those of the user
// elsewhere as well.
func (b *bundle) rlimits() []specs.POSIXRlimit {
	var list []specs.POSIXRlimit
	for _, l := range b.Plan.Limits {
		name := ""
		switch l.Resource {
		case unix.RLIMIT_CORE:
			name = "RLIMIT_CORE"
		case unix.RLIMIT_NOFILE:
			name = "RLIMIT_NOFILE"
		case unix.RLIMIT_FSIZE:
			name = "RLIMIT_FSIZE"
		default:
			continue
		}
		list = append(list, specs.POSIXRlimit{Type: name, Soft: l.Cur, Hard: l.Max})
	}
	return list
}
