package procfs

import (
	"bytes"
	"os"
	"strconv"

	"brainbox/internal/sys"
)

// MaxFile bounds what is read of one file of /proc, in bytes: 64 Ki children.
const MaxFile = 1 << 20

// Stat is what is used of /proc/PID/stat.
type Stat struct {
	State                  byte
	Parent, Group, Session int
	Begun                  uint64 // clock ticks since the start of the system
}

// ReadStat reads it; false: there is no such process.
func ReadStat(pid int) (Stat, bool) { return ReadStatFile("/proc/" + strconv.Itoa(pid) + "/stat") }

// ReadStatFile is ReadStat for a file of that form, such as a thread's.
func ReadStatFile(path string) (Stat, bool) {
	text, err := sys.ReadFile(path, MaxFile)
	if err != nil {
		return Stat{}, false
	}
	return ParseStat(text)
}

// ParseStat reads such a text. The name of the program may hold any byte, so fields are
// counted from its last parenthesis.
func ParseStat(text []byte) (Stat, bool) {
	f := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(f) < 20 {
		return Stat{}, false
	}
	s := Stat{State: f[0][0]}
	for i, field := range []*int{&s.Parent, &s.Group, &s.Session} {
		n, err := strconv.Atoi(string(f[i+1]))
		if err != nil {
			return Stat{}, false
		}
		*field = n
	}
	var err error
	s.Begun, err = strconv.ParseUint(string(f[19]), 10, 64)
	return s, err == nil
}

// Children lists the children of all threads of pid, from /proc/PID/task/*/children (Linux
// 3.5 with CONFIG_PROC_CHILDREN), else from the parents that /proc/*/stat names.
func Children(pid int) []int {
	base := "/proc/" + strconv.Itoa(pid) + "/task"
	tasks, err := sys.ReadDirNames(base)
	if err != nil {
		return nil
	}
	var all []int
	known := false
	for _, task := range tasks {
		text, err := sys.ReadFile(base+"/"+task+"/children", MaxFile)
		if err != nil {
			continue
		}
		known = true
		all = append(all, Numbers(text)...)
	}
	if !known {
		return ChildrenByParent(pid)
	}
	return all
}

// ChildrenByParent looks through all processes; slower, and right on every kernel.
func ChildrenByParent(pid int) []int {
	var all []int
	for _, n := range Others() {
		if s, ok := ReadStat(n); ok && s.Parent == pid {
			all = append(all, n)
		}
	}
	return all
}

// Others lists the numbers of all processes but this one.
func Others() []int {
	names, err := sys.ReadDirNames("/proc")
	if err != nil {
		return nil
	}
	var all []int
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil && n != os.Getpid() {
			all = append(all, n)
		}
	}
	return all
}

// Numbers gives the decimal numbers in a text, such as those of cgroup.procs.
func Numbers(text []byte) []int {
	var list []int
	for _, word := range bytes.Fields(text) {
		if n, err := strconv.Atoi(string(word)); err == nil {
			list = append(list, n)
		}
	}
	return list
}
