package launcher

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cgroup is the run's own group, below the caller's.
type cgroup struct {
	dir string
	fd  int
}

// makeCgroup makes the group and writes its limits (cgroup v2, memory.max, pids.max,
// cpu.max). A limit that cannot be written ends the start.
func makeCgroup(parent, run string, limits map[string]string) (*cgroup, error) {
	for file := range limits {
		// Enabled already in a delegated group; the root group needs to be told.
		controller, _, _ := strings.Cut(file, ".")
		_ = writeTo(parent+"/cgroup.subtree_control", "+"+controller)
	}
	dir := parent + "/" + groupPrefix + filepath.Base(run)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	c := &cgroup{dir: dir}
	for file, value := range limits {
		if err := writeTo(dir+"/"+file, value); err != nil {
			c.remove()
			return nil, err
		}
		if file == "memory.max" {
			// Without it the limit only moves the rest to swap. Absent without swap.
			if err := writeTo(dir+"/memory.swap.max", "0"); err != nil && !errors.Is(err, fs.ErrNotExist) {
				c.remove()
				return nil, err
			}
		}
	}
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		c.remove()
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	c.fd = fd
	return c, nil
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

// oomKilled reports whether the kernel ended a process of the group for want of memory.
func (c *cgroup) oomKilled() bool {
	for line := range strings.SplitSeq(readSmall(c.dir+"/memory.events"), "\n") {
		if n, ok := strings.CutPrefix(line, "oom_kill "); ok && n != "0" {
			return true
		}
	}
	return false
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
