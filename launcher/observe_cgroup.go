package launcher

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"brainbox/internal/procfs"
	"brainbox/policy"
)

// cgroupRoot is where the search for a cgroup v2 tree starts: the texts of
// /proc/self/mountinfo and /proc/self/cgroup. Tests build a tree of their own elsewhere.
type cgroupRoot struct{ mountinfo, self string }

// cgroupFact says what cgroup v2 offers the caller, if the policy or the end of the tree
// could use it.
func cgroupFact(p *policy.Policy, mountinfo string) CgroupFact {
	return hostCgroup(mountinfo).look(needsControllers(p))
}

func hostCgroup(mountinfo string) cgroupRoot {
	return cgroupRoot{mountinfo, readSmall("/proc/self/cgroup")}
}

// needsControllers lists the controllers that the policy's limits want.
func needsControllers(p *policy.Policy) []string {
	var need []string
	if p.Process.Memory.Set {
		need = append(need, "memory")
	}
	if p.Process.Pids.Set {
		need = append(need, "pids")
	}
	if p.Process.CPU.Set {
		need = append(need, "cpu")
	}
	return need
}

// look finds the caller's own group in the unified tree (cgroups(7)). A group that he
// may not write is as good as none.
func (r cgroupRoot) look(need []string) CgroupFact {
	mount := cgroup2Mount(r.mountinfo)
	if mount == "" {
		return CgroupFact{Reason: "no cgroup v2 tree is mounted"}
	}
	own := ownCgroup(r.self)
	if own == "" {
		return CgroupFact{Reason: "this process is in no cgroup v2 group"}
	}
	dir := strings.TrimSuffix(mount+own, "/")
	if filepath.Base(own) == leafName { // moved there by an earlier run of this process's
		dir = filepath.Dir(dir)
	}
	if unix.Access(dir, unix.W_OK) != nil || !opens(dir+"/cgroup.procs") {
		return CgroupFact{Reason: "the cgroup " + dir + " is not delegated to this user"}
	}
	f := CgroupFact{Dir: dir}
	// The root of all groups, not that of a cgroup namespace: it alone has no cgroup.type.
	root := own == "/" && unix.Access(dir+"/cgroup.type", unix.F_OK) != nil
	f.controllers(need, root)
	// The root group has no cgroup.kill; its children do.
	f.Kill = root || unix.Access(dir+"/cgroup.kill", unix.F_OK) == nil
	return f
}

// controllers finds those of need that a group below can have. But for the root a group with
// processes in it cannot enable any (cgroup v2, "No Internal Process Constraint"): in one that
// was delegated to this process alone, as systemd-run --scope -p Delegate=yes does, they can
// leave it.
func (f *CgroupFact) controllers(need []string, root bool) {
	have := strings.Fields(readSmall(f.Dir + "/cgroup.controllers"))
	on := strings.Fields(readSmall(f.Dir + "/cgroup.subtree_control"))
	for _, c := range need {
		switch {
		case slices.Contains(on, c), root && slices.Contains(have, c):
		case !slices.Contains(have, c) || !opens(f.Dir+"/cgroup.subtree_control"):
			continue
		case !onlyOurs(f.Dir):
			f.Busy = true
			continue
		default:
			f.Leaf = true
		}
		f.Controllers = append(f.Controllers, c)
	}
}

// onlyOurs reports whether this process is in a group, and nobody else but what it has started.
// Those of other pid namespaces are 0 there, and a threaded group does not say who is in it.
func onlyOurs(dir string) bool {
	seen := false
	for word := range strings.FieldsSeq(readSmall(dir + "/cgroup.procs")) {
		pid, err := strconv.Atoi(word)
		seen = seen || pid == os.Getpid()
		for err == nil && pid > 1 && pid != os.Getpid() {
			s, ok := procfs.ReadStat(pid)
			if !ok {
				break
			}
			pid = s.Parent
		}
		if pid != os.Getpid() {
			return false
		}
	}
	return seen
}

// opens reports whether a file can be opened for writing. Unlike access(2) that asks
// Landlock too: inside an outer brainbox no group can be made.
func opens(name string) bool {
	fd, err := unix.Open(name, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	unix.Close(fd)
	return true
}

// cgroup2Mount finds the mount point of the unified tree (proc(5), mountinfo).
func cgroup2Mount(mountinfo string) string {
	for line := range strings.SplitSeq(mountinfo, "\n") {
		left, right, ok := strings.Cut(line, " - ")
		f := strings.Fields(left)
		if ok && strings.HasPrefix(right, "cgroup2 ") && len(f) >= 5 {
			return f[4]
		}
	}
	return ""
}

// ownCgroup is the path of the 0:: line of /proc/self/cgroup.
func ownCgroup(text string) string {
	for line := range strings.SplitSeq(text, "\n") {
		if path, ok := strings.CutPrefix(line, "0::"); ok {
			return path
		}
	}
	return ""
}
