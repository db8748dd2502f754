package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	moby "github.com/moby/profiles/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"

	"brainbox/internal/needs"
)

// container is one that docker would start, started by runc.
type container struct {
	uid      int
	whole    bool     // systempaths=unconfined: nothing of /proc and /sys is covered or read-only
	noFilter bool     // seccomp=unconfined
	caps     []string // cap-drop=ALL, and these; nil: docker's
}

// containers counts them: each has a name of its own.
var containers atomic.Int32

// dockerCaps are the capabilities that docker gives to root.
func dockerCaps() []string {
	caps := strings.Fields("CHOWN DAC_OVERRIDE FSETID FOWNER MKNOD NET_RAW SETGID SETUID SETFCAP SETPCAP NET_BIND_SERVICE SYS_CHROOT KILL AUDIT_WRITE")
	for i := range caps {
		caps[i] = "CAP_" + caps[i]
	}
	return caps
}

// Where things are in the container: in a folder that the default policy grants.
const (
	containerBin  = "/opt/brainbox"
	containerWork = "/work"
)

// spec is docker's own for it, as far as it matters to brainbox. The programs are the
// host's, read-only.
func (c container) spec(t testing.TB, work string, command []string) *specs.Spec {
	t.Helper()
	caps := c.caps
	if caps == nil {
		caps = dockerCaps()
	}
	has := &specs.LinuxCapabilities{Bounding: caps}
	if c.uid == 0 {
		has.Effective, has.Permitted = caps, caps
	}
	s := &specs.Spec{
		Version: "1.0.2", Root: &specs.Root{Path: "rootfs"}, Hostname: "container",
		Process: &specs.Process{
			Args: command, Cwd: containerWork, Capabilities: has, User: specs.User{UID: uint32(c.uid), GID: uint32(c.uid)},
			Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin:" + containerBin, "HOME=/home/user"},
		},
		Mounts: []specs.Mount{
			{Destination: "/proc", Type: "proc", Source: "proc", Options: []string{"nosuid", "noexec", "nodev"}},
			{Destination: "/dev", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "strictatime", "mode=755", "size=65536k"}},
			{Destination: "/dev/pts", Type: "devpts", Source: "devpts", Options: []string{"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"}},
			{Destination: "/dev/shm", Type: "tmpfs", Source: "shm", Options: []string{"nosuid", "noexec", "nodev", "mode=1777", "size=65536k"}},
			{Destination: "/sys", Type: "sysfs", Source: "sysfs", Options: []string{"nosuid", "noexec", "nodev", "ro"}},
			{Destination: "/tmp", Type: "tmpfs", Source: "tmpfs", Options: []string{"mode=1777"}},
			{Destination: "/usr", Type: "bind", Source: "/usr", Options: []string{"rbind", "ro"}},
			{Destination: containerBin, Type: "bind", Source: bin, Options: []string{"bind", "ro"}},
			{Destination: containerWork, Type: "bind", Source: work, Options: []string{"bind", "rw"}},
		},
		Linux: &specs.Linux{Namespaces: []specs.LinuxNamespace{{Type: "mount"}, {Type: "pid"}, {Type: "ipc"}, {Type: "uts"}, {Type: "network"}}},
	}
	if !c.whole {
		s.Linux.MaskedPaths = strings.Fields("/proc/acpi /proc/asound /proc/interrupts /proc/kcore /proc/keys /proc/latency_stats " +
			"/proc/sched_debug /proc/scsi /proc/timer_list /proc/timer_stats /sys/devices/virtual/powercap /sys/firmware")
		s.Linux.ReadonlyPaths = strings.Fields("/proc/bus /proc/fs /proc/irq /proc/sys /proc/sysrq-trigger")
	}
	if !c.noFilter {
		filter, err := moby.GetDefaultProfile(s)
		must(t, err)
		s.Linux.Seccomp = filter
	}
	return s
}

