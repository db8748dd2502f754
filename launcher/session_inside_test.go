package launcher

import (
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
	"brainbox/internal/spawn"
	"brainbox/landlock"
)

func TestEveryKindOfMountHasOneToCarryOut(t *testing.T) {
	seen := map[spawn.MountKind]MountKind{}
	for k := MountDir; k <= MountGrant; k++ {
		got := spawnKind(k)
		if other, taken := seen[got]; got == 0 || taken {
			t.Errorf("%v and %v are both carried out as %d", k, other, got)
		}
		seen[got] = k
	}
	if got := spawnKind(MountGrant + 1); got != 0 { // which package spawn refuses
		t.Errorf("an unknown kind is carried out as %d", got)
	}
}

func TestWhatAMountGrants(t *testing.T) {
	const file = unix.LANDLOCK_ACCESS_FS_READ_FILE
	device := Mount{File: true, Right: landlock.Read, Device: true}
	for name, c := range map[string]struct {
		mount Mount
		abi   int
		want  uint64
	}{
		"listing alone":           {Mount{List: true, Right: landlock.WriteExec}, 7, unix.LANDLOCK_ACCESS_FS_READ_DIR},
		"a file":                  {Mount{File: true, Right: landlock.Read}, 7, file},
		"a folder":                {Mount{Right: landlock.Read}, 7, file | unix.LANDLOCK_ACCESS_FS_READ_DIR},
		"devices":                 {device, 5, file | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV},
		"devices, unknown to ABI": {device, 4, file},
		"no right":                {Mount{Right: 0xff}, 7, 0},
	} {
		c.mount.Kind = MountGrant
		if got := c.mount.access(c.abi); got != c.want {
			t.Errorf("%s: %s, want %s", name, landlock.AccessNames(got), landlock.AccessNames(c.want))
		}
	}
}

// From ABI 9 on a listed socket has a rule of the descriptor that is bound. The place that it is
// bound to is no own one: package spawn takes no grant by its name.
func TestListedSocketsAreGrantedByDescriptor(t *testing.T) {
	dir := resolved(t.TempDir())
	path := dir + "/s.sock"
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for abi, want := range map[int]int{8: 0, 9: 1, 11: 1} {
		p, f := lookInside(t, dir, "[network]\nunix = [\""+path+"\"]\n")
		f.Command, f.File, f.FileErr = []string{"sh"}, "/bin/sh", nil
		f.Landlock, f.LandlockErr = landlock.Support{ABI: abi, Errata: 7}, nil
		plan := NewPlan(p, f)
		if plan.Refusal != nil {
			t.Fatal(plan.Refusal)
		}
		s := &session{plan: plan, facts: f, ruleset: 1, dir: &runDir{}}
		rules := s.socketRules()
		if len(rules) != want {
			t.Fatalf("ABI %d: rules %+v, want %d", abi, rules, want)
		}
		bound := 0
		for _, m := range s.namespaces([3]int{}).Mounts {
			switch {
			case m.Path != path:
			case m.Kind == spawn.KindBind:
				bound = m.Held
			case m.Kind == spawn.KindGrant:
				t.Errorf("ABI %d: a grant by name", abi)
			}
		}
		if want > 0 && (bound <= 0 || rules[0].FD != bound || !rules[0].Unix) {
			t.Errorf("ABI %d: %d is bound, and the rule is %+v", abi, bound, rules[0])
		}
		f.Close()
	}
}

