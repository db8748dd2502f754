package launcher

import (
	"golang.org/x/sys/unix"

	"brainbox/internal/broker"
	"brainbox/landlock"
	"brainbox/policy"
	"brainbox/seccomp"
)

// Facts is everything that a plan needs to know about the machine, looked at once.
// A test may fill it by hand; then it holds no descriptors and cannot be run.
type Facts struct {
	Place *Place

	Landlock    landlock.Support
	LandlockErr error // why there is none

	Paths     []PathFact // one for each entry of Wants, in order
	Wants     []Want     // the policy's grants and what is always there
	Cwd       PathFact   // where the program is to start
	Home      HomeFact
	Exec      bool     // brainbox-exec: no supervisor
	CallerTmp PathFact // with Exec: the caller's TMPDIR, if it is used
	RunDir    string   // <base>/brainbox-<uid>/<run>: named here, made by Run

	Command []string // as asked
	File    string   // the program that Command[0] names; "" if not found
	FileErr error    // why it cannot be run
	Path    string   // the program's PATH

	Terminal       bool          // a controlling terminal exists
	ReadBack       [3]bool       // standard output or error is a file that could be read through it
	Handed         [3]HandedFact // the standard descriptors
	SetPCap        bool          // CAP_SETPCAP: the bounding set can be dropped
	Cgroup         CgroupFact
	Mounts         []string   // mount points, for what lies inside a write grant
	Critical       []Critical // places of brainbox itself
	Identity       *IdentityFact
	Seccomp        seccomp.Program // of a user's profile
	SeccompErr     error
	SeccompDropped []string // names that the profile allows and nobody knows
	Environ        []string // the caller's
	EnvFiles       []EnvFile
	GitConfig      []byte    // the filtered git identity
	NoFile         [2]uint64 // RLIMIT_NOFILE that the caller was started with
	Core           CoreFact
	Umask          int

	Sockets []SocketFact  // one for each entry of policy.Network.Unix, in order; for a broker
	Broker  *broker.Offer // what a broker needs; nil: there is no supervisor, or nothing is listed

	Bridge *BridgeFact // where the sockets of a bridge will be; nil: none is asked for
	Proxy  *Proxy      // who serves hosts by name and published ports; nil: nobody

	Inside *InsideFact // what a start in namespaces needs; nil: not looked at

	// Whether namespaces are offered is found out by trying ([Facts.Try]). Untried: nobody
	// has; the start itself will, and may then fall back.
	Untried bool
	Refused *Attempt // namespaces were tried, and this failed; nil: they were made, or nobody tried
}

// Want is one path to look at, and why.
type Want struct {
	policy.Grant
	Device bool   // also device ioctls
	Always bool   // there whatever the policy says
	Clause string // the clause it counts to, "files" if empty
	GitDir bool   // the git directory of a linked worktree
}

// PathFact is what one look at a path found.
type PathFact struct {
	Err    error  // why it was not opened
	Target string // where it leads, links resolved
	Dir    bool
	Device bool // a device file
	Socket bool
	Dev    uint64
	Ino    uint64
	Others []string // of what is denied or protected, and of a socket: further names that it has by other mounts
	fd     int      // O_PATH, held until Facts.Close; 0: not held
}

// HomeFact is the private home folder.
type HomeFact struct {
	Kind   string // "run", "keep" or "dir"
	Dir    string // with "keep" and "dir"
	Target string // with "dir": where it leads
	Err    error
	fd     int
}

// CgroupFact is what cgroup v2 offers here.
type CgroupFact struct {
	Dir         string   // the caller's own group, if it can be written
	Controllers []string // enabled for its children, or can be
	Leaf        bool     // they can be once its processes, all ours, are in a group below
	Busy        bool     // they cannot: processes that are not ours are in it
	Kill        bool     // cgroup.kill exists (Linux 5.14)
	Reason      string   // why Dir is empty
}

// CoreFact is what keeps core dumps from being turned off for programs of the host as well.
type CoreFact struct {
	None    bool // the hard RLIMIT_CORE is 0
	Raise   bool // and CAP_SYS_RESOURCE can raise it, outside a user namespace of the run's own
	Handler CoreHandler
}

// CoreHandler is who gets core dumps, by the first character of core_pattern (core(5)).
type CoreHandler int

// Who there can be.
const (
	CoreFile    CoreHandler = iota // nobody: a file is written
	CoreProgram                    // '|': one that is started, but for a limit of 1
	CoreSocket                     // '@': one that listens (Linux 6.16), whatever the limit is
	CoreUnknown                    // core_pattern cannot be read
)

// Critical is a file or folder of brainbox itself: a write grant that holds it would
// let the program rewrite its own confinement.
type Critical struct {
	Path string // resolved
	What string // "the caller's home folder", "brainbox's policy", …

	Whole bool // a part of it counts as well
}

// IdentityFact is who the program becomes.
type IdentityFact struct {
	UID, GID uint32
	Groups   []uint32
	User     string
	Home     string
}

// EnvFile is one --env-file that was read.
type EnvFile struct {
	Name string
	Text []byte
}

// Close releases every descriptor.
func (f *Facts) Close() {
	for i := range f.Paths {
		f.Paths[i].close()
	}
	for i := range f.Sockets {
		f.Sockets[i].close()
	}
	f.Cwd.close()
	f.CallerTmp.close()
	f.Inside.close()
	if f.Home.fd > 0 {
		unix.Close(f.Home.fd)
		f.Home.fd = 0
	}
}

func (p *PathFact) close() {
	if p.fd > 0 {
		unix.Close(p.fd)
		p.fd = 0
	}
}
