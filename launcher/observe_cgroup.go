package launcher

import (
	"slices"
	"strings"

	"golang.org/x/sys/unix"

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
	if unix.Access(dir, unix.W_OK) != nil || unix.Access(dir+"/cgroup.procs", unix.W_OK) != nil {
		return CgroupFact{Reason: "the cgroup " + dir + " is not delegated to this user"}
	}
	f := CgroupFact{Dir: dir}
	if len(need) > 0 {
		have := strings.Fields(readSmall(dir + "/cgroup.controllers"))
		on := strings.Fields(readSmall(dir + "/cgroup.subtree_control"))
		for _, c := range need {
			if slices.Contains(on, c) || slices.Contains(have, c) && own == "/" {
				f.Controllers = append(f.Controllers, c)
			}
		}
	}
	// The root group has no cgroup.kill; its children do.
	f.Kill = own == "/" || unix.Access(dir+"/cgroup.kill", unix.F_OK) == nil
	return f
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
