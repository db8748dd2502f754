package launcher

import (
	"errors"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"brainbox/internal/strictjson"
	"brainbox/internal/version"
	"brainbox/landlock"
)

// WorkerHostUnsupported is the class of every [WorkerRefusal].
const WorkerHostUnsupported = "worker_host_unsupported"

// workerRoute is where a worker can run.
const workerRoute = "a verified Linux or qualifying WSL2 host with the brainbox command installed and " +
	"unprivileged user namespaces: brainbox probe says what is missing here"

// maxRequirement bounds the diagnostic in a requirement, in bytes.
const maxRequirement = 400

// WorkerRefusal says why no worker may be launched here and now. Nothing was started but,
// perhaps, the probe, and nothing of that is left.
type WorkerRefusal struct {
	Class       string // [WorkerHostUnsupported]
	Requirement string // what is missing, in one clause
	Route       string // what would help
	Message     string // all of it, for people
	ProbeID     string // of the probe that failed; "" if it did not come to that
	Tuple       WorkerTuple
}

// WorkerTuple says on what the answer was given. No answer is ever taken from a tuple: only
// the probe decides.
type WorkerTuple struct {
	Kernel      string // uname(2), release
	Arch        string // as Go names it
	Launcher    string // brainbox's version
	LandlockABI int    // 0: none
	Seccomp     bool
	RepoFS      string // file system types, by name or number
	ScratchFS   string
	StateFS     string // "" without one
}

// Error returns the message.
func (r *WorkerRefusal) Error() string { return r.Message }

// JSON writes the refusal down, with the keys of docs/interfaces.md.
func (r *WorkerRefusal) JSON() []byte {
	t := &r.Tuple
	v := strictjson.Object(
		strictjson.Pair("class", strictjson.Text(r.Class)),
		strictjson.Pair("requirement", strictjson.Text(r.Requirement)),
		strictjson.Pair("route", strictjson.Text(r.Route)),
		strictjson.Pair("message", strictjson.Text(r.Message)),
		strictjson.Pair("probeId", strictjson.Text(r.ProbeID)),
		strictjson.Pair("tuple", strictjson.Object(
			strictjson.Pair("kernel", strictjson.Text(t.Kernel)),
			strictjson.Pair("arch", strictjson.Text(t.Arch)),
			strictjson.Pair("launcher", strictjson.Text(t.Launcher)),
			strictjson.Pair("landlockAbi", strictjson.Int(int64(t.LandlockABI))),
			strictjson.Pair("seccomp", strictjson.Bool(t.Seccomp)),
			strictjson.Pair("repoFs", strictjson.Text(t.RepoFS)),
			strictjson.Pair("scratchFs", strictjson.Text(t.ScratchFS)),
			strictjson.Pair("stateFs", strictjson.Text(t.StateFS)))))
	return strictjson.Append(nil, &v)
}

// refuseWorker makes a refusal. What came from inside, such as a diagnostic, is kept short
// and on one line.
func refuseWorker(requirement, probeID string, tuple WorkerTuple) *WorkerRefusal {
	requirement = oneClause(requirement)
	return &WorkerRefusal{
		Class: WorkerHostUnsupported, Requirement: requirement, Route: workerRoute, ProbeID: probeID, Tuple: tuple,
		Message: "the worker's boundary is unavailable: " + requirement + "; it needs " + workerRoute,
	}
}

func oneClause(text string) string {
	text = strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(text, "?"))
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxRequirement {
		text = strings.ToValidUTF8(text[:maxRequirement], "")
	}
	return text
}

// requirementOf turns what a plan or a start said into a requirement.
func requirementOf(err error) string {
	var w *WorkerRefusal
	var r *Refusal
	switch {
	case errors.As(err, &w):
		return w.Requirement
	case errors.As(err, &r):
		hint := strings.TrimSuffix(strings.TrimSuffix(r.Hint, hintLandlock), "; ") // a worker has namespaces or is none
		if hint == "" {
			return r.Message
		}
		return r.Message + " (" + hint + ")"
	}
	return err.Error()
}

// openClause is the first clause of a worker's plan that is not held and has not been
// widened by name. What a scan of the repository did not come to is no such clause: a socket
// there stays reachable, which is declared (SECURITY.md).
func openClause(p *Plan, w *Worker) string {
	for i := range p.Clauses {
		c := &p.Clauses[i]
		widened := c.Name == "network" && w.HostNetwork || c.Name == "unix" && p.Isolation == "namespaces"
		if (c.State == StateOpen || c.Degraded) && !widened {
			return c.Name + " is not held here: " + firstOf(c.Requirement, "nothing holds it")
		}
	}
	return ""
}

// tuple looks at what the answer is given on.
func (l *workerLook) tuple() WorkerTuple {
	t := WorkerTuple{Arch: runtime.GOARCH, Launcher: version.String(), RepoFS: fsName(l.repo.FSType), ScratchFS: "tmpfs"}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		t.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	if sup, err := landlock.Probe(); err == nil {
		t.LandlockABI = sup.ABI
	}
	t.Seccomp = probeSeccomp().Available
	if l.state.Target != "" {
		t.StateFS = fsName(l.state.FSType)
	}
	return t
}

// fsName names a file system type of statfs(2).
func fsName(magic int64) string {
	switch magic {
	case 0:
		return ""
	case unix.TMPFS_MAGIC:
		return "tmpfs"
	case unix.EXT4_SUPER_MAGIC:
		return "ext4"
	case unix.XFS_SUPER_MAGIC:
		return "xfs"
	case unix.BTRFS_SUPER_MAGIC:
		return "btrfs"
	case unix.OVERLAYFS_SUPER_MAGIC:
		return "overlay"
	case unix.NFS_SUPER_MAGIC:
		return "nfs"
	case unix.F2FS_SUPER_MAGIC:
		return "f2fs"
	case unix.FUSE_SUPER_MAGIC:
		return "fuse"
	}
	return "0x" + strconv.FormatInt(magic, 16)
}
