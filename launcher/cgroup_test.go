package launcher

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
	"brainbox/policy"
)

// fakeCgroup is a unified tree in a folder: nothing here depends on this machine's.
func fakeCgroup(t *testing.T, self string, files map[string]string) cgroupRoot {
	t.Helper()
	top := resolved(t.TempDir())
	write(t, top+"/mountinfo", "21 20 0:19 / /proc rw - proc proc rw\n30 21 0:25 / "+top+"/fs rw,nosuid shared:4 - cgroup2 cgroup2 rw\n")
	write(t, top+"/self", self)
	mkdir(t, top+"/fs/user/run", 0o755, -1)
	for name, text := range files {
		write(t, top+"/fs/"+name, text)
	}
	return cgroupRoot{readSmall(top + "/mountinfo"), readSmall(top + "/self")}
}

func TestCgroupLook(t *testing.T) {
	files := map[string]string{
		"user/run/cgroup.procs": "", "user/run/cgroup.controllers": "cpu memory pids\n",
		"user/run/cgroup.subtree_control": "memory\n", "user/run/cgroup.kill": "",
		"cgroup.procs": "", "cgroup.controllers": "memory pids\n", "cgroup.subtree_control": "",
	}
	all := []string{"memory", "pids", "cpu"}
	r := fakeCgroup(t, "9:name=systemd:/\n0::/user/run\n", files)
	got := r.look(all)
	got.Dir = got.Dir[len(got.Dir)-len("/fs/user/run"):]
	if diff := cmp.Diff(CgroupFact{Dir: "/fs/user/run", Controllers: []string{"memory"}, Busy: true, Kill: true}, got); diff != "" {
		t.Errorf("a delegated group (-want +got):\n%s", diff)
	}
	root := fakeCgroup(t, "0::/\n", files).look(all)
	if diff := cmp.Diff([]string{"memory", "pids"}, root.Controllers); diff != "" || !root.Kill {
		t.Errorf("the root group, kill %v (-want +got):\n%s", root.Kill, diff)
	}
	delete(files, "user/run/cgroup.kill")
	if old := fakeCgroup(t, "0::/user/run\n", files).look(nil); old.Kill || old.Dir == "" {
		t.Errorf("before Linux 5.14: %+v", old)
	}
}

func TestCgroupLookSaysWhyNot(t *testing.T) {
	v1 := fakeCgroup(t, "4:memory:/x\n", nil)
	none := cgroupRoot{v1.self, v1.self}
	for name, c := range map[string]struct {
		root cgroupRoot
		want string
	}{
		"no unified tree":   {none, "no cgroup v2 tree is mounted"},
		"in version 1 only": {v1, "this process is in no cgroup v2 group"},
		"no files at all":   {cgroupRoot{}, "no cgroup v2 tree is mounted"},
	} {
		if got := c.root.look([]string{"memory"}); got.Dir != "" || got.Reason != c.want {
			t.Errorf("%s: %+v, want %q", name, got, c.want)
		}
	}
}

// access(2) does not ask Landlock: what an outer brainbox forbids shows only by opening.
func TestCgroupLookOpensWhatItWouldWrite(t *testing.T) {
	files := map[string]string{"user/run/cgroup.kill": ""}
	r := fakeCgroup(t, "0::/user/run\n", files)
	procs := cgroup2Mount(r.mountinfo) + "/user/run/cgroup.procs" // a folder: not to be written, and access(2) says yes
	if err := os.Mkdir(procs, 0o755); err != nil {
		t.Fatal(err)
	}
	if f := r.look(nil); f.Dir != "" || f.Reason == "" {
		t.Errorf("%+v", f)
	}
}

func TestCgroupLookOfAGroupThatIsNotOurs(t *testing.T) {
	needs.User(t)
	r := fakeCgroup(t, "0::/user/run\n", map[string]string{"user/run/cgroup.procs": ""})
	ours := r.look(nil)
	if ours.Dir == "" { // positive control
		t.Fatalf("procs can be written: %+v", ours)
	}
	if err := unix.Chmod(ours.Dir+"/cgroup.procs", 0o444); err != nil {
		t.Fatal(err)
	}
	if got := r.look(nil); got.Dir != "" || got.Reason == "" {
		t.Errorf("procs cannot be written: %+v", got)
	}
}

