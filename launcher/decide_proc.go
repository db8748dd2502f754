package launcher

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"brainbox/policy"
)

// Masked reports whether the program finds something empty at a path, in place of what the
// host has there: a socket, a denied name, a file of /proc.
func (p *Plan) Masked(path string) bool {
	return slices.ContainsFunc(p.Mounts, func(m Mount) bool { return m.Kind == MountMask && policy.Below(path, m.Path) })
}

// lookedInto are the files of a process that only who may trace it can read (proc(5),
// ptrace(2), PTRACE_MODE_READ and ATTACH).
var lookedInto = []string{
	"auxv", "cwd", "environ", "exe", "fd", "fdinfo", "io", "map_files", "maps", "mem", "ns", "numa_maps", "pagemap",
	"personality", "root", "smaps", "smaps_rollup", "stack", "syscall", "clear_refs", "patch_state",
}

// ProcRead answers for reading a path below /proc that belongs to a process; known is false
// for every other path. What a process may read of itself is not decided by the policy.
func (p *Plan) ProcRead(path string) (allowed, known bool, reason string) {
	rest, below := strings.CutPrefix(filepath.Clean(path), "/proc/")
	who, file, _ := strings.Cut(rest, "/")
	file, _, _ = strings.Cut(strings.TrimPrefix(file, "task/"+who+"/"), "/")
	number, err := strconv.Atoi(who)
	own := who == "self" || who == "thread-self"
	if !below || !own && (err != nil || number <= 0) {
		return false, false, ""
	}
	if granted, _ := p.Allows(policy.RightRead, "/proc"); !granted {
		return false, true, "/proc is in no grant"
	}
	guarded := slices.Contains(lookedInto, file)
	switch inside := p.Isolation == "namespaces"; {
	case own && slices.Contains([]string{"cwd", "root", "exe", "fd", "map_files"}, file):
		return false, false, "" // where it leads is what counts
	case own:
		return true, true, "it is the program's own process"
	case inside && number != 1:
		return false, true, "the program has a process list of its own, in which process " + who + " of the host is not"
	case inside && guarded:
		return false, true, "process 1 is the init of the program's process list, which cannot be looked into"
	case inside:
		return true, true, "process 1 is the init of the program's process list"
	case guarded:
		return false, true, "Landlock: only processes of the program's own can be looked into"
	}
	return true, true, "the clause processes is open: the host's processes are seen"
}

// Permits reports whether the mode of what is at a path lets the program's user do what right
// needs. It asks for a folder where nothing is there yet: that is where it would be made.
// Access lists count for an ordinary user alone.
func (p *Plan) Permits(f *Facts, right policy.Right, path string) bool {
	bits := uint32(unix.R_OK)
	if right.Writes() {
		bits = unix.W_OK
	} else if right.Execs() {
		bits = unix.X_OK
	}
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		path, bits = filepath.Dir(path), unix.W_OK|unix.X_OK
	}
	if f.Place.EUID != 0 && f.Identity == nil {
		return unix.Faccessat(unix.AT_FDCWD, path, bits, unix.AT_EACCESS) == nil
	}
	ids := ownerIDs{gid: uint32(f.Place.GID)}
	if id := f.Identity; id != nil {
		ids = ownerIDs{id.UID, id.GID, id.Groups}
	}
	if !ids.may(path, bits) {
		return false
	}
	if p.Isolation == "namespaces" {
		return true // the folders around a grant are the sandbox's own
	}
	for dir := filepath.Dir(path); dir != "/"; dir = filepath.Dir(dir) {
		if !ids.may(dir, unix.X_OK) {
			return false
		}
	}
	return true
}

// ownerIDs are those of a program without capabilities.
type ownerIDs struct {
	uid, gid uint32
	groups   []uint32
}

// may applies the mode bits (path_resolution(7), Permissions).
func (o ownerIDs) may(path string, bits uint32) bool {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return false
	}
	mode := st.Mode
	switch {
	case st.Uid == o.uid:
		mode >>= 6
	case st.Gid == o.gid || slices.Contains(o.groups, st.Gid):
		mode >>= 3
	}
	return mode&bits == bits
}
