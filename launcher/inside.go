package launcher

import (
	"golang.org/x/sys/unix"

	"brainbox/policy"
)

// InsideFact is what a start in namespaces has to know beyond what the policy names: what
// protect and deny stand for, what is in the granted trees, and how names lead there.
// A test may fill it by hand.
type InsideFact struct {
	Names   []NameFact // what protect and deny entries, and repositories, stand for
	Folders []NameFact // the folders between a write grant's root and what must stay in it
	Sockets []NameFact // socket files in granted trees
	Unix    []PathFact // one for each entry of policy.Network.Unix, in order
	Links   []LinkFact // symbolic links on the way to what is granted
	Spread  []SpreadFact
	Scans   []ScanFact
	Repos   []RepoFact

	Group  string   // the name of the caller's group; "" if /etc/group does not know it
	Resolv []byte   // /etc/resolv.conf
	Node   string   // the name of the machine, as uname(2) has it
	Hide   []string // files of /proc that are masked, by name

	// The ids that are taken along; nil: the caller's own alone, as an ordinary user must.
	UIDs, GIDs []IDRange
}

// IDRange is Count ids, from First on.
type IDRange struct{ First, Count uint32 }

// Guard says how a name is held.
type Guard uint8

// The guards.
const (
	GuardProtect Guard = iota // it and what is below it stay as they are
	GuardName                 // it stays there, what is below it may change
	GuardDeny                 // it shows empty
)

// NameKind is what kind of file has a name, its last component not followed.
type NameKind uint8

// The kinds of a name. The zero kind is none: nothing has it.
const (
	NameAbsent NameKind = iota
	NameFolder
	NameFile // or a device, or a FIFO
	NameLink
	NameSocket
)

// String returns the word for k.
func (k NameKind) String() string {
	return [...]string{"absent", "folder", "file", "link", "socket"}[k]
}

// NameFact is one name.
type NameFact struct {
	Path  string // absolute; every folder on the way is one, not a link
	Kind  NameKind
	Guard Guard
	Entry policy.Grant // the entry of the policy that it comes from
	Whole bool         // absent: a repository of its own, if one is made
	Err   error        // why it could not be looked at
	fd    int          // O_PATH, not followed; 0: not held
}

// LinkFact is a symbolic link on the way to a grant.
type LinkFact struct {
	At   string // where it is: absolute, every folder on the way is one
	Text string
}

// SpreadFact is one name of a folder that cannot be mounted as a whole, because parts of
// it are the sandbox's own: "/" and "/dev".
type SpreadFact struct {
	Want int // the entry of Facts.Wants that grants the folder
	Name NameFact
}

// ScanFact is how far one look at the names of a tree came.
type ScanFact struct {
	Path    string
	Writes  bool
	Served  bool // not read: the kernel's list of the sockets that are served was searched
	Want    int  // the entry of Facts.Wants
	Names   int
	Stopped string   // the first folder that was not read to its end; "" if all were
	Mounts  []string // folders on which something else is mounted
	Unread  []string // folders that could not be read
	Err     error
}

// RepoFact is a repository in a write grant, as it was before the run.
type RepoFact struct {
	Path       string // of its .git
	Entry      policy.Grant
	ModuleDirs []string // where the git directories of submodules are, or would be
	Modules    []string // those that there are
	Configs    []ConfigFact
}

// ConfigFact is one configuration file of a repository.
type ConfigFact struct {
	Path string
	Vars []gitVar
	OK   bool // git reads it
}

// close releases every descriptor.
func (in *InsideFact) close() {
	if in == nil {
		return
	}
	for _, list := range [][]NameFact{in.Names, in.Folders, in.Sockets} {
		for i := range list {
			list[i].close()
		}
	}
	for i := range in.Spread {
		in.Spread[i].Name.close()
	}
	for i := range in.Unix {
		in.Unix[i].close()
	}
}

func (n *NameFact) close() {
	if n.fd > 0 {
		unix.Close(n.fd)
		n.fd = 0
	}
}
