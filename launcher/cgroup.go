package launcher

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cgroup is the run's own group, below the caller's.
type cgroup struct {
	dir string
	fd  int
}

// groupMaker makes groups. mkdir is os.Mkdir; in tests it also makes the files that the kernel
// gives a new group.
type groupMaker struct {
	mkdir func(name string, mode fs.FileMode) error
}

// makeCgroup makes the run's group and writes its limits (cgroup v2, memory.max, pids.max,
// cpu.max). A limit that cannot be written ends the start.
func makeCgroup(f CgroupFact, run string, limits map[string]string) (*cgroup, error) {
	return groupMaker{os.Mkdir}.make(f, run, limits)
}

func (m groupMaker) make(f CgroupFact, run string, limits map[string]string) (*cgroup, error) {
	if err := m.enable(f, limits); err != nil {
		return nil, err
	}
	dir := f.Dir + "/" + groupPrefix + filepath.Base(run)
	if err := m.mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	c := &cgroup{dir: dir}
	if err := c.limit(limits); err != nil {
		c.remove()
		return nil, err
	}
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		c.remove()
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	c.fd = fd
	return c, nil
}

// leafName is the group for this process itself, below one that enables controllers. It stays:
// to disable a controller again would take the limits of another run away.
const leafName = "brainbox-self"

// enable enables the controllers of limits for the groups below. In a delegated group they are
// already, or its processes leave it first; the root group needs to be told.
func (m groupMaker) enable(f CgroupFact, limits map[string]string) error {
	if len(limits) == 0 {
		return nil
	}
	var words []string
	for file := range limits {
		controller, _, _ := strings.Cut(file, ".")
		words = append(words, "+"+controller)
	}
	slices.Sort(words)
	for tries := 0; ; tries++ {
		if f.Leaf {
			if err := m.leave(f.Dir); err != nil {
				return err
			}
		}
		err := writeTo(f.Dir+"/cgroup.subtree_control", strings.Join(words, " "))
		if err == nil || !f.Leaf { // then the limit that cannot be written says so
			return nil
		}
		if !errors.Is(err, unix.EBUSY) || tries == 2 { // a child that was made meanwhile
			return err
		}
	}
}

// leave moves this process, and what it has started, from a group to one below.
func (m groupMaker) leave(dir string) error {
	if !onlyOurs(dir) {
		return &fs.PathError{Op: "leave", Path: dir, Err: unix.EBUSY}
	}
	leaf := dir + "/" + leafName
	if err := m.mkdir(leaf, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	for pid := range strings.FieldsSeq(readSmall(dir + "/cgroup.procs")) {
		if err := writeTo(leaf+"/cgroup.procs", pid); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	return nil
}

// limit writes the limits of a group.
func (c *cgroup) limit(limits map[string]string) error {
	for file, value := range limits {
		if err := writeTo(c.dir+"/"+file, value); err != nil {
			return err
		}
		if file != "memory.max" {
			continue
		}
		// Without the first the limit only moves the rest to swap; it is absent without swap.
		// Without the second (Linux 4.19) one process is ended, and the others go on without it.
		for file, value := range map[string]string{"memory.swap.max": "0", "memory.oom.group": "1"} {
			if err := writeTo(c.dir+"/"+file, value); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// writeTo writes to an existing file: in a cgroup tree they cannot be made.
func writeTo(file, value string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

// oomKilled reports whether the kernel ended a process of the group for want of memory, and
// whether the group's own limit was what it wanted for: memory.events counts "oom" for that one
// alone, and "oom_kill" whoever's limit was reached, also the machine's. The group is new, so
// that all that is counted is the run's.
func (c *cgroup) oomKilled() (killed, byLimit bool) {
	for line := range strings.SplitSeq(readSmall(c.dir+"/memory.events"), "\n") {
		switch name, n, _ := strings.Cut(line, " "); name {
		case "oom_kill":
			killed = n != "0"
		case "oom":
			byLimit = n != "0"
		}
	}
	return killed, killed && byLimit
}

// pidsRefused counts what pids.max of the group has refused: "max" of pids.events.
func (c *cgroup) pidsRefused() int64 {
	for line := range strings.SplitSeq(readSmall(c.dir+"/pids.events"), "\n") {
		if name, text, _ := strings.Cut(line, " "); name == "max" {
			n, _ := strconv.ParseInt(text, 10, 64) // 0 of what is no number
			return n
		}
	}
	return 0
}

// groupPrefix begins the name of every run's group.
const groupPrefix = "brainbox-"

// removeStaleGroup ends the group of a run whose brainbox is gone, with what still runs in
// it.
func removeStaleGroup(dir string) {
	if writeTo(dir+"/cgroup.kill", "1") == nil {
		(&cgroup{dir: dir}).remove()
	}
}

// remove ends the group. A process that was killed a moment ago may still count.
func (c *cgroup) remove() {
	if c.fd > 0 {
		unix.Close(c.fd)
		c.fd = 0
	}
	for pause := 50 * time.Microsecond; pause < time.Second; pause *= 2 {
		if err := unix.Rmdir(c.dir); err == nil || errors.Is(err, unix.ENOENT) {
			return
		}
		time.Sleep(pause)
	}
}
