package keeper

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"brainbox/internal/sys"

	"golang.org/x/sys/unix"
)

// Verb is the only argument that a keeper is started with.
const Verb = "keep"

// Asked reports whether this process was started as a keeper. args are those of the process,
// its name included.
func Asked(args []string) bool { return len(args) == 2 && args[1] == Verb }

// statusFailed is the exit status of a keeper that could not do its work.
const statusFailed = 125

// highFD is where the keeper's own descriptors go: far above what a start shuffles.
const highFD = 100

// Serve is the main function of a keeper. It returns the exit status of the process, which has
// to end with it: descriptors, signals and the subreaper are the keeper's now.
func Serve() int {
	runtime.LockOSThread() // and never back: the program dies with this thread
	s := &server{children: make(chan os.Signal, 1)}
	// A signal to the group of a terminal, or from the program, does not end the keeper. They
	// are caught, not ignored: what is ignored stays so in the program (execve(2)).
	signal.Notify(make(chan os.Signal, 1), unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM,
		unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM, unix.SIGVTALRM, unix.SIGPIPE, unix.SIGIO,
		unix.SIGPWR, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)
	signal.Notify(s.children, unix.SIGCHLD)
	if err := s.prepare(); err != nil {
		return statusFailed
	}
	o, err := readOrder(s.control)
	if err != nil {
		return statusFailed
	}
	pid, err := s.start(o)
	if err != nil {
		var errno syscall.Errno
		if !errors.As(err, &errno) {
			errno = unix.EINVAL
		}
		s.say(frame{kind: saidFailed, a: uint32(errno)})
		return statusFailed
	}
	s.say(frame{kind: saidStarted, a: uint32(pid)})
	orders := make(chan byte)
	go s.listen(orders)
	s.keep(pid, o.grace, orders)
	return 0
}

// server is the state of a keeper.
type server struct {
	control   *os.File
	file, dir int
	cgroup    int
	children  chan os.Signal
}

// prepare takes the descriptors and makes this process the one that orphans come to.
func (s *server) prepare() error {
	var st unix.Stat_t
	if err := unix.Fstat(fdControl, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return unix.ENOTSOCK // started by hand: nothing is touched
	}
	var fds [fdKeeper + 1]int
	for fd := fdControl; fd <= fdKeeper; fd++ {
		high, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, highFD)
		if err != nil {
			return err
		}
		unix.Close(fd)
		fds[fd] = high
	}
	unix.Close(fds[fdKeeper])
	closeStray()
	s.control, s.file, s.dir, s.cgroup = os.NewFile(uintptr(fds[fdControl]), "control"), fds[fdFile], fds[fdDir], fds[fdCgroup]
	// No other process of this user reads its memory or takes its descriptors.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// closeStray closes what the caller's own caller forgot to mark close-on-exec; all that this
// process opened is marked.
func closeStray() {
	names, err := sys.ReadDirNames("/proc/self/fd")
	if err != nil {
		return
	}
	for _, name := range names {
		fd, err := strconv.Atoi(name)
		if err != nil || fd <= 2 {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			unix.Close(fd)
		}
	}
}

// start starts the program in a session of its own, in its folder, on this thread, and lets go
// of its standard descriptors.
func (s *server) start(o *order) (int, error) {
	if err := unix.Fchdir(s.dir); err != nil {
		return 0, err
	}
	path := procPath(s.file)
	if o.path != "" {
		if err := s.same(o.path); err != nil {
			return 0, err
		}
		path = o.path
	}
	attr := &syscall.ProcAttr{Env: o.env, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{
		Setsid: true, Pdeathsig: unix.SIGKILL,
	}}
	if !o.cgroup {
		unix.Close(s.cgroup)
		s.cgroup = -1
	} else {
		attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = true, s.cgroup
	}
	pid, err := syscall.ForkExec(path, o.argv, attr)
	if err != nil {
		return 0, err
	}
	_ = unix.Chdir("/")
	unix.Close(s.dir)
	unix.Close(s.file)
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		unix.Close(0)
		unix.Close(1)
		unix.Close(2)
		return pid, nil
	}
	for fd := range 3 {
		_ = unix.Dup3(null, fd, 0)
	}
	unix.Close(null)
	return pid, nil
}

// same makes sure that path still names the file that is held: the interpreter of a script
// takes a name (execve(2)).
func (s *server) same(path string) error {
	var named, held unix.Stat_t
	if err := unix.Stat(path, &named); err != nil {
		return err
	}
	if err := unix.Fstat(s.file, &held); err != nil {
		return err
	}
	if named.Dev != held.Dev || named.Ino != held.Ino {
		return unix.ESTALE
	}
	return nil
}

// say writes a frame. A caller that is gone is noticed by listen.
func (s *server) say(f frame) { _, _ = s.control.Write(f.append(nil)) }

// listen hands orders on. The end of the connection is the order to kill.
func (s *server) listen(orders chan<- byte) {
	var b [1]byte
	for {
		_, err := io.ReadFull(s.control, b[:])
		if err != nil {
			orders <- orderKill
			return
		}
		orders <- b[0]
	}
}

// idle is how often a keeper looks whether a child has ended although no signal said so.
const idle = time.Second

// keep waits for the end of the tree, and brings it about when that is ordered.
func (s *server) keep(pid int, grace time.Duration, orders <-chan byte) {
	t := &tree{leader: pid, cgroup: s.cgroup}
	var force <-chan time.Time
	for {
		exited, empty := t.reap()
		if exited {
			s.say(frame{kind: saidExited, a: uint32(t.status)})
		}
		if empty {
			s.say(frame{kind: saidEnded, a: t.killedAfter})
			return
		}
		select {
		case b := <-orders:
			switch {
			case b != orderStop:
				s.say(t.end())
				return
			case force == nil:
				t.terminate()
				force = time.After(grace)
			}
		case <-force:
			s.say(t.end())
			return
		case <-s.children:
		case <-time.After(idle):
		}
	}
}

func procPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }
