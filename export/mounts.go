package export

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"

	"brainbox/launcher"
	"brainbox/policy"
)

// memoryOptions bound what the program keeps in memory in place of a folder on the disk.
const memoryOptions = "size=512m nr_inodes=131072"

// mountAll says the plan's steps as mounts and masked paths, in their order.
func (b *bundle) mountAll() {
	b.mounts = []specs.Mount{
		{Destination: "/proc", Type: "proc", Source: "proc", Options: []string{"ro", "nosuid", "nodev", "noexec"}},
		{
			Destination: "/dev", Type: "tmpfs", Source: "tmpfs",
			Options: []string{"nosuid", "noexec", "strictatime", "mode=755", "size=64k", "nr_inodes=256"},
		},
	}
	for i := range b.Plan.Mounts {
		m := &b.Plan.Mounts[i]
		switch m.Kind {
		case launcher.MountFS:
			b.fileSystem(m)
		case launcher.MountBind:
			b.bind(m)
		case launcher.MountSelf:
			if !b.ofRootfs(m) {
				b.mounts = append(b.mounts, bindMount(m, m.Path))
			}
		case launcher.MountMask:
			b.mask(m.Path)
		case launcher.MountDir, launcher.MountFile, launcher.MountLink, launcher.MountGrant:
			// The runtime makes places; links and the files of /etc are those of the root file
			// system; rights are Landlock's, and mounts give no more (see links).
		}
	}
	b.denied()
	b.links()
}

// fileSystem mounts what every run has of its own.
func (b *bundle) fileSystem(m *launcher.Mount) {
	if m.Path == "/proc" {
		return
	}
	options := append(flags(m, false), m.Options...)
	b.mounts = append(b.mounts, specs.Mount{Destination: m.Path, Type: m.FSType, Source: m.FSType, Options: options})
}

// bind says where a bound tree comes from.
func (b *bundle) bind(m *launcher.Mount) {
	switch m.Held.In {
	case launcher.HeldHome, launcher.HeldTmp:
		b.private(m)
		return
	case launcher.HeldGitConfig:
		b.gap("env", gitConfigGlobal, "brainbox writes the git identity for each run: git has no user.name there")
		return
	case launcher.HeldBridge:
		return // the clause says it
	case launcher.HeldPath:
		w, p := &b.Facts.Wants[m.Held.Index], &b.Facts.Paths[m.Held.Index]
		switch {
		case w.Always && policy.Below(w.Abs, "/dev"), b.ofRootfs(m):
			return // the runtime's own devices
		case p.Device:
			b.gap("files", w.Text, "a device: the runtime gives its own few, and this one has to be given by its options")
			return
		}
	case launcher.HeldSpread:
		if policy.Below(m.Path, "/dev") {
			b.gap("files", m.Value, "the host's devices: the runtime gives its own few")
			return
		}
	case launcher.HeldNone, launcher.HeldName, launcher.HeldFolder, launcher.HeldSocket, launcher.HeldUnix:
	}
	b.mounts = append(b.mounts, bindMount(m, m.Source))
}

// ofRootfs reports whether a step concerns what comes with the root file system: folders of
// the system, by the absolute names that a built-in profile has for them, which it never
// grants writing. What is below /sys is the kernel's, and in no image.
func (b *bundle) ofRootfs(m *launcher.Mount) bool {
	if m.Held.In != launcher.HeldPath {
		return false
	}
	w := &b.Facts.Wants[m.Held.Index]
	return b.profile(w.Source) && !w.Right.Writes() && !w.GitDir && filepath.IsAbs(w.Text) && !policy.Below(w.Abs, "/sys")
}

// profile reports whether a source is a built-in profile.
func (b *bundle) profile(source int) bool {
	return source >= 0 && source < len(b.Plan.Sources) && b.Plan.Sources[source].Kind == policy.KindProfile
}

// private is the program's own HOME or TMPDIR: in memory, unless it is a folder of the host's.
func (b *bundle) private(m *launcher.Mount) {
	if m.Held.In == launcher.HeldHome {
		switch b.Facts.Home.Kind {
		case "dir":
			b.mounts = append(b.mounts, bindMount(m, b.Facts.Home.Target))
			return
		case "keep":
			b.gap("files", "home keep", "brainbox makes and keeps that folder: the container's HOME is in memory and ends with it")
		}
	}
	uid, gid, _ := b.user()
	options := append(flags(m, false), strings.Fields(memoryOptions)...)
	b.mounts = append(b.mounts, specs.Mount{
		Destination: m.Path, Type: "tmpfs", Source: "tmpfs", Options: append(options,
			"mode=0700", "uid="+strconv.FormatUint(uint64(uid), 10), "gid="+strconv.FormatUint(uint64(gid), 10)),
	})
}

// bindMount is a bind of source. The flags with an r hold for what is mounted below as well.
func bindMount(m *launcher.Mount, source string) specs.Mount {
	first := "bind"
	if m.Recursive {
		first = "rbind"
	}
	return specs.Mount{
		Destination: m.Path, Type: "bind", Source: source, Options: append([]string{first, "rprivate"}, flags(m, m.Recursive)...),
	}
}

// flags are the options of a mount: what the plan does not give is taken away.
func flags(m *launcher.Mount, below bool) []string {
	var list []string
	add := func(name string, on bool) {
		if on {
			list = append(list, name)
			if below {
				list = append(list, "r"+name)
			}
		}
	}
	if m.Writable {
		list = append(list, "rw")
	}
	add("ro", !m.Writable)
	add("nosuid", true)
	add("nodev", !m.Devices)
	add("noexec", !m.Exec)
	return list
}

// mask hides a path behind something empty.
func (b *bundle) mask(path string) {
	if !slices.Contains(b.linux.MaskedPaths, path) {
		b.linux.MaskedPaths = append(b.linux.MaskedPaths, path)
	}
}

// denied masks what is denied by every name that the policy gives it, there or not: the root
// file system may have what this host has not.
func (b *bundle) denied() {
	for i := range b.Facts.Wants {
		w := &b.Facts.Wants[i]
		if w.Right != policy.RightDeny {
			continue
		}
		b.mask(w.Abs)
		if target := b.Facts.Paths[i].Target; target != "" {
			b.mask(target)
		}
	}
}

// links finds the grants whose name leads through a link: brainbox makes it again, a runtime
// has no way to.
func (b *bundle) links() {
	for i := range b.Facts.Wants {
		w, p := &b.Facts.Wants[i], &b.Facts.Paths[i]
		if w.Always || w.Clause != "" || p.Err != nil || !w.Right.Grants() || p.Socket || w.Abs == p.Target {
			continue
		}
		if b.profile(w.Source) && filepath.IsAbs(w.Text) {
			continue // the root file system has its own
		}
		b.gap("files", w.Text, "a symbolic link leads there, and the container has "+strconv.Quote(p.Target)+" alone")
	}
}
