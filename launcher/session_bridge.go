package launcher

import (
	"errors"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"

	"brainbox/internal/broker"
	"brainbox/internal/spawn"
)

// bridge is the host's end of a run while it lives.
type bridge struct {
	dir    string
	fd     int // the folder of the sockets (O_PATH)
	agent  int // agent.sock itself (O_PATH)
	conn   int // the program's end of a pair; 0: none
	stop   func()
	number int // of the descriptor in the program
}

// openBridge makes the sockets and has them served. What was made before an error is
// removed by the session's close.
func (s *session) openBridge(o *Options) error {
	f := s.facts.Bridge
	if f == nil || s.plan.Bridge == nil {
		return nil
	}
	b := &bridge{dir: f.Dir, fd: -1, agent: -1, number: s.plan.Bridge.FD}
	s.bridge = b
	if err := b.makeFolder(s.facts.Identity != nil); err != nil {
		return err
	}
	listen := [2]int{-1, -1}
	ours := -1
	defer func() {
		for _, fd := range []int{listen[0], listen[1], ours} {
			if fd >= 0 {
				unix.Close(fd)
			}
		}
	}()
	var err error
	for i, name := range [...]string{agentSocket, uiSocket} {
		if listen[i], err = b.listen(name); err != nil {
			return err
		}
	}
	if err := b.hold(s.facts.Identity); err != nil {
		return err
	}
	if b.number > 0 {
		if ours, err = b.pair(o); err != nil {
			return err
		}
	}
	if f.Serve == nil {
		return &Refusal{Status: StatusRefused, Message: "bridge: nobody serves it", Hint: "brainbox run --bridge FILE"}
	}
	b.stop, err = f.Serve(BridgeSession{
		ID: f.ID, Dir: f.Dir, Agent: listen[0], UI: listen[1], Conn: ours, Plan: s.plan, Facts: s.facts,
	})
	return err
}

// makeFolder makes the folder of the sockets: 0700, or searchable for the user that the
// program becomes. The folder around it is made if it is missing, and has to be the caller's
// alone.
func (b *bridge) makeFolder(others bool) error {
	around, name := filepath.Dir(b.dir), filepath.Base(b.dir)
	if err := unix.Mkdir(around, 0o700); err != nil && !errors.Is(err, unix.EEXIST) {
		return &fs.PathError{Op: "mkdir", Path: around, Err: err}
	}
	up, err := openFolder(unix.AT_FDCWD, around, around)
	if err != nil {
		return err
	}
	defer unix.Close(up)
	var st unix.Stat_t
	if err := unix.Fstat(up, &st); err != nil || int(st.Uid) != unix.Geteuid() || st.Mode&0o022 != 0 {
		return &Refusal{
			Status: StatusRefused, Message: quotePath(around) + " is not a private folder of yours", Hint: "remove it, and start again",
		}
	}
	mode := uint32(0o700)
	if others {
		mode = 0o711
	}
	if err := unix.Mkdirat(up, name, mode); err != nil {
		return &fs.PathError{Op: "mkdirat", Path: b.dir, Err: err}
	}
	if b.fd, err = openFolder(up, name, b.dir); err != nil {
		return err
	}
	return unix.Fchmod(b.fd, mode) // whatever the umask took
}

// listen makes one socket. Its mode is narrowed after bind(2), in a folder that nobody else
// can enter: the umask is the whole process's.
func (b *bridge) listen(name string) (int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, &fs.PathError{Op: "socket", Path: name, Err: err}
	}
	// By number, so that the name may be as long as it likes: who connects by it has been
	// told apart (BridgeFact.Long).
	at := "/proc/self/fd/" + itoa(b.fd) + "/" + name
	err = unix.Bind(fd, &unix.SockaddrUnix{Name: at})
	if err == nil {
		err = unix.Fchmodat(b.fd, name, 0o600, 0)
	}
	if err == nil {
		err = unix.Listen(fd, 64)
	}
	if err != nil {
		unix.Close(fd)
		return -1, &fs.PathError{Op: "listen", Path: b.dir + "/" + name, Err: err}
	}
	return fd, nil
}

// hold opens agent.sock, which is what the program is shown, and makes it the program's.
func (b *bridge) hold(id *IdentityFact) (err error) {
	b.agent, err = unix.Openat(b.fd, agentSocket, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		b.agent = -1
		return &fs.PathError{Op: "openat", Path: b.dir + "/" + agentSocket, Err: err}
	}
	if id == nil {
		return nil
	}
	if err := unix.Fchownat(b.agent, "", int(id.UID), int(id.GID), unix.AT_EMPTY_PATH); err != nil {
		return &fs.PathError{Op: "fchownat", Path: b.dir + "/" + agentSocket, Err: err}
	}
	return nil
}

// pair makes the descriptor that the program inherits in place of a socket. It returns the
// host's end.
func (b *bridge) pair(o *Options) (int, error) {
	for _, p := range o.Pass {
		if p.To == b.number {
			return -1, &Refusal{
				Status: StatusRefused, Message: "bridge: descriptor " + itoa(b.number) + " is passed already",
				Hint: "pass another number",
			}
		}
	}
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, &fs.PathError{Op: "socketpair", Path: agentSocket, Err: err}
	}
	b.conn = ends[0]
	o.Pass = append(o.Pass[:len(o.Pass):len(o.Pass)], spawn.Pass{From: ends[0], To: b.number})
	return ends[1], nil
}

// socket is what the broker connects to: this inode and no other. The program has no way
// into its folder.
func (b *bridge) socket(owner uint32) broker.Socket {
	return broker.Socket{Folder: b.fd, Name: agentSocket, UID: owner, Pinned: b.agent}
}

// close ends the service first, so that nobody finds a socket that nobody serves.
func (b *bridge) close() {
	if b == nil {
		return
	}
	if b.stop != nil {
		b.stop()
	}
	if b.conn > 0 {
		unix.Close(b.conn)
	}
	if b.fd >= 0 {
		for _, name := range [...]string{agentSocket, uiSocket} {
			_ = unix.Unlinkat(b.fd, name, 0)
		}
		unix.Close(b.fd)
		_ = unix.Rmdir(b.dir)
	}
	if b.agent >= 0 {
		unix.Close(b.agent)
	}
}
