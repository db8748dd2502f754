package launcher

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"brainbox/internal/spawn"
	"brainbox/internal/strictjson"
	"brainbox/policy"
)

func insideCases() []mountCase {
	at := func(abi int) world {
		return world{host: host{abi: abi, uid: 1000, command: []string{"true"}}, tree: append(debian(), "/home/u/co/.git/config", "/home/u/co/.git/hooks/")}
	}
	with := func(w world, keep func(*InsideFact)) world { w.keep = keep; return w }
	unixes := "[network]\nunix = [\"/run/db.sock\", \"/run/docker.sock\", \"/srv/a\", { path = \"/run/gone.sock\", missing = \"skip\" }]\n"
	withSockets := at(7)
	withSockets.tree = append(withSockets.tree, "/run/db.sock =", "/run/docker.sock =", "/home/u/co/s =")
	withSockets.sockets = []string{"/home/u/co/s"}
	root := at(7)
	root.uid = 0
	served := at(7)
	served.change = func(f *Facts) { f.Proxy = &Proxy{} }
	delegated := at(7)
	delegated.change = func(f *Facts) {
		f.Cgroup = CgroupFact{Dir: "/sys/fs/cgroup/u", Controllers: []string{"memory", "pids", "cpu"}, Kill: true}
	}
	limits := bare + "[process]\nmemory = \"1GiB\"\npids = 50\ncpu = \"1.5\"\n"
	return []mountCase{
		{"default", "", at(7)},
		{"abi-2", bare, at(2)},
		{"abi-5-host-network", bare + "[network]\nmode = \"host\"\n", at(5)},
		{"abi-9", bare, at(9)},
		{"ports", bare + "[network]\nmode = \"ports\"\nconnect_tcp = [443]\n", at(7)},
		{"proxy-unserved", bare + "[network]\nmode = \"proxy\"\nallow_hosts = [\"example.com\"]\n", at(7)},
		{"proxy", bare + "[network]\nmode = \"proxy\"\npublish = [3000]\nresolver = \"192.0.2.53\"\n" +
			"allow_hosts = [\"example.com\", \"*.example.org:8443\", \"192.0.2.1:22\", \"2001:db8::1\"]\n", served},
		{"proxy-empty", bare + "[network]\nmode = \"proxy\"\n", served},
		{"proxy-upstream", bare + "[network]\nmode = \"proxy\"\nallow_hosts = [\"example.com\"]\nupstream = \"http://proxy.corp:3128\"\nresolver = \"[2001:db8::53]:5353\"\n", served},
		{"publish", bare + "[network]\npublish = [3000, 8080]\n", served},
		{"publish-unserved", bare + "[network]\npublish = [3000]\n", at(7)},
		{"unix", bare + unixes, withSockets},
		{"pids", bare + "[process]\npids = 50\n", at(7)},
		{"limits", limits, delegated},
		{"limits-without-cgroup", limits, at(7)},
		{"pids-of-root", bare + "[process]\npids = 50\n", root},
		{"seccomp-debug", bare + "[process]\nseccomp = \"debug\"\n", at(7)},
		{"seccomp-none", bare + "[process]\nseccomp = \"none\"\n", at(7)},
		{"protect-and-deny", bare + "protect = [\"./.git\", \"./later\", \"/srv/a\"]\ndeny = [\"./none\", \"/home/u/.cargo\", \"/usr/bin\"]\n", at(7)},
		{"partial", "", with(at(7), func(in *InsideFact) {
			in.Scans = []ScanFact{{Path: testCwd, Writes: true, Names: 100000, Stopped: testCwd + "/big", Unread: []string{testCwd + "/x", testCwd + "/y"}, Mounts: []string{testCwd + "/m"}}}
		})},
		{"system-folder", "[filesystem]\nexec = [\"/usr\"]\n", with(at(7), func(in *InsideFact) {
			in.Scans = []ScanFact{{Path: "/usr", Served: true}}
		})},
		{"unreadable-name", "", with(at(7), func(in *InsideFact) { in.Names[1].Err = unix.EACCES })},
		{"own-proc", "[filesystem]\nread = [\"/proc/cpuinfo\"]\nwrite = [\"/proc/sys\"]\n", func() world { w := at(7); w.tree = append(w.tree, "/proc/cpuinfo", "/proc/sys/"); return w }()},
		{"folder-changed", "[filesystem]\nwrite = [\".\"]\nprotect = [\"./a/b\"]\n", func() world {
			w := at(7)
			w.tree = append(w.tree, "/home/u/co/a/b")
			w.after = func(in *InsideFact) { in.Folders[0].Kind = NameLink }
			return w
		}()},
		{"too-many-names", "", with(at(7), func(in *InsideFact) { in.Names[1].Err = unix.EMFILE })},
	}
}

