package launcher

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Bridge is what a run needs whose program may call the host. The launcher makes the
// sockets, shows the program its own, and has somebody else serve them: it knows nothing of
// what is said there.
type Bridge struct {
	Text   string // what asked for it, as written
	Source int    // where that was, an index into the policy's sources; -1: nowhere

	Env     []string // NAME=VALUE: what the program is told of it; no secret
	Scrub   []string // names that the program is not given, whatever admits them
	Secrets []string // nor any variable whose value contains one of these
	Roots   []BridgeRoot
	FD      int // the number of BRAINBOX_BRIDGE_FD, where no socket can be shown; 0: 3

	// Serve is called when the sockets are there and before the program starts. What it
	// returns ends the service, and is called before the sockets are removed. A check needs
	// none.
	Serve func(BridgeSession) (stop func(), err error)
}

// BridgeRoot is a folder that the host may write to for the program, under a name.
type BridgeRoot struct {
	Name   string
	Path   string // as it resolves
	Source int
}

// BridgeSession is what serves one run. The descriptors are the launcher's, which closes
// them when Serve has returned.
type BridgeSession struct {
	ID    string // BRAINBOX_SESSION
	Dir   string // the folder of the sockets, for whoever outlives the launcher
	Agent int    // a listening Unix socket: agent.sock
	UI    int    // the same: ui.sock
	Conn  int    // the host's end of BRAINBOX_BRIDGE_FD; -1: the program has agent.sock
	Plan  *Plan
	Facts *Facts
}

// BridgeFact is where the sockets of a run will be.
type BridgeFact struct {
	Bridge
	ID   string
	Dir  string // made by Run
	Long bool   // the name of a socket there has more bytes than an address takes
}

// The names of the sockets and of the place that isolation namespaces shows.
const (
	agentSocket = "agent.sock"
	uiSocket    = "ui.sock"

	// BridgeInside is where a program in namespaces finds its socket.
	BridgeInside = "/run/brainbox/" + agentSocket

	// maxSocketName bounds the path of a socket, in bytes: 108 with the NUL, in the kernel's
	// words (unix(7)), and some room (contract bridge-and-gate, section E.3).
	maxSocketName = 100
)

// observeBridge names the session: in the caller's runtime folder, which is his alone, else
// in the run's own. Another user has no way into the former.
func (f *Facts) observeBridge(b *Bridge) error {
	if b == nil {
		return nil
	}
	id, err := newRunName()
	if err != nil {
		return err
	}
	dir := f.RunDir + "/bridge"
	if runtime := f.Place.RuntimeDir(); runtime != "" && f.Identity == nil && ownAlone(runtime, f.Place.EUID) {
		dir = runtime + "/brainbox/" + id[:8]
	}
	f.Bridge = &BridgeFact{Bridge: *b, ID: id, Dir: dir, Long: len(dir)+1+len(agentSocket) > maxSocketName}
	if f.Bridge.FD == 0 {
		f.Bridge.FD = 3
	}
	return nil
}

// ownAlone reports whether a folder is the user's and closed to all others, as
// XDG_RUNTIME_DIR has to be (XDG base directory specification).
func ownAlone(dir string, uid int) bool {
	var st unix.Stat_t
	return unix.Lstat(dir, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR && int(st.Uid) == uid && st.Mode&0o077 == 0
}

// RuntimeDir is XDG_RUNTIME_DIR, or "".
func (pl *Place) RuntimeDir() string { return pl.xdg[4] }

// secretPlaces are those of the operator's side of a bridge that no grant may show to the
// program: the key that proves who answers, the record of what was decided, and the sockets.
func (f *Facts) secretPlaces() []Critical {
	if f.Bridge == nil {
		return nil
	}
	list := []Critical{{Path: filepath.Dir(f.Bridge.Dir), What: "the sockets of the bridge"}}
	if state := f.Place.StateDir(); state != "" {
		list = append(list, Critical{Path: state, What: "the operator's key"})
	}
	for _, s := range list {
		if r := resolvedPrefix(s.Path); r != s.Path {
			list = append(list, Critical{Path: r, What: s.What})
		}
	}
	return list
}
