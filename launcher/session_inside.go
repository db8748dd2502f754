package launcher

import (
	"golang.org/x/sys/unix"

	"brainbox/internal/spawn"
	"brainbox/landlock"
)

// namespaces is the start in namespaces, or nil: the plan's file system with the
// descriptors that are held now, in the terms of package spawn.
func (s *session) namespaces(stdio [3]int) *spawn.Namespaces {
	p := s.plan
	if p.Isolation != "namespaces" {
		return nil
	}
	n := &spawn.Namespaces{Net: p.OwnNetwork, Loopback: p.OwnNetwork, Mounts: make([]spawn.Mount, 0, len(p.Mounts))}
	n.Network = s.joined()
	if p.Cwd != "/" {
		n.Dir = p.Cwd
	}
	n.UIDMap, n.GIDMap = spawnMap(s.facts.Inside.UIDs), spawnMap(s.facts.Inside.GIDs)
	n.Reopen = s.reopened(stdio)
	for i := range p.Mounts {
		m := &p.Mounts[i]
		if m.Kind == MountGrant && (m.Unix || s.ruleset <= 0) {
			continue // it is in the ruleset (buildRuleset), or there is none
		}
		n.Mounts = append(n.Mounts, s.mount(m))
	}
	return n
}

// reopened says which standard descriptors are devices that the program has of its own, and
// as whose owner it could else change the host's.
func (s *session) reopened(stdio [3]int) (list [3]spawn.Reopen) {
	for i, fd := range stdio {
		h := handed(fd)
		how, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if path := s.facts.deviceInside(&h); err == nil && path != "" && s.facts.owns(&h) {
			list[i] = spawn.Reopen{Path: path, Flags: how & keptFlags}
		}
	}
	return list
}

// spawnKind has no answer for a kind that package spawn does not know: that one is refused
// there.
func spawnKind(k MountKind) spawn.MountKind {
	switch k {
	case MountDir:
		return spawn.KindDir
	case MountFile:
		return spawn.KindFile
	case MountLink:
		return spawn.KindSymlink
	case MountFS:
		return spawn.KindFS
	case MountBind:
		return spawn.KindBind
	case MountSelf:
		return spawn.KindSelf
	case MountMask:
		return spawn.KindMask
	case MountGrant:
		return spawn.KindGrant
	}
	return 0
}

func (s *session) mount(m *Mount) spawn.Mount {
	out := spawn.Mount{
		Kind: spawnKind(m.Kind), Path: m.Path, Source: m.Source, Held: s.heldFD(m.Held),
		Writable: m.Writable, Exec: m.Exec, Devices: m.Devices, Recursive: m.Recursive,
		Mode: m.Mode, Data: m.Data, FSType: m.FSType, Options: m.Options,
	}
	if m.Over {
		out.Over = out.Held
	}
	if m.Kind == MountGrant {
		out.Access = m.access(s.facts.Landlock.Used())
	}
	return out
}

// heldFD is the descriptor of what the facts hold, or of what the run has made.
func (s *session) heldFD(h Held) int {
	switch h.In {
	case HeldHome:
		return s.home
	case HeldTmp:
		return s.dir.tmp
	case HeldGitConfig:
		return s.dir.gitConfig
	case HeldBridge:
		return s.bridge.agent
	case HeldNone, HeldPath, HeldName, HeldFolder, HeldSocket, HeldUnix, HeldSpread:
	}
	return s.facts.held(h)
}

// access is what a MountGrant adds to the ruleset, as far as the ABI knows it.
func (m *Mount) access(abi int) uint64 {
	if m.List {
		return unix.LANDLOCK_ACCESS_FS_READ_DIR
	}
	if m.Unix {
		return landlock.ConnectUnix
	}
	bits := landlock.Access(m.Right, !m.File, abi)
	if m.Device && abi >= landlock.IoctlDev.ABI() {
		bits |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	return bits
}

// spawnMap maps the ids that the caller has on themselves; nil is the caller's own alone.
func spawnMap(ids []IDRange) []spawn.IDMap {
	var list []spawn.IDMap
	for _, r := range ids {
		list = append(list, spawn.IDMap{Inside: r.First, Outside: r.First, Count: r.Count})
	}
	return list
}
