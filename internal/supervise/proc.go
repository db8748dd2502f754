package supervise

import (
	"bytes"
	"os"
	"strconv"

	"brainbox/internal/sys"
)

// children lists the children of all threads of pid, from /proc/PID/task/*/children
// (proc(5), Linux 3.5 with CONFIG_PROC_CHILDREN), else from the parents that
// /proc/*/stat names.
func children(pid int) []int {
	base := "/proc/" + strconv.Itoa(pid) + "/task"
	tasks, err := sys.ReadDirNames(base)
	if err != nil {
		return nil
	}
	var all []int
	known := false
	for _, task := range tasks {
		text, err := sys.ReadFile(base+"/"+task+"/children", maxProcFile)
		if err != nil {
			continue
		}
		known = true
		all = appendNumbers(all, text)
	}
	if !known {
		return childrenByParent(pid)
	}
	return all
}

// maxProcFile bounds what is read of one file of /proc, in bytes: 64 Ki children.
const maxProcFile = 1 << 20

func appendNumbers(list []int, text []byte) []int {
	for _, word := range bytes.Fields(text) {
		if n, err := strconv.Atoi(string(word)); err == nil {
			list = append(list, n)
		}
	}
	return list
}

// childrenByParent looks through all processes; slower, and right on every kernel.
func childrenByParent(pid int) []int {
	names, err := sys.ReadDirNames("/proc")
	if err != nil {
		return nil
	}
	var all []int
	for _, name := range names {
		n, err := strconv.Atoi(name)
		if err != nil || n == os.Getpid() {
			continue
		}
		if parent, _ := (process{pid: n}).stat(); parent == pid {
			all = append(all, n)
		}
	}
	return all
}

// stat reads the parent and the state from /proc/PID/stat (proc(5)); the name in it
// may hold any byte, so the fields are counted from its last parenthesis.
func (p process) stat() (parent int, state byte) {
	text, err := sys.ReadFile("/proc/"+strconv.Itoa(p.pid)+"/stat", maxProcFile)
	if err != nil {
		return -1, 0
	}
	f := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(f) < 2 {
		return -1, 0
	}
	parent, err = strconv.Atoi(string(f[1]))
	if err != nil {
		return -1, 0
	}
	return parent, f[0][0]
}
