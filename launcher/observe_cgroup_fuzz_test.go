package launcher

import (
	"strings"
	"testing"
)

// FuzzCgroupTexts: the mount point and the group are words of the texts, as they stand there, and a
// line of another file system is none.
func FuzzCgroupTexts(f *testing.F) {
	f.Add("30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n", "0::/user.slice\n")
	f.Add("30 24 0:26 / /sys/fs/cgroup rw - tmpfs cgroup2 rw\n31 30 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw", "4:memory:/x\n0::/")
	f.Add(" - cgroup2 \n1 2 3 4 - cgroup2 x", "0:::\n")
	f.Fuzz(func(t *testing.T, mountinfo, own string) {
		mount := cgroup2Mount(mountinfo)
		if mount != "" && (!strings.Contains(mountinfo, mount) || strings.ContainsAny(mount, " \t\n") || !strings.Contains(mountinfo, " - cgroup2 ")) {
			t.Errorf("mount point %q", mount)
		}
		if group := ownCgroup(own); strings.Contains(group, "\n") || !strings.Contains(own, "0::"+group) && group != "" {
			t.Errorf("group %q", group)
		}
		if got := cgroup2Mount("30 24 0:26 / /first rw - cgroup2 cgroup2 rw\n" + mountinfo); got != "/first" {
			t.Errorf("the first mount is %q", got)
		}
	})
}
