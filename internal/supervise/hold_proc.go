package supervise

import (
	"bytes"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/procfs"
	"brainbox/internal/sys"
)

// group is the process group of p; 0: there is no such process.
func (p process) group() int {
	s, _ := procfs.ReadStat(p.pid)
	return s.Group
}

// still reports whether no thread of p runs, and when p started. A stop is one of the whole
// process, and told when its last thread has stopped; the first one may have ended before.
func (p process) still() (still bool, began uint64) {
	s, ok := procfs.ReadStat(p.pid)
	if !ok {
		return true, 0
	}
	dir := "/proc/" + strconv.Itoa(p.pid) + "/task"
	tasks, err := sys.ReadDirNames(dir)
	if err != nil {
		return true, s.Begun
	}
	for _, task := range tasks {
		thread, ok := procfs.ReadStatFile(dir + "/" + task + "/stat")
		if !ok {
			continue
		}
		switch thread.State {
		case 'T', 't', 'Z', 'X':
		case 'D': // stops before it makes another step of its own: the parent of a vfork(2) does not leave it before
			if !p.stopPending() {
				return false, s.Begun
			}
		default:
			return false, s.Begun
		}
	}
	return true, s.Begun
}

// stopPending reports whether SIGSTOP waits for p.
func (p process) stopPending() bool {
	text, err := sys.ReadFile("/proc/"+strconv.Itoa(p.pid)+"/status", procfs.MaxFile)
	if err != nil {
		return false
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if set, ok := strings.CutPrefix(line, "ShdPnd:"); ok {
			n, err := strconv.ParseUint(strings.TrimSpace(set), 16, 64)
			return err == nil && n&(1<<(unix.SIGSTOP-1)) != 0
		}
	}
	return false
}

// freezer is the run's own cgroup (cgroup v2 cgroup.freeze, Linux 5.2).
type freezer struct{ dir, write int }

// openFreezer is nil where the group cannot be frozen.
func openFreezer(dir int) *freezer {
	fd, err := unix.Openat(dir, "cgroup.freeze", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	return &freezer{dir: dir, write: fd}
}

func (f *freezer) close() {
	if f != nil {
		_ = unix.Close(f.write)
	}
}

func (f *freezer) set(to string) error {
	_, err := unix.Pwrite(f.write, []byte(to), 0)
	return err
}

func (f *freezer) thaw() {
	if f != nil {
		_ = f.set("0")
	}
}

// read reads a file of the group.
func (f *freezer) read(name string) []byte {
	fd, err := unix.Openat(f.dir, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	var all []byte
	for b := make([]byte, 8192); len(all) < procfs.MaxFile; {
		n, err := unix.Read(fd, b)
		if n <= 0 || err != nil {
			break
		}
		all = append(all, b[:n]...)
	}
	return all
}

func (f *freezer) isFrozen() bool {
	return bytes.Contains(append([]byte("\n"), f.read("cgroup.events")...), []byte("\nfrozen 1\n"))
}

// freeze freezes the group. A process that has left it, which takes a grant of the cgroup's
// files, is not frozen with it.
func (f *freezer) freeze(r *run, end time.Time) error {
	if err := f.set("1"); err != nil {
		return err
	}
	for !f.isFrozen() {
		if time.Now().After(end) {
			return errNotFrozen
		}
		time.Sleep(holdPause)
	}
	members := map[int]bool{}
	for _, pid := range procfs.Numbers(f.read("cgroup.procs")) {
		members[pid] = true
	}
	for _, p := range r.descendants() {
		if !members[p.pid] && !p.zombie() {
			return errLeft
		}
	}
	return nil
}

// gateway is what the relays write through, so that they can be held too. The zero value
// is open.
type gateway struct {
	mu      sync.Mutex
	closed  chan struct{} // nil: open; closed when it opens again
	writing int
}

// enter waits until the gateway is open.
func (g *gateway) enter() {
	for {
		g.mu.Lock()
		closed := g.closed
		if closed == nil {
			g.writing++
			g.mu.Unlock()
			return
		}
		g.mu.Unlock()
		<-closed
	}
}

func (g *gateway) leave() {
	g.mu.Lock()
	g.writing--
	g.mu.Unlock()
}

// shut closes the gateway, and reports whether nobody writes any more.
func (g *gateway) shut(end time.Time) bool {
	g.mu.Lock()
	if g.closed == nil {
		g.closed = make(chan struct{})
	}
	g.mu.Unlock()
	for {
		g.mu.Lock()
		n := g.writing
		g.mu.Unlock()
		if n == 0 {
			return true
		}
		if time.Now().After(end) {
			return false
		}
		time.Sleep(holdPause)
	}
}

func (g *gateway) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed != nil {
		close(g.closed)
		g.closed = nil
	}
}
