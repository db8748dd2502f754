package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"brainbox/internal/procfs"
)

// processes are the numbers of all that this process can see.
func processes() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// descendants are those of a process, the children first.
func descendants(pid int) []int {
	all := procfs.Children(pid)
	for _, child := range slices.Clone(all) {
		all = append(all, descendants(child)...)
	}
	return all
}

// childNamed is the descendant whose command begins with the name; 0: none.
func childNamed(pid int, name string) int {
	for _, p := range descendants(pid) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p))
		first, _, _ := bytes.Cut(text, []byte{0})
		if err == nil && bytes.Contains(first, []byte(name)) {
			return p
		}
	}
	return 0
}

// reap takes the ends of processes that this one adopted. Nothing may be waited for meanwhile.
func reap() {
	for {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(-1, &ws, unix.WNOHANG, nil)
		if err != nil || pid <= 0 {
			return
		}
	}
}
