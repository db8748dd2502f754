package needs

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// leafName is the group that a brainbox which has made groups before moved itself to, so that
// those beside it can have controllers (launcher, leave).
const leafName = "brainbox-self"

// tryCgroup makes a group where brainbox would make that of a run, looks for
// the file in it, and removes it again.
func tryCgroup(file string) func() error {
	return func() error {
		own, err := ownCgroup()
		if err != nil {
			return err
		}
		if filepath.Base(own) == leafName {
			own = filepath.Dir(own)
		}
		group, err := os.MkdirTemp(own, "brainbox-needs-")
		if err != nil {
			return err
		}
		_, err = os.Stat(filepath.Join(group, file))
		return errors.Join(err, os.Remove(group))
	}
}

// ownCgroup is the folder of this process's group in the unified hierarchy.
func ownCgroup() (string, error) {
	mount, err := cgroupMount()
	if err != nil {
		return "", err
	}
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(groups)) {
		if path, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); ok {
			return filepath.Join(mount, path), nil
		}
	}
	return "", errors.New("this process is in no cgroup v2 group")
}

// cgroupMount is where the unified hierarchy is mounted (proc_pid_mountinfo(5)).
func cgroupMount() (string, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		before, after, ok := strings.Cut(lines.Text(), " - ")
		fields := strings.Fields(before)
		if ok && len(fields) > 4 && strings.HasPrefix(after, "cgroup2 ") {
			return fields[4], nil
		}
	}
	if err := lines.Err(); err != nil {
		return "", fmt.Errorf("read /proc/self/mountinfo: %w", err)
	}
	return "", errors.New("no cgroup v2 hierarchy is mounted")
}