// run starts the command in such a container. What it writes to /work is in the folder
// that is returned.
func (c container) run(t testing.TB, runc string, prepare func(work string), command ...string) (result, string) {
	t.Helper()
	top := t.TempDir()
	bundle, work := filepath.Join(top, "bundle"), filepath.Join(top, "work")
	root := filepath.Join(bundle, "rootfs")
	for _, dir := range []string{work, root, root + "/etc/brainbox", root + "/home/user"} {
		must(t, os.MkdirAll(dir, 0o755))
	}
	for _, name := range []string{"bin", "lib", "lib64"} {
		if target, err := os.Readlink("/" + name); err == nil {
			must(t, os.Symlink(target, filepath.Join(root, name)))
		}
	}
	user := fmt.Sprintf("root:x:0:0::/root:/bin/sh\nuser:x:%d:%d::/home/user:/bin/sh\n", c.uid, c.uid)
	must(t, os.WriteFile(root+"/etc/passwd", []byte(user), 0o644))
	must(t, os.WriteFile(root+"/etc/brainbox/exec.toml", []byte("version = 1\nextends = [\"default\"]\n"), 0o644))
	if prepare != nil {
		prepare(work)
	}
	for _, dir := range []string{work, root + "/home/user"} {
		must(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
			must(t, err)
			return os.Lchown(path, c.uid, c.uid)
		}))
	}
	text, err := json.Marshal(c.spec(t, work, command))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(bundle, "config.json"), text, 0o600))
	id := fmt.Sprintf("brainbox-test-%d-%d", os.Getpid(), containers.Add(1))
	state := filepath.Join(top, "state")
	t.Cleanup(func() { // runc has removed it; not so after a failure
		_ = exec.Command(runc, "--root", state, "delete", "--force", id).Run()
	})
	res := run(t, top, exec.Command(runc, "--root", state, "run", "--bundle", bundle, id))
	for _, left := range cgroupsNamed(t, id) {
		t.Errorf("a cgroup is left: %s", left)
	}
	return res, work
}

// cgroupsNamed lists the groups of a container.
func cgroupsNamed(t testing.TB, id string) []string {
	t.Helper()
	list, err := filepath.Glob("/sys/fs/cgroup/*/" + id)
	must(t, err)
	deeper, err := filepath.Glob("/sys/fs/cgroup/*/*/*/" + id)
	must(t, err)
	return append(list, deeper...)
}

// answer is what check --json says of a place.
type answer struct {
	Isolation, Asked string
	Start            bool
	Fallback         *struct{ Step, Errno, Layer, Route string }
	Refusal          *struct {
		Status                int
		Clause, Message, Hint string
	}
}

