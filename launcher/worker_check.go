package launcher

import (
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"brainbox/policy"
)

// workerLook is everything that a worker's own rules are decided on, looked at once. A test
// may fill it by hand.
type workerLook struct {
	goos string
	root bool // the caller's effective uid is 0

	repo           pathLook
	state          pathLook
	relay          pathLook
	relayOf        pathLook // its folder
	relayDir       string
	reads          []pathLook
	scratch        string // as asked
	scratchLeadsTo string // what that name is on the host, links resolved as far as they exist
}

// pathLook is one path.
type pathLook struct {
	Err    error
	Target string // links resolved
	Kind   uint32 // S_IFMT bits
	Mode   uint32 // permission bits
	Mine   bool   // the caller's own
	Dev    uint64 // of stat(2)
	Ino    uint64
	FSType int64 // of statfs(2)
}

// check refuses what can be no worker, by rule and before anything is made. It is pure.
func (w *Worker) check(look *workerLook, turn Turn) string {
	for _, rule := range []func(*workerLook) string{
		w.checkPlatform, w.checkProgram, w.checkRepo, w.checkRead, w.checkScratch, w.checkState, w.checkRelay, w.checkEnv,
		w.Limits.check,
	} {
		if missing := rule(look); missing != "" {
			return missing
		}
	}
	switch {
	case int(turn) >= len(turnNames()):
		return "a turn is interactive, voice or autonomous"
	case turn == TurnAutonomous && !w.restricted():
		return "an autonomous turn has the restricted envelope: neither HostNetwork nor HostFiles"
	}
	return ""
}

func (w *Worker) checkPlatform(look *workerLook) string {
	if look.goos != "linux" {
		return "Linux namespaces required, this is " + look.goos
	}
	return ""
}

func (w *Worker) checkProgram(*workerLook) string {
	if len(w.Command) == 0 || !plainPath(w.Command[0]) {
		return "absolute repo path and program required: the program is no clean absolute path"
	}
	for _, arg := range w.Command {
		if strings.ContainsRune(arg, 0) {
			return "absolute repo path and program required: an argument holds a NUL"
		}
	}
	return ""
}

func (w *Worker) checkRepo(look *workerLook) string {
	r := &look.repo
	switch {
	case !filepath.IsAbs(w.Repo) || strings.ContainsRune(w.Repo, 0):
		return "absolute repo path and program required: the repo is " + quotePath(w.Repo)
	case r.Err != nil:
		return "absolute repo path and program required: " + errText(r.Err)
	case r.Kind != unix.S_IFDIR:
		return "absolute repo path and program required: the repo is no directory"
	case r.Target == "/", r.Target == "/tmp", policy.Below(r.Target, "/proc"), policy.Below(r.Target, "/dev"):
		return "scratch must be separate: the repo cannot be " + quotePath(r.Target)
	}
	return ""
}

func (w *Worker) checkScratch(look *workerLook) string {
	s := look.scratch
	switch {
	case !plainPath(s):
		return "scratch must be separate: " + quotePath(s) + " is no clean absolute path"
	case s == "/", policy.Below(s, "/proc"), policy.Below(s, "/dev"), policy.Below(s, "/sys"):
		return "scratch must be separate: it cannot be " + quotePath(s)
	}
	for _, name := range []string{s, look.scratchLeadsTo} {
		for _, other := range w.places(look) {
			if touches(name, other) {
				return "scratch must be separate: " + quotePath(s) + " and " + quotePath(other) + " hold one another"
			}
		}
	}
	return ""
}

// places are the trees of the host's that a worker sees: scratch is in none of them.
func (w *Worker) places(look *workerLook) []string {
	list := append(workerFolders(), look.repo.Target, "/etc")
	for i, r := range look.reads {
		list = append(list, w.Read[i], r.Target)
	}
	for _, name := range []string{w.State, look.relayDir} {
		if name != "" {
			list = append(list, name)
		}
	}
	return slices.DeleteFunc(list, func(s string) bool { return s == "" })
}