func TestIDRanges(t *testing.T) {
	for text, want := range map[string][]IDRange{
		"         0          0 4294967295\n": {{0, 4294967295}},
		"0 100000 65536\n70000 7 1\n":        {{0, 65536}, {70000, 1}},
		"":                                   nil,
		"x y z\n1 2\n":                       nil,
	} {
		if diff := cmp.Diff(want, idRanges(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// runInside runs a script in a checkout in namespaces of its own.
func runInside(t *testing.T, dir, text, script string, change func(*Facts)) (*Result, string, error) {
	t.Helper()
	needs.Userns(t)
	needs.LandlockABI(t, 1)
	p, f := lookInside(t, dir, text)
	f.Command, f.File, f.FileErr = []string{"sh", "-c", script}, "/bin/sh", nil
	f.Terminal = false
	if change != nil {
		change(f)
	}
	plan := newPlan(p, f, true)
	if plan.Refusal != nil {
		t.Fatalf("refused: %+v", plan.Refusal)
	}
	out, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	plan.Relay = [3]bool{}
	res, err := plan.Run(f, Options{Stdio: [3]int{int(null.Fd()), int(out.Fd()), int(out.Fd())}})
	b, rerr := os.ReadFile(out.Name())
	if rerr != nil {
		t.Fatal(rerr)
	}
	return res, string(b), err
}

// Root's program may be another user, who owns what he is given and nothing else.
func TestAnotherUserInside(t *testing.T) {
	needs.Root(t)
	dir := checkout(t, "f: x", "theirs: x")
	if err := errors.Join(os.Chown(dir+"/theirs", 61000, 61000), os.Chmod(dir+"/f", 0o600)); err != nil {
		t.Fatal(err)
	}
	id := &IdentityFact{UID: 61000, GID: 61001, Groups: []uint32{61002}, User: "agent", Home: "/"}
	res, out, err := runInside(t, dir, "", `id -u; id -g; id -G; cat f 2>&1; cat theirs; touch $HOME/a $TMPDIR/b && echo own
stat -c %u:%n f theirs; grep CapEff /proc/self/status`, func(f *Facts) { f.Identity = id })
	if err != nil || res.Status != 0 {
		t.Fatalf("%+v, %v\n%s", res, err, out)
	}
	for _, want := range []string{
		"61000\n61001\n61001 61002\n", "Permission denied", "x", "own\n", "0:f\n61000:theirs\n", "CapEff:\t0000000000000000\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

// A device can be used, and nothing can be done to it: not even by root's program, who owns
// the host's /dev/null.
func TestDevicesInsideStayAsTheyAre(t *testing.T) {
	var before, after unix.Stat_t
	if err := unix.Stat("/dev/null", &before); err != nil {
		t.Fatal(err)
	}
	res, out, err := runInside(t, checkout(t, "f: x"), "", `
for x in "chmod 666 /dev/null" "touch /dev/zero" "chown 0 /dev/full" "rm /dev/null" "mknod n c 1 3"; do
	$x 2>/dev/null && echo "$x worked"
done
echo x >/dev/null && head -c 3 /dev/zero | wc -c; echo x 2>/dev/null >>/dev/full || echo full; : >|/dev/null && echo cut`, nil)
	if want := "3\nfull\ncut\n"; err != nil || res.Status != 0 || out != want {
		t.Errorf("%+v, %v: %q, want %q", res, err, out, want)
	}
	if err := unix.Stat("/dev/null", &after); err != nil || before.Mode != after.Mode || before.Uid != after.Uid {
		t.Errorf("the host's /dev/null has mode %o, had %o", after.Mode, before.Mode)
	}
}

// A run in namespaces takes its own with it, and a failing step says which it was.
func TestAStartThatFailsInside(t *testing.T) {
	dir := checkout(t, "f: x", "secret/x: x")
	swapped := func(f *Facts) { // what was held is not what is there
		for i := range f.Inside.Names {
			if f.Inside.Names[i].Guard == GuardDeny {
				f.Inside.Names[i].fd = f.Cwd.fd
			}
		}
	}
	deny := "extends = [\"default\"]\n[filesystem]\ndeny = [\"./secret\"]\n"
	_, _, err := runInside(t, dir, deny, "echo RAN", swapped)
	var r *Refusal
	if !errors.As(err, &r) || r.Status != StatusRefused || !strings.Contains(r.Message, `start: mount: statx "`+dir+`/secret": stale file handle`) {
		t.Errorf("%v", err)
	}
	res, out, err := runInside(t, dir, deny, "ls -A secret; echo ran", nil) // positive control
	if err != nil || res.Status != 0 || out != "ran\n" {
		t.Errorf("%+v %v %q", res, err, out)
	}
	if mounts, err := os.ReadFile("/proc/self/mountinfo"); err != nil || strings.Contains(string(mounts), dir) {
		t.Errorf("a mount is left: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("the checkout holds %v, %v", left, err)
	}
}

func TestRefusalOfNamespacesThatAreNotOffered(t *testing.T) {
	p := &Plan{Isolation: "namespaces", Asked: "namespaces"}
	for _, c := range []struct {
		step  spawn.Step
		errno syscall.Errno
		want  string
	}{
		{spawn.StepNamespaces, unix.EPERM, "not offered here (namespaces: EPERM, by the kernel or a security module)"},
		{spawn.StepMaps, unix.EPERM, "not offered here (id maps: EPERM, by the user namespace around"},
		{spawn.StepPrivate, unix.EACCES, "not offered here (private mounts: EACCES, by "},
		{spawn.StepProc, unix.EPERM, "not offered here (own /proc: EPERM, by an outer container"},
		{spawn.StepMount, unix.EPERM, "start: mount: mount_setattr"},
	} {
		err := p.startError(&spawn.Error{Step: c.step, Call: "mount_setattr", Errno: c.errno})
		var r *Refusal
		if !errors.As(err, &r) || r.Status != StatusRefused || !strings.Contains(r.Message, c.want) ||
			!strings.Contains(r.Hint, "--isolation landlock needs no") {
			t.Errorf("%v: %+v, want %q", c.step, r, c.want)
		}
	}
}

// The self-test is made where nothing is granted, also if the run's folder lies in a grant.
func TestSelfTestInside(t *testing.T) {
	p := &Plan{Isolation: "namespaces", regions: map[string]region{"/": {path: "/", own: true}}}
	at := func() string {
		list := p.probes("/base/run/canary", nil)
		if len(list) == 0 {
			return ""
		}
		return list[0].Path
	}
	if got := at(); got != "/base/run/canary" {
		t.Errorf("the self-test writes to %q", got)
	}
	p.regions["/base"] = region{path: "/base", write: true}
	p.Mounts = []Mount{{Kind: MountGrant, Path: "/base", Right: landlock.Write}}
	if got := at(); got != "/canary" {
		t.Errorf("with a grant around it the self-test writes to %q", got)
	}
	if slices.ContainsFunc(p.probes("/base/run/canary", nil), func(s spawn.Probe) bool { return !slices.Contains(s.Errnos, unix.EROFS) }) {
		t.Error("a sealed root is no answer")
	}
}
