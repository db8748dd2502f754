package launcher

import (
	"brainbox/landlock"
)

// MountKind is what one [Mount] does. An own place is one in the file system that is made
// for the run, as opposed to one in a tree that was bound into it.
type MountKind uint8

// The kinds.
const (
	MountDir   MountKind = iota // makes an own folder
	MountFile                   // makes an own file with Data; an empty one is a place to bind to
	MountLink                   // makes an own symbolic link with the text Source
	MountFS                     // mounts a new file system of FSType at an own, empty folder
	MountBind                   // binds Source, which is what Held holds
	MountSelf                   // binds Path, which is what Held holds, on itself
	MountMask                   // hides Path, which is what Held holds, behind something empty
	MountGrant                  // adds Right beneath the own place Path to the ruleset, or, with Unix, for what is Held
)

// String returns the word of messages.
func (k MountKind) String() string {
	return [...]string{"folder", "file", "link", "file system", "bind", "self", "mask", "grant"}[k]
}

// Mount is one step in the making of the program's file system; they are carried out in
// order. Zero is the narrow choice: read-only, no programs, no device nodes. Set-id bits
// never count.
type Mount struct {
	Kind   MountKind
	Path   string // inside
	Source string // of MountBind: the path on the host, without links
	Held   Held
	Over   bool // of MountBind: Path lies in a bound tree, and is what Held holds

	Writable, Exec, Devices bool
	Recursive               bool // what is mounted below comes along

	Mode    uint32
	Data    []byte
	FSType  string
	Options []string

	Right  landlock.Right // of MountGrant
	File   bool           // Path is a file: only the rights that a file can have
	Device bool           // also ioctl(2) on devices
	List   bool           // only listing folders, in place of Right
	Unix   bool           // only connect(2) to the socket Path, in place of Right (ABI 9)

	Clause string // the clause that it is made for; "" for what is there in every run
	Value  string // the entry, as written
	Origin int    // the entry's source, an index into Plan.Sources; -1: none
}

// HeldIn says which list of the facts, or which folder of the run, a [Held] is of.
type HeldIn uint8

// The lists.
const (
	HeldNone HeldIn = iota
	HeldPath
	HeldName
	HeldFolder
	HeldSocket
	HeldUnix
	HeldSpread
	HeldHome      // the private home, which the run makes
	HeldTmp       // the private TMPDIR
	HeldGitConfig // the filtered git identity
	HeldBridge    // agent.sock of the run
)

// Held names a descriptor that is held when the plan is carried out.
type Held struct {
	In    HeldIn
	Index int
}

// held returns the descriptor in the facts; 0 for what the run makes.
func (f *Facts) held(h Held) int {
	switch h.In {
	case HeldPath:
		return f.Paths[h.Index].fd
	case HeldName:
		return f.Inside.Names[h.Index].fd
	case HeldFolder:
		return f.Inside.Folders[h.Index].fd
	case HeldSocket:
		return f.Inside.Sockets[h.Index].fd
	case HeldUnix:
		return f.Inside.Unix[h.Index].fd
	case HeldSpread:
		return f.Inside.Spread[h.Index].Name.fd
	case HeldNone, HeldHome, HeldTmp, HeldGitConfig, HeldBridge:
	}
	return 0
}