func TestMakeCgroupWritesTheLimitsOrFails(t *testing.T) {
	parent := t.TempDir()
	if _, err := makeCgroup(CgroupFact{Dir: parent}, "/x/run1", map[string]string{"memory.max": "1"}); err == nil {
		t.Error("a tree without memory.max took a memory limit")
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	c, err := makeCgroup(CgroupFact{Dir: parent}, "/x/run2", nil) // positive control
	if err != nil {
		t.Fatal(err)
	}
	if c.remove(); c.fd != 0 {
		t.Error("the descriptor stayed")
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// kernelMkdir makes a group with the files that the kernel gives it, for the controllers that
// are enabled in the one above.
func kernelMkdir(name string, mode fs.FileMode) error {
	if err := os.Mkdir(name, mode); err != nil {
		return err
	}
	files := []string{"cgroup.procs", "cgroup.kill", "cgroup.subtree_control"}
	for _, c := range strings.Fields(strings.ReplaceAll(readSmall(filepath.Dir(name)+"/cgroup.subtree_control"), "+", "")) {
		files = append(files, map[string][]string{
			"memory": {"memory.max", "memory.swap.max", "memory.oom.group", "memory.events"}, "pids": {"pids.max"}, "cpu": {"cpu.max"},
		}[c]...)
	}
	for _, f := range files {
		if err := os.WriteFile(name+"/"+f, nil, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// texts are the files of a folder that have a text.
func texts(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if text := readSmall(dir + "/" + e.Name()); !e.IsDir() && text != "" {
			all[e.Name()] = text
		}
	}
	return all
}

// delegated is a group as systemd-run --scope -p Delegate=yes makes it: the controllers are
// there, not enabled, and who was started is in it.
func delegated(t *testing.T, procs ...int) cgroupRoot {
	t.Helper()
	var in strings.Builder
	for _, pid := range procs {
		in.WriteString(strconv.Itoa(pid) + "\n")
	}
	return fakeCgroup(t, "0::/user/run\n", map[string]string{
		"user/run/cgroup.procs": in.String(), "user/run/cgroup.controllers": "cpu memory pids\n",
		"user/run/cgroup.subtree_control": "", "user/run/cgroup.kill": "", "user/run/cgroup.type": "domain\n",
	})
}

// A group that was delegated to this process alone can have limits below it: this process
// leaves it first. In one that others are in it must not, and nothing is touched.
func TestTheOwnGroupIsLeft(t *testing.T) {
	need := []string{"memory", "pids", "cpu"}
	for name, pid := range map[string]int{"the parent": os.Getppid(), "the init": 1, "of another pid namespace": 0} {
		f := delegated(t, os.Getpid(), pid).look(need)
		if len(f.Controllers) != 0 || f.Leaf || !f.Busy {
			t.Errorf("with %s in it: %+v", name, f)
		}
		f.Leaf = true // as if it had come since
		if _, err := (groupMaker{kernelMkdir}).make(f, "/x/run1", map[string]string{"memory.max": "1"}); !errors.Is(err, unix.EBUSY) {
			t.Errorf("with %s in it: %v, want EBUSY", name, err)
		}
		if left, err := filepath.Glob(f.Dir + "/brainbox-*"); err != nil || len(left) != 0 || readSmall(f.Dir+"/cgroup.subtree_control") != "" {
			t.Errorf("with %s in it: left %v", name, left)
		}
	}
	f := delegated(t, os.Getpid()).look(need)
	if diff := cmp.Diff(need, f.Controllers); diff != "" || !f.Leaf || f.Busy {
		t.Fatalf("%+v (-want +got):\n%s", f, diff)
	}
	c, err := groupMaker{kernelMkdir}.make(f, "/x/run1", map[string]string{"memory.max": "1073741824", "pids.max": "50", "cpu.max": "150000 100000"})
	if err != nil {
		t.Fatal(err)
	}
	if got := readSmall(f.Dir + "/" + leafName + "/cgroup.procs"); got != strconv.Itoa(os.Getpid()) {
		t.Errorf("moved: %q", got)
	}
	want := map[string]string{
		"memory.max": "1073741824", "memory.swap.max": "0", "memory.oom.group": "1", "pids.max": "50", "cpu.max": "150000 100000",
	}
	if diff := cmp.Diff(want, texts(t, c.dir)); diff != "" {
		t.Errorf("the limits (-want +got):\n%s", diff)
	}
	// From there the next run of this process finds the group above, and what it enabled.
	next := cgroupRoot{mountinfo: readSmall(filepath.Dir(filepath.Dir(filepath.Dir(f.Dir))) + "/mountinfo"), self: "0::/user/run/" + leafName + "\n"}
	write(t, f.Dir+"/cgroup.procs", "")
	write(t, f.Dir+"/cgroup.subtree_control", "cpu memory pids\n")
	if again := next.look(need); again.Dir != f.Dir || again.Leaf || len(again.Controllers) != 3 {
		t.Errorf("the next run: %+v", again)
	}
}

// A delegated group whose controllers are enabled already is not left; nor is the root.
func TestTheOwnGroupIsNotLeftForNothing(t *testing.T) {
	r := delegated(t, os.Getpid())
	dir := r.look(nil).Dir
	write(t, dir+"/cgroup.subtree_control", "memory")
	f := r.look([]string{"memory"})
	c, err := groupMaker{kernelMkdir}.make(f, "/x/run1", map[string]string{"memory.max": "1"})
	if err != nil || f.Leaf {
		t.Fatalf("%+v, %v", f, err)
	}
	if _, err := os.Stat(dir + "/" + leafName); !errors.Is(err, fs.ErrNotExist) || texts(t, c.dir)["memory.oom.group"] != "1" {
		t.Errorf("left: %v, limits %v", err, texts(t, c.dir))
	}
	// The root of a cgroup namespace is no root: it has a type.
	files := map[string]string{
		"cgroup.procs": "1\n", "cgroup.controllers": "memory\n", "cgroup.subtree_control": "", "cgroup.type": "domain\n",
	}
	if f := fakeCgroup(t, "0::/\n", files).look([]string{"memory"}); len(f.Controllers) != 0 || !f.Busy {
		t.Errorf("the root of a container: %+v", f)
	}
	delete(files, "cgroup.type")
	if f := fakeCgroup(t, "0::/\n", files).look([]string{"memory"}); len(f.Controllers) != 1 || f.Leaf { // the control
		t.Errorf("the root: %+v", f)
	}
}

// What could not be enabled is refused, with why and the way.
func TestPlanSaysWhyThereIsNoController(t *testing.T) {
	for name, c := range map[string]struct {
		fact CgroupFact
		note string
	}{
		"not delegated": {CgroupFact{Dir: "/sys/fs/cgroup/u"}, "not delegated"},
		"others in it":  {CgroupFact{Dir: "/sys/fs/cgroup/u", Busy: true}, "other processes are in"},
	} {
		d := &planner{pol: &policy.Policy{}, plan: &Plan{Cgroup: map[string]string{}}, facts: &Facts{Cgroup: c.fact}}
		d.controller("memory", "memory", "memory.max", "1", 0)
		got := d.plan.Clauses[0]
		if got.State != StateRefused || d.plan.UseCgroup || !strings.Contains(got.Entries[0].Note, c.note) || !strings.Contains(got.Route, "Delegate=yes") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	d := &planner{pol: &policy.Policy{}, plan: &Plan{Cgroup: map[string]string{}}, facts: &Facts{Cgroup: CgroupFact{Dir: "/g", Controllers: []string{"memory"}, Leaf: true}}}
	d.controller("memory", "memory", "memory.max", "1", 0)
	if got := d.plan.Clauses[0]; got.State != StateEnforced || got.Mechanism != "cgroup v2 memory.max" || !strings.Contains(got.Entries[0].Note, "/g/"+leafName) {
		t.Errorf("%+v", got)
	}
}

// A SIGKILL for want of memory is told from another, and the run's own limit from the machine's.
func TestOomKilled(t *testing.T) {
	c := &cgroup{dir: t.TempDir()}
	for text, want := range map[string][2]bool{
		"": {}, "oom 3\noom_kill 0\n": {}, "oom_group_kill 1\n": {},
		"low 0\nhigh 0\nmax 7\noom 0\noom_kill 2\n":                   {true, false},
		"low 0\nhigh 0\nmax 7\noom 1\noom_kill 2\noom_group_kill 1\n": {true, true},
	} {
		write(t, c.dir+"/memory.events", text)
		if killed, limit := c.oomKilled(); killed != want[0] || limit != want[1] {
			t.Errorf("%q: %v, %v", text, killed, limit)
		}
	}
}

func TestPidsRefused(t *testing.T) {
	c := &cgroup{dir: t.TempDir()}
	if n := c.pidsRefused(); n != 0 {
		t.Errorf("without the file: %d", n)
	}
	if err := os.WriteFile(c.dir+"/pids.events", []byte("max 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if n := c.pidsRefused(); n != 3 {
		t.Errorf("pidsRefused = %d, want 3", n)
	}
}
