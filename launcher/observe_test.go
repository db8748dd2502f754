package launcher

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

func TestFindCommandAsExecvp(t *testing.T) {
	top := resolved(t.TempDir())
	for _, dir := range []string{"a", "b", "cwd/sub", "a/folder"} {
		mkdir(t, top+"/"+dir, 0o755, -1)
	}
	put := func(name string, mode uint32) string {
		write(t, top+"/"+name, "#!/bin/sh\n")
		if err := unix.Chmod(top+"/"+name, mode); err != nil {
			t.Fatal(err)
		}
		return top + "/" + name
	}
	put("a/plain", 0o644)
	put("a/both", 0o644)
	both := put("b/both", 0o755)
	prog := put("a/prog", 0o755)
	put("b/prog", 0o755)
	local := put("cwd/local", 0o755)
	path := top + "/missing:" + top + "/a/prog:" + top + "/a:" + top + "/b"
	for _, c := range []struct {
		name, want string
		err        error
	}{
		{"", "", unix.ENOENT},
		{"nowhere", "", unix.ENOENT},
		{"local", "", unix.ENOENT}, // the current directory is not searched
		{"plain", "", unix.EACCES},
		{"folder", "", unix.EISDIR},
		{"./nowhere", top + "/cwd/./nowhere", unix.ENOENT},
		{"local/", top + "/cwd/local/", unix.ENOTDIR},
		{"sub/", top + "/cwd/sub/", unix.EISDIR},
		{top + "/a/plain", top + "/a/plain", unix.EACCES},
		{top + "/a/prog/x", top + "/a/prog/x", unix.ENOTDIR},
		{"prog", prog, nil},
		{"both", both, nil}, // one that may not be executed does not end the search
		{"./local", top + "/cwd/./local", nil},
		{local, local, nil},
	} {
		got, err := findCommand(c.name, path, top+"/cwd")
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("findCommand(%q) = %q, %v; want %q, %v", c.name, got, err, c.want, c.err)
		}
		if wantNotFound := errors.Is(c.err, unix.ENOENT); c.err != nil && errors.Is(err, fs.ErrNotExist) != wantNotFound {
			t.Errorf("findCommand(%q): %v answers to ErrNotExist: %v", c.name, err, !wantNotFound)
		}
	}
}

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
	if diff := cmp.Diff(CgroupFact{Dir: "/fs/user/run", Controllers: []string{"memory"}, Kill: true}, got); diff != "" {
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
	if _, err := makeCgroup(parent, "/x/run1", map[string]string{"memory.max": "1"}); err == nil {
		t.Error("a tree without memory.max took a memory limit")
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	c, err := makeCgroup(parent, "/x/run2", nil) // positive control
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

func TestOomKilled(t *testing.T) {
	c := &cgroup{dir: t.TempDir()}
	for text, want := range map[string]bool{
		"": false, "oom 3\noom_kill 0\n": false, "low 0\noom_kill 2\n": true, "oom_group_kill 1\n": false,
	} {
		write(t, c.dir+"/memory.events", text)
		if got := c.oomKilled(); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