func TestInsidePlanIsGolden(t *testing.T) {
	var want []string
	for _, c := range insideCases() {
		file := filepath.Join("testdata", "inside", c.name+".golden")
		want = append(want, file)
		t.Run(c.name, func(t *testing.T) {
			plan, _ := insidePlan(t, c.world, c.policy)
			got := show(plan)
			got, _, _ = strings.Cut(got, "\nenv ")
			got += "\nown network " + map[bool]string{true: "yes", false: "no"}[plan.OwnNetwork] + "\n"
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			golden, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(golden), got); diff != "" {
				t.Errorf("plan (-golden +now):\n%s", diff)
			}
			var names []string
			for _, cl := range plan.Clauses {
				names = append(names, cl.Name)
				for _, e := range cl.Entries {
					if e.State > cl.State {
						t.Errorf("clause %s is %s, its entry %q is %s", cl.Name, cl.State, e.Value, e.State)
					}
				}
				if cl.State == StateRefused && plan.Refusal == nil {
					t.Errorf("clause %s is refused and the plan is not", cl.Name)
				}
			}
			if diff := cmp.Diff(clauseNames(), names); diff != "" {
				t.Errorf("clauses (-want +got):\n%s", diff)
			}
		})
	}
	have, err := filepath.Glob("testdata/inside/*.golden")
	if err != nil || len(have) == 0 {
		t.Fatalf("golden files: %v, %v", have, err)
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("golden files and cases (-cases +files):\n%s", diff)
	}
}

// The table of nested entries (design §7), as isolation namespaces mounts it.
func TestNestedEntriesInside(t *testing.T) {
	rights := []string{"read", "exec", "write", "write_exec", "protect", "deny"}
	want := map[string][]string{ // outer → for each inner: how the inner place is mounted
		"read":       {"-", "bind exec", "bind write", "bind write exec", "-", "mask"},
		"exec":       {"self", "-", "bind write", "bind write exec", "-", "mask"},
		"write":      {"self", "bind exec", "-", "bind write exec", "self", "mask"},
		"write_exec": {"self", "self exec", "self write", "-", "self exec", "mask"},
		"protect":    {"own", "own exec", "error", "error", "-", "-"},
		"deny":       {"error", "error", "error", "error", "-", "-"},
	}
	for _, outer := range rights {
		for i, inner := range rights {
			t.Run(inner+" inside "+outer, func(t *testing.T) {
				lists := map[string]string{outer: `"/data/a"`}
				lists[inner] = strings.TrimPrefix(lists[inner]+`, "/data/a/b"`, ", ")
				text := "[filesystem]\n"
				for right, list := range lists {
					text += right + " = [" + list + "]\n"
				}
				plan, _ := insidePlan(t, world{host: host{abi: 7, uid: 1000}, tree: append(debian(), "/data/a/b/")}, text)
				got := "-"
				for _, m := range plan.Mounts {
					if m.Path != "/data/a/b" || m.Kind == MountDir {
						continue
					}
					got = m.Kind.String()
					if m.Kind == MountBind && !m.Over {
						got = "own"
					}
					if m.Writable {
						got += " write"
					}
					if m.Exec {
						got += " exec"
					}
				}
				if plan.Refusal != nil {
					got = "error"
				}
				if got != want[outer][i] {
					t.Errorf("got %q, want %q\n%s", got, want[outer][i], showMounts(plan.Mounts))
				}
			})
		}
	}
}

// What why answers is what is mounted: the innermost entry counts.
func TestAllowsInside(t *testing.T) {
	w := world{host: host{abi: 7, uid: 1000}, tree: append(debian(), "/home/u/co/.git/hooks/", "/home/u/co/secret/", "/home/u/co/vendor/", "/home/u/co/a/b/noexec/")}
	plan, _ := insidePlan(t, w, "extends = [\"default\"]\n[filesystem]\nread = [\"./vendor\"]\nwrite = [\"./a/b/noexec\"]\ndeny = [\"./secret\"]\n")
	if plan.Refusal != nil {
		t.Fatal(plan.Refusal)
	}
	for _, c := range []struct {
		right policy.Right
		path  string
		want  bool
	}{
		{policy.RightWrite, testCwd + "/src/x", true},
		{policy.RightExec, testCwd + "/src/x", true},
		{policy.RightWrite, testCwd + "/.git/hooks/pre-commit", false},
		{policy.RightRead, testCwd + "/.git/hooks/pre-commit", true},
		{policy.RightWrite, testCwd + "/.git/index", true},
		{policy.RightRead, testCwd + "/secret/x", false},
		{policy.RightWrite, testCwd + "/vendor/x", false},
		{policy.RightExec, testCwd + "/vendor/x", false},
		{policy.RightRead, testCwd + "/vendor/x", true},
		{policy.RightExec, testCwd + "/a/b/noexec/x", false},
		{policy.RightWrite, testCwd + "/a/b/noexec/x", true},
		{policy.RightWrite, "/tmp/x", true},
		{policy.RightWrite, "/usr/x", false},
		{policy.RightExec, "/usr/bin/x", true},
		{policy.RightRead, "/home/u/.ssh/id", false},
		{policy.RightRead, "/", false},
		{policy.RightWrite, testRun + "/tmp/x", true},
		{policy.RightRead, "/proc/self/status", true},
		{policy.RightWrite, "/proc/self/comm", false},
		{policy.RightRead, "/etc/passwd", true},
		{policy.RightWrite, "/dev/null", true},
		{policy.RightRead, "/dev/kvm", false},
	} {
		ok, e := plan.Allows(c.right, c.path)
		if ok != c.want || ok && (e == nil || e.Value == "") {
			t.Errorf("%s %s: %v by %+v, want %v", c.right, c.path, ok, e, c.want)
		}
	}
}

