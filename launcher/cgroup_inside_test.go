package launcher

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"brainbox/internal/needs"
)

// A group that holds the limits of a run in namespaces holds its whole tree: the init, the
// program, and what that starts, in whichever session. Controllers are not needed to see it.
func TestTheGroupHoldsTheWholeTreeInside(t *testing.T) {
	needs.Userns(t)
	needs.CgroupKill(t)
	for _, isolation := range []string{"landlock", "namespaces"} {
		t.Run(isolation, func(t *testing.T) {
			if isolation == "landlock" {
				needs.LandlockABI(t, 6)
			}
			w := resolved(t.TempDir())
			f, p := planIn(t, isolation, w, "setsid sleep 60 & (sleep 60 &) ; while [ ! -e go ]; do sleep 0.01; done; exit 4")
			if f.Cgroup = cgroupFact(p.policy, readSmall("/proc/self/mountinfo")); f.Cgroup.Dir == "" {
				t.Fatal(f.Cgroup.Reason)
			}
			p.UseCgroup = true
			group := f.Cgroup.Dir + "/" + groupPrefix + filepath.Base(f.RunDir)
			want := 4 // the program, its shell's sleep, and the two that stay
			if isolation == "namespaces" {
				want++ // and the init
			}
			var names []string
			sleeps := func() int { return strings.Count(strings.Join(names, " "), "sleep") }
			res, err := p.Run(f, Options{Stdio: [3]int{0, 2, 2}, Started: func(_ *Plan, pid int) {
				for deadline := time.Now().Add(20 * time.Second); (len(names) < want || sleeps() < 2) && time.Now().Before(deadline); {
					names = names[:0]
					pids := strings.Fields(readSmall(group + "/cgroup.procs"))
					if !slices.Contains(pids, itoa(pid)) {
						t.Errorf("the program %d is not in %q", pid, pids)
						break
					}
					for _, pid := range pids {
						names = append(names, strings.TrimSpace(readSmall("/proc/"+pid+"/comm")))
					}
				}
				write(t, w+"/go", "")
			}})
			if err != nil || res.Status != 4 {
				t.Fatalf("%+v, %v", res, err)
			}
			if len(names) < want || sleeps() < 2 ||
				slices.Contains(names, "brainbox-init") != (isolation == "namespaces") {
				t.Errorf("the group holds %q, want %d", names, want)
			}
			if _, err := os.Stat(group); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the group is left: %v", err)
			}
		})
	}
}
