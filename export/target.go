package export

import (
	"brainbox/landlock"
	"brainbox/launcher"
)

// Target changes facts of this machine into those of a container: what a runtime brings is
// there (cgroup controllers, namespaces), and nothing depends on the process that looked (its
// terminal, its own limit of descriptors, the name of a run). What concerns Landlock is
// planned as for a kernel that has it, and becomes a gap.
func Target(f *launcher.Facts) {
	f.RunDir = runDir
	f.Cgroup = launcher.CgroupFact{
		Dir: "/sys/fs/cgroup", Controllers: []string{"cpu", "memory", "pids"}, Kill: true,
	}
	f.NoFile, f.Terminal, f.ReadBack = [2]uint64{}, false, [3]bool{}
	f.Untried, f.Refused = true, nil
	if f.Proxy == nil {
		f.Proxy = &launcher.Proxy{} // hosts are decided, and are a gap
	}
	if need := landlock.ScopeSignal.ABI(); f.LandlockErr != nil || f.Landlock.Used() < need {
		f.Landlock, f.LandlockErr = landlock.Support{ABI: need}, nil
	}
}
