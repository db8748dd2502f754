package launcher

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// plainWorker and plainLook are a worker that may be launched.
func plainWorker() *Worker {
	return &Worker{Repo: "/srv/repo", Command: []string{"/usr/bin/agent", "-x"}}
}

func plainLook() *workerLook {
	return &workerLook{
		goos: "linux", scratch: ScratchDir, scratchLeadsTo: ScratchDir,
		repo: pathLook{Target: "/srv/repo", Kind: unix.S_IFDIR, Dev: 1, FSType: unix.EXT4_SUPER_MAGIC, Mine: true},
	}
}

// TestWorkerIsRefusedByRule: bk/WP2, bk/WP12, bk/WP13, bk/WP19, bk/WP20.
func TestWorkerIsRefusedByRule(t *testing.T) {
	state := func(change func(*pathLook)) func(*Worker, *workerLook) {
		return func(w *Worker, l *workerLook) {
			w.State = "/dev/shm/state"
			l.state = pathLook{Target: w.State, Kind: unix.S_IFDIR, Dev: 2, FSType: unix.TMPFS_MAGIC}
			change(&l.state)
		}
	}
	read := func(path, target string) func(*Worker, *workerLook) {
		return func(w *Worker, l *workerLook) {
			w.Read = []string{path}
			l.reads = []pathLook{{Target: target, Kind: unix.S_IFDIR}}
		}
	}
	scratch := func(path, leads string) func(*Worker, *workerLook) {
		return func(w *Worker, l *workerLook) { w.Scratch, l.scratch, l.scratchLeadsTo = path, path, leads }
	}
	repo := func(path string) func(*Worker, *workerLook) {
		return func(w *Worker, l *workerLook) { w.Repo, l.repo.Target = path, path }
	}
	relay := func(change func(sock, dir *pathLook)) func(*Worker, *workerLook) {
		return func(w *Worker, l *workerLook) {
			w.Relay, l.relayDir = "/run/relay/s", "/run/relay"
			l.relay = pathLook{Target: w.Relay, Kind: unix.S_IFSOCK}
			l.relayOf = pathLook{Target: "/run/relay", Kind: unix.S_IFDIR, Mode: 0o700, Mine: true}
			change(&l.relay, &l.relayOf)
		}
	}
	good := func(*pathLook) {}
	stateAt := func(path string) func(*Worker, *workerLook) {
		return func(w *Worker, l *workerLook) {
			state(good)(w, l)
			w.State, l.state.Target = path, path
		}
	}
	for _, c := range []struct {
		name   string
		change func(*Worker, *workerLook)
		want   string // the start of the requirement; "" is no refusal
		turn   Turn
	}{
		{"WP2 another system", func(_ *Worker, l *workerLook) { l.goos = "darwin" }, "Linux namespaces required", 0},
		{"WP12 scratch in the repo", scratch("/srv/repo/s", "/srv/repo/s"), "scratch must be separate", 0},
		{"WP12 repo in scratch", scratch("/srv", "/srv"), "scratch must be separate", 0},
		{"WP12 scratch is the root", scratch("/", "/"), "scratch must be separate", 0},
		{"WP12 repo is /tmp", repo("/tmp"), "scratch must be separate", 0},
		{"WP12 repo is the root", repo("/"), "scratch must be separate", 0},
		{"WP12 scratch is a link into the repo", scratch("/x", "/srv/repo/s"), "scratch must be separate", 0},
		{"WP12 scratch in a system folder", scratch("/usr/s", "/usr/s"), "scratch must be separate", 0},
		{"WP12 scratch in /proc", scratch("/proc/s", "/proc/s"), "scratch must be separate", 0},
		{"WP12 scratch is relative", scratch("s", "s"), "scratch must be separate", 0},
		{"WP12 scratch is not clean", scratch("/x/../srv/repo/s", "/x"), "scratch must be separate", 0},
		{"WP12 scratch in /tmp", scratch("/tmp/s", "/tmp/s"), "", 0},
		{"WP13 relative repo", func(w *Worker, _ *workerLook) { w.Repo = "repo" }, "absolute repo path and program required", 0},
		{"WP13 relative program", func(w *Worker, _ *workerLook) { w.Command[0] = "agent" }, "absolute repo path and program required", 0},
		{"WP13 no program", func(w *Worker, _ *workerLook) { w.Command = nil }, "absolute repo path and program required", 0},
		{"WP13 repo is a file", func(_ *Worker, l *workerLook) { l.repo.Kind = unix.S_IFREG }, "absolute repo path and program required", 0},
		{"WP13 repo is absent", func(_ *Worker, l *workerLook) { l.repo.Err = unix.ENOENT }, "absolute repo path and program required", 0},
		{"WP19 state", state(good), "", 0},
		{"WP19 state on the repo's device", state(func(p *pathLook) { p.Dev = 1 }), "runtime state must be separate tmpfs", 0},
		{"WP19 state on a disk", state(func(p *pathLook) { p.FSType = unix.EXT4_SUPER_MAGIC }), "runtime state must be separate tmpfs", 0},
		{"WP19 state is a link", state(func(p *pathLook) { p.Target = "/dev/shm/other" }), "runtime state must be separate tmpfs", 0},
		{"WP19 state is a file", state(func(p *pathLook) { p.Kind = unix.S_IFREG }), "runtime state must be separate tmpfs", 0},
		{"WP19 state is /run", stateAt("/run"), `runtime state must be separate tmpfs: "/run" holds more than one thing`, 0},
		{"WP19 state is /dev/shm", stateAt("/dev/shm"), `runtime state must be separate tmpfs: "/dev/shm" holds more than one thing`, 0},
		{"WP19 state in scratch", func(w *Worker, l *workerLook) {
			state(good)(w, l)
			w.Scratch, l.scratch, l.scratchLeadsTo = "/x", "/x", "/x"
			w.State, l.state.Target = "/x/state", "/x/state"
		}, "scratch must be separate", 0},
		{"WP19 state in the repo", stateAt("/srv/repo/state"), "runtime state must be separate tmpfs", 0},
		{"WP20 the root", read("/", "/"), `restricted read path "/" too broad`, 0},
		{"WP20 /home", read("/home", "/home"), `restricted read path "/home" too broad`, 0},
		{"WP20 /var", read("/var", "/var"), `restricted read path "/var" too broad`, 0},
		{"WP20 an ancestor of the repo", read("/srv", "/srv"), `restricted read path "/srv" too broad`, 0},
		{"WP20 the repo", read("/srv/repo", "/srv/repo"), `restricted read path "/srv/repo" too broad`, 0},
		{"WP20 a link to /home", read("/x", "/home"), `restricted read path "/x" too broad`, 0},
		{"WP20 relative", read("x", "/x"), `restricted read path "x" is no clean absolute path`, 0},
		{"WP20 in /proc", read("/proc/1", "/proc/1"), `restricted read path "/proc/1" too broad`, 0},
		{"WP20 below /home", read("/home/u/sdk", "/home/u/sdk"), "", 0},
		{"relay", relay(func(*pathLook, *pathLook) {}), "", 0},
		{"relay in an open folder", relay(func(_, d *pathLook) { d.Mode = 0o755 }), "relay mount failed", 0},
		{"relay of somebody else", relay(func(_, d *pathLook) { d.Mine = false }), "relay mount failed", 0},
		{"relay is a file", relay(func(s, _ *pathLook) { s.Kind = unix.S_IFREG }), "relay mount failed", 0},
		{"relay is absent", relay(func(s, _ *pathLook) { s.Err = unix.ENOENT }), "relay mount failed", 0},
		{"a variable with =", func(w *Worker, _ *workerLook) { w.Env = map[string]string{"A=B": "x"} }, "the environment", 0},
		{"a value with NUL", func(w *Worker, _ *workerLook) { w.Env = map[string]string{"A": "x\x00y"} }, "the environment", 0},
		{"a negative limit", func(w *Worker, _ *workerLook) { w.Limits.Scratch = -1 }, "a limit is negative", 0},
		{"autonomous on the host's network", func(w *Worker, _ *workerLook) { w.HostNetwork = true }, "an autonomous turn", 0},
		{"autonomous with the host's files", func(w *Worker, _ *workerLook) { w.HostFiles = true }, "an autonomous turn", 0},
		{"interactive on the host's network", func(w *Worker, _ *workerLook) { w.HostNetwork = true }, "", TurnInteractive},
		{"no kind of turn", func(*Worker, *workerLook) {}, "a turn is", 9},
		{"nothing wrong", func(*Worker, *workerLook) {}, "", TurnVoice},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, l := plainWorker(), plainLook()
			c.change(w, l)
			got := w.check(l, c.turn)
			if c.want == "" && got != "" || !strings.HasPrefix(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestWorkerEnvironment: bk/WP14.
func TestWorkerEnvironment(t *testing.T) {
	w := plainWorker()
	w.Env = map[string]string{"B": "2", ScratchVariable: "/elsewhere", "A": "", "LD_PRELOAD": "/x.so"}
	want := []string{"A=", "B=2", "LD_PRELOAD=/x.so", ScratchVariable + "=/scratch"}
	if diff := cmp.Diff(want, w.environ("/scratch")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWorkerRefusalIsOneClause(t *testing.T) {
	r := refuseWorker("a\n\tb \x1b[31m"+strings.Repeat("ü", 400), "id", WorkerTuple{Kernel: "6.1"})
	if len(r.Requirement) > maxRequirement || strings.ContainsAny(r.Requirement, "\n\x1b") || !strings.HasPrefix(r.Requirement, "a b [31m") {
		t.Errorf("%q", r.Requirement)
	}
	if r.Class != "worker_host_unsupported" || strings.Count(r.Message, r.Requirement) != 1 || !strings.Contains(r.Message, r.Route) {
		t.Errorf("%+v", r)
	}
	r = refuseWorker("x", "id", WorkerTuple{Kernel: "6.1", Arch: "amd64", Launcher: "1", LandlockABI: 7, Seccomp: true, RepoFS: "ext4", ScratchFS: "tmpfs"})
	want := `{"class":"worker_host_unsupported","requirement":"x","route":"` + workerRoute + `",` +
		`"message":"the worker's boundary is unavailable: x; it needs ` + workerRoute + `","probeId":"id",` +
		`"tuple":{"kernel":"6.1","arch":"amd64","launcher":"1","landlockAbi":7,"seccomp":true,"repoFs":"ext4","scratchFs":"tmpfs","stateFs":""}}`
	if got := string(r.JSON()); got != want {
		t.Errorf("JSON (-want +got):\n%s", cmp.Diff(want, got))
	}
}

// workerCases are launches whose whole file system is held to a golden file.
func workerCases() map[string]func(*Worker, *workerLook) {
	return map[string]func(*Worker, *workerLook){
		"worker-restricted": func(*Worker, *workerLook) {},
		"worker-state-relay-read": func(w *Worker, l *workerLook) {
			w.State, w.Relay, w.Read = "/dev/shm/state", "/run/relay/s.sock", []string{"/home/u/.cargo/bin"}
			l.relayDir = "/run/relay"
		},
		"worker-host-files": func(w *Worker, _ *workerLook) { w.HostFiles, w.HostNetwork = true, true },
		"worker-scratch-in-the-host": func(w *Worker, l *workerLook) {
			w.HostFiles, w.Scratch, l.scratch = true, "/srv/s", "/srv/s" // what the rules let pass
		},
	}
}

// workerPlan decides on a worker with the file system of a small machine.
func workerPlan(t *testing.T, change func(*Worker, *workerLook)) *Plan {
	t.Helper()
	w, l := plainWorker(), plainLook()
	w.Repo, l.repo.Target = testCwd, testCwd
	change(w, l)
	pol := w.policy(l)
	at := world{host: host{abi: 7, uid: 1000, command: w.Command}, tree: append(debian(), "/dev/shm/state/", "/run/relay/s.sock =")}
	at.change = func(f *Facts) {
		f.Home, f.GitConfig, f.RunDir = HomeFact{Kind: homeScratch, Dir: l.scratch}, nil, "/tmp/brainbox-1000/x"
		f.Terminal = false
	}
	return newPlan(pol, at.facts(pol), true)
}

func TestWorkerPlanHoldsEveryClause(t *testing.T) {
	for name, change := range workerCases() {
		p := workerPlan(t, change)
		if refused := name == "worker-scratch-in-the-host"; (p.Refusal != nil) != refused {
			t.Errorf("%s: refusal %+v", name, p.Refusal)
		}
		w, l := plainWorker(), plainLook()
		change(w, l)
		if open := openClause(p, w); open != "" {
			t.Errorf("%s: %s", name, open)
		}
		if !slices.Equal(p.Env, []string{ScratchVariable + "=" + l.scratch}) || p.Cwd != testCwd || p.Terminal {
			t.Errorf("%s: environment %q, working directory %q, terminal %v", name, p.Env, p.Cwd, p.Terminal)
		}
		for _, m := range p.Mounts {
			if m.Kind == MountBind && m.Writable && m.Path != "/dev/shm/state" {
				t.Errorf("%s: %s is writable", name, m.Path)
			}
		}
		if w.HostNetwork == p.OwnNetwork {
			t.Errorf("%s: own network %v", name, p.OwnNetwork)
		}
	}
}