func (w *Worker) checkState(look *workerLook) string {
	const what = "runtime state must be separate tmpfs: "
	st := &look.state
	switch {
	case w.State == "":
		return ""
	case !plainPath(w.State):
		return what + "it is no clean absolute path"
	case st.Err != nil:
		return what + errText(st.Err)
	case st.Target != w.State:
		return what + "it leads through a link to " + quotePath(st.Target)
	case st.Kind != unix.S_IFDIR:
		return what + "it is no directory"
	case st.FSType != unix.TMPFS_MAGIC:
		return what + quotePath(w.State) + " is on another file system"
	case slices.Contains(tooBroad(), w.State), w.State == sharedMemory:
		return what + quotePath(w.State) + " holds more than one thing"
	case st.Dev == look.repo.Dev:
		return what + "it is on the device of the repo"
	case touches(st.Target, look.repo.Target):
		return what + "it and the repo hold one another"
	}
	return ""
}

// tooBroad are the places that hold much more than one thing. What lies in one may be
// named, but for /proc, which is the worker's own.
func tooBroad() []string {
	return []string{"/", "/tmp", "/home", "/etc", "/run", "/var", "/proc", "/dev", "/sys", "/root"}
}

func (w *Worker) checkRead(look *workerLook) string {
	for i, r := range w.Read {
		what := "restricted read path " + quotePath(r)
		switch {
		case !plainPath(r):
			return what + " is no clean absolute path"
		case look.reads[i].Err != nil:
			return what + ": " + errText(look.reads[i].Err)
		}
		for _, name := range []string{r, look.reads[i].Target} {
			if slices.Contains(tooBroad(), name) || policy.Below(name, "/proc") || policy.Below(look.repo.Target, name) {
				return what + " too broad"
			}
		}
	}
	return ""
}

func (w *Worker) checkRelay(look *workerLook) string {
	const what = "relay mount failed: "
	dir := &look.relayOf
	switch {
	case w.Relay == "":
		return ""
	case !plainPath(w.Relay):
		return what + "the socket is no clean absolute path"
	case look.relay.Err != nil:
		return what + errText(look.relay.Err)
	case dir.Err != nil:
		return what + errText(dir.Err)
	case look.relay.Target != w.Relay:
		return what + "it leads through a link to " + quotePath(look.relay.Target)
	case look.relay.Kind != unix.S_IFSOCK:
		return what + quotePath(w.Relay) + " is no socket"
	case !dir.Mine || dir.Mode&0o077 != 0:
		return what + "its folder must be yours and closed to others (0700)"
	case touches(look.relayDir, look.repo.Target), w.State != "" && touches(look.relayDir, w.State):
		return what + "its folder must be apart from repo and state"
	}
	return ""
}

func (w *Worker) checkEnv(*workerLook) string {
	for name, value := range w.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			return "the environment has a variable that cannot be one: " + quotePath(name)
		}
	}
	return ""
}

func (l *WorkerLimits) check(*workerLook) string {
	if min(l.Scratch, l.ScratchFiles, l.Processes, l.Memory, l.FileSize, int64(l.Time)) < 0 {
		return "a limit is negative"
	}
	return ""
}

// environ is the worker's environment in a fixed order, the scratch variable last.
func (w *Worker) environ(scratch string) []string {
	list := make([]string, 0, len(w.Env)+1)
	for name, value := range w.Env {
		if name != ScratchVariable {
			list = append(list, name+"="+value)
		}
	}
	slices.Sort(list)
	return append(list, ScratchVariable+"="+scratch)
}

// plainPath reports whether a path is absolute, and spelled as the kernel would.
func plainPath(path string) bool {
	return filepath.IsAbs(path) && filepath.Clean(path) == path && !strings.ContainsRune(path, 0)
}

// touches reports whether one of two places holds the other.
func touches(a, b string) bool { return policy.Below(a, b) || policy.Below(b, a) }