func TestFallBack(t *testing.T) {
	good := &Plan{Asked: "auto", Isolation: "landlock"}
	insisted := &Plan{Asked: "namespaces", Isolation: "landlock"}
	cannot := &Plan{Asked: "auto", Refusal: &Refusal{Status: StatusRefused, Clause: "deny", Message: "deny: x", Hint: "h"}}
	for _, step := range []spawn.Step{spawn.StepNamespaces, spawn.StepMaps, spawn.StepPrivate} {
		for _, errno := range []unix.Errno{unix.EPERM, unix.EACCES, unix.ENOSYS, unix.ENOSPC, unix.EUSERS} {
			a := Attempt{Step: step, Errno: errno}
			p, r := FallBack(good, a)
			if r != nil || p.Fallback == nil || *p.Fallback != a || good.Fallback != nil {
				t.Errorf("%s: %+v, %+v", a, p, r)
			}
			if p, r := FallBack(insisted, a); p != nil || r == nil || r.Status != StatusRefused || r.Hint == "" || !strings.Contains(r.Message, a.String()) {
				t.Errorf("insisted, %s: %+v, %+v", a, p, r)
			}
			p, r = FallBack(cannot, a)
			if p != nil || r == nil || r.Clause != "deny" || !strings.Contains(r.Message, "not offered here") || !strings.HasPrefix(r.Hint, "h; ") {
				t.Errorf("not to be held without, %s: %+v, %+v", a, p, r)
			}
		}
		for _, errno := range []unix.Errno{unix.EINVAL, unix.ENOENT, unix.EBUSY, unix.ENOMEM, 0} {
			if p, r := FallBack(good, Attempt{Step: step, Errno: errno}); p != nil || r == nil {
				t.Errorf("%s %v falls back", step, errno)
			}
		}
	}
	if p, r := FallBack(good, Attempt{Step: spawn.StepRoot, Errno: unix.ENOSYS}); r != nil || p.Fallback == nil { // before Linux 5.12
		t.Errorf("an older kernel: %+v, %+v", p, r)
	}
	// Who insists is told the clause that would refuse every start.
	none := &Plan{Asked: "namespaces", Refusal: &Refusal{Status: StatusRefused, Clause: "files", Message: "files: x", Hint: "h"}}
	if _, r := FallBack(none, Attempt{Step: spawn.StepRoot, Errno: unix.ENOSYS}); r == nil || r.Clause != "files" || strings.Contains(r.Hint, hintLandlock) {
		t.Errorf("insisted, and refused in any case: %+v", r)
	}
	for _, step := range []spawn.Step{
		spawn.StepRoot, spawn.StepMount, spawn.StepLoopback, spawn.StepHostname, spawn.StepLandlock, spawn.StepSeccomp, spawn.StepExec, 0,
	} {
		if p, r := FallBack(good, Attempt{Step: step, Errno: unix.EPERM}); p != nil || r == nil || !strings.Contains(r.Message, "EPERM") {
			t.Errorf("%v falls back", step)
		}
	}
}

func TestFallbackInJSON(t *testing.T) {
	p := planOf(t, host{abi: 7, uid: 1000, command: []string{"true"}}, "")
	text := func(p *Plan) string { v := p.JSON(); return string(strictjson.Append(nil, &v)) }
	if got := text(p); !strings.Contains(got, `"fallback":null`) {
		t.Errorf("without an attempt: %.200s", got)
	}
	p, r := FallBack(p, Attempt{Step: spawn.StepNamespaces, Errno: unix.EPERM, Layer: "l", Route: "r"})
	if r != nil {
		t.Fatal(r)
	}
	if got := text(p); !strings.Contains(got, `"fallback":{"step":"namespaces","errno":"EPERM","layer":"l","route":"r"}`) {
		t.Errorf("with one: %.200s", got)
	}
}
