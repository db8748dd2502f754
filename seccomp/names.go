package seccomp

import (
	_ "embed" // the tables of names
	"strconv"
	"strings"
)

// The tables hold one "name number" line a system call, sorted by name. They
// are text, so that they cost nothing until they are searched. A test compares
// them with golang.org/x/sys/unix.
var (
	//go:embed syscalls-amd64.txt
	namesAMD64 string
	//go:embed syscalls-arm64.txt
	namesARM64 string
)

func table(goarch string) string {
	switch goarch {
	case "amd64":
		return namesAMD64
	case "arm64":
		return namesARM64
	}
	return ""
}

// Number returns the number of the named system call on goarch, as of
// Linux 7.0; ok is false for a name that goarch does not have.
func Number(goarch, name string) (nr uint32, ok bool) {
	t := table(goarch)
	lo, hi := 0, len(t) // the line looked for begins in [lo, hi)
	for lo < hi {
		start := strings.LastIndexByte(t[:(lo+hi)/2], '\n') + 1
		line, _, _ := strings.Cut(t[start:], "\n")
		has, value, _ := strings.Cut(line, " ")
		switch strings.Compare(has, name) {
		case 0:
			n, err := strconv.ParseUint(value, 10, 32)
			return uint32(n), err == nil
		case -1:
			lo = start + len(line) + 1
		case 1:
			hi = start
		}
	}
	return 0, false
}

// Name returns the name of a system call number on goarch, or "" if it has
// none there.
func Name(goarch string, nr uint32) string {
	want := strconv.FormatUint(uint64(nr), 10)
	for line := range strings.Lines(table(goarch)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if value == want {
			return name
		}
	}
	return ""
}

// Names returns the names of all system calls of goarch, sorted.
func Names(goarch string) []string {
	var names []string
	for line := range strings.Lines(table(goarch)) {
		name, _, _ := strings.Cut(line, " ")
		names = append(names, name)
	}
	return names
}
