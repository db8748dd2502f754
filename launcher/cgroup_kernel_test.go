package launcher

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// leafEnv makes this test a process that is alone in a group; its value is that group.
const leafEnv = "LAUNCHER_TEST_LEAF"

// What the tests in a folder suppose, by the kernel: a group with a process in it gives none
// below it a controller, the process can leave it, and then it does. Any domain controller
// does for that; where memory is not to be had, that of huge pages often is.
func TestTheOwnGroupIsLeftInTheKernel(t *testing.T) {
	needs.Root(t)
	needs.CgroupKill(t)
	if group := os.Getenv(leafEnv); group != "" {
		leaveForReal(t, group)
		return
	}
	mount := cgroup2Mount(readSmall("/proc/self/mountinfo"))
	controller, enabled := "", strings.Fields(readSmall(mount+"/cgroup.subtree_control"))
	for _, c := range strings.Fields(readSmall(mount + "/cgroup.controllers")) {
		if c == "memory" || c == "hugetlb" {
			controller = c
		}
	}
	if controller == "" {
		t.Skip("needs: a domain controller in cgroup v2") // gating: all of them may be in version 1
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(writeTo(mount+"/cgroup.subtree_control", "+"+controller))
	if !strings.Contains(" "+strings.Join(enabled, " ")+" ", " "+controller+" ") {
		defer func() { _ = writeTo(mount+"/cgroup.subtree_control", "-"+controller) }()
	}
	group, err := os.MkdirTemp(mount, "brainbox-test-") //nolint:usetesting // a control group
	must(err)
	defer func() {
		for _, dir := range []string{group + "/" + leafName, group} {
			if err := (&cgroup{dir: dir}).gone(); err != nil {
				t.Error(err)
			}
		}
	}()
	cmd := exec.Command("/bin/sh", "-c", `echo $$ >"$1/cgroup.procs" && exec /proc/`+itoa(os.Getpid())+`/exe -test.run="^$2\$" -test.v`, "sh", group, t.Name())
	cmd.Env = append(os.Environ(), leafEnv+"="+group+" "+controller)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
}

// gone removes a group whose processes have ended.
func (c *cgroup) gone() error {
	c.remove()
	if _, err := os.Stat(c.dir); !errors.Is(err, os.ErrNotExist) {
		return errors.New(c.dir + " is left")
	}
	return nil
}

func leaveForReal(t *testing.T, text string) {
	group, controller, _ := strings.Cut(text, " ")
	limits := map[string]string{"hugetlb.2MB.max": "0"}
	if controller == "memory" {
		limits = map[string]string{"memory.max": "1073741824"}
	}
	look := func() CgroupFact { return hostCgroup(readSmall("/proc/self/mountinfo")).look([]string{controller}) }
	f := look()
	if f.Dir != group || !f.Leaf || len(f.Controllers) != 1 {
		t.Fatalf("%+v", f)
	}
	if err := writeTo(group+"/cgroup.subtree_control", "+"+controller); !errors.Is(err, unix.EBUSY) {
		t.Errorf("with a process in it: %v, want EBUSY", err) // the negative control
	}
	c, err := makeCgroup(f, "/x/run1", limits)
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range limits {
		if got := strings.TrimSpace(readSmall(c.dir + "/" + file)); got != want {
			t.Errorf("%s is %q, want %q", file, got, want)
		}
	}
	if own := ownCgroup(readSmall("/proc/self/cgroup")); !strings.HasSuffix(own, "/"+leafName) {
		t.Errorf("this process is in %s", own)
	}
	again := look()
	if again.Dir != group || again.Leaf || len(again.Controllers) != 1 {
		t.Errorf("the next run: %+v", again)
	}
	next, err := makeCgroup(again, "/x/run2", limits)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*cgroup{c, next} {
		if err := c.gone(); err != nil {
			t.Error(err)
		}
	}
}