// TestInContainers is esc/LA-10 and esc/NW-19 where a backend's agents live: what starts
// there, starts; what is refused names who refused, and the way.
func TestInContainers(t *testing.T) {
	kernel(t)
	runc := needs.Container(t)
	if inside() {
		return // the rows name the isolation themselves
	}
	const filter, covered = "a seccomp filter", "parts of /proc are covered or read-only"
	for _, c := range []struct {
		name  string
		in    container
		step  string // where namespaces are refused; "": they are not
		layer string
		route string
	}{
		{"docker, root", container{}, "namespaces", filter, "seccomp=unconfined"},
		{"docker, a user", container{uid: 1000}, "namespaces", filter, "seccomp=unconfined"},
		{"cap-drop, root", container{caps: []string{}}, "namespaces", filter, "seccomp=unconfined"},
		{"systempaths=unconfined, root", container{whole: true}, "namespaces", filter, "seccomp=unconfined"},
		{"systempaths=unconfined, a user", container{uid: 1000, whole: true}, "namespaces", filter, "seccomp=unconfined"},
		{"seccomp=unconfined, root", container{noFilter: true}, "nested namespaces", covered, "systempaths=unconfined"},
		{"seccomp=unconfined, a user", container{uid: 1000, noFilter: true}, "nested namespaces", covered, "systempaths=unconfined"},
		{"both, root", container{noFilter: true, whole: true}, "", "", ""},
		{"both, a user", container{uid: 1000, noFilter: true, whole: true}, "", "", ""},
		{"both, cap-drop, root", container{noFilter: true, whole: true, caps: []string{}}, "id maps", "CAP_SETFCAP", "cap-add"},
		{"both, cap-add SETFCAP, root", container{noFilter: true, whole: true, caps: []string{"CAP_SETFCAP"}}, "", "", ""},
		{"both, cap-drop, a user", container{uid: 1000, noFilter: true, whole: true, caps: []string{}}, "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := "namespaces"
			if c.step != "" {
				want = "landlock"
			}
			prepare := func(work string) {
				must(t, os.WriteFile(filepath.Join(work, "secret"), []byte(canaryText), 0o644))
				must(t, os.WriteFile(filepath.Join(work, "outside"), []byte(script), 0o755))
			}
			res, work := c.in.run(t, runc, prepare, "/bin/sh", "outside")
			read := func(name string) string {
				text, err := os.ReadFile(filepath.Join(work, name))
				if err != nil {
					t.Fatalf("%v; status %d, %s %s", err, res.status, res.out, res.err)
				}
				return string(text)
			}
			var got answer
			if err := json.Unmarshal([]byte(read("check")), &got); err != nil {
				t.Fatalf("%v: %s", err, read("check"))
			}
			if got.Isolation != want || got.Asked != "auto" || !got.Start || (got.Fallback != nil) != (c.step != "") {
				t.Errorf("check: %+v", got)
			}
			if f := got.Fallback; f != nil && (f.Step != c.step || !strings.Contains(f.Layer, c.layer) || !strings.Contains(f.Route, c.route)) {
				t.Errorf("check: %+v, want step %q, layer %q, route %q", *f, c.step, c.layer, c.route)
			}
			// What stays open is told when the program has started: before or after its own words.
			if got := read("run"); !strings.HasPrefix(got, "0 ") || !strings.Contains(got, "ran 2\n") || strings.Contains(got, "brainbox: isolation landlock") != (want == "landlock") {
				t.Errorf("run: %q", got)
			}
			if got := read("status"); !strings.Contains(got, `"event":"started"`) || !strings.Contains(got, `"isolation":"`+want+`"`) {
				t.Errorf("status line: %s", got)
			}
			if got := read("exec"); got != "0 ran 2\n" { // the wrapper, which has landlock only
				t.Errorf("brainbox-exec: %q", got)
			}
			probe, insisted, denied := read("probe"), read("insisted"), read("denied")
			if want == "namespaces" {
				if !strings.Contains(probe, "namespaces         yes") || !strings.HasPrefix(insisted, "0 ran\n") || strings.Contains(denied, "canary") {
					t.Errorf("probe: %s\ninsisted: %s\ndenied: %s", probe, insisted, denied)
				}
				return
			}
			for name, text := range map[string]string{"probe": probe, "insisted": insisted, "denied": denied} {
				if !strings.Contains(text, c.layer) || !strings.Contains(text, c.route) {
					t.Errorf("%s does not say %q and %q: %s", name, c.layer, c.route, text)
				}
			}
			if !strings.HasPrefix(insisted, "125 ") || !strings.HasPrefix(denied, "125 ") || !strings.Contains(denied, `deny: "./secret"`) {
				t.Errorf("insisted: %q\ndenied: %q", insisted, denied)
			}
		})
	}
}

// script is what runs in each container. Each file has the status and what was said.
const script = `
say() { # FILE COMMAND...
	file=$1
	shift
	"$@" >out 2>&1
	echo "$? $(cat out)" >$file
}
brainbox check --json -- true >check
say run brainbox run -v --status-fd 3 -- sh -c 'echo ran $(grep Seccomp: /proc/self/status | cut -f2)' 3>status
say insisted brainbox run --isolation namespaces -- echo ran
say denied brainbox run --deny ./secret -- cat secret
brainbox probe >probe
say exec brainbox-exec /bin/sh -c 'echo ran $(grep Seccomp: /proc/self/status | cut -f2)'
`
