package integration

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// An attempt is a line for the victim. In it stand for
//
//	{O}  a folder that no grant names       {R}  one that may be read
//	{W}  the folder that may be written     {X}  one that may be read and written
//
// each a folder of the row's own, and other names in braces for what the row has
// prepared.

// cwd is AT_FDCWD as a word.
const cwd = "-100"

// call is one system call of an attempt.
func call(nr int, args ...any) string {
	words := []string{fmt.Sprint(nr)}
	for _, a := range args {
		words = append(words, fmt.Sprint(a))
	}
	return strings.Join(words, " ")
}

// then makes several calls one attempt.
func then(calls ...string) string { return strings.Join(calls, " ; ") }

// fork makes the calls in a child that ends with them.
func fork(calls ...string) string { return "fork " + then(calls...) }

// self makes the attempt in a fresh process of the victim.
func self(attempt string) string { return "self " + attempt }

// openat opens a path with flags.
func openat(path string, flags int) string {
	return call(unix.SYS_OPENAT, cwd, "s:"+path, flags, 0o644)
}

// errnos is the set of answers that name one of these errors.
func errnos(names ...string) []string {
	var list []string
	for _, n := range names {
		list = append(list, "errno "+n)
	}
	return list
}

// renameat2 renames, with flags.
func renameat2(from, to string, flags int) string {
	return call(unix.SYS_RENAMEAT2, cwd, "s:"+from, cwd, "s:"+to, flags)
}

// unlinkat removes a name.
func unlinkat(path string, flags int) string { return call(unix.SYS_UNLINKAT, cwd, "s:"+path, flags) }

// mknodat makes a name of any type.
func mknodat(path string, mode int, device uint64) string {
	return call(unix.SYS_MKNODAT, cwd, "s:"+path, mode, device)
}

// ioctl makes a request to a descriptor.
func ioctl(fd, request, argument any) string { return call(unix.SYS_IOCTL, fd, request, argument) }

// high puts a bit above the 32 that a system call looks at.
func high(n uint64) string { return fmt.Sprint(n | 1<<32) }

// victim is an attempt as arguments of the victim.
func victim(attempt string) []string {
	return append([]string{program("victim")}, strings.Fields(attempt)...)
}

// hit reports whether an answer is one of the wanted. "errno X" leaves open which
// call of the attempt it was.
func hit(answer string, want []string) bool {
	for _, w := range want {
		if answer == w || strings.HasPrefix(answer, w+" ") {
			return true
		}
	}
	return false
}

// last is the wanted answer when only the attempt's call number n, from 0, may be
// the one that is refused.
func last(n int, names ...string) []string {
	var list []string
	for _, name := range names {
		list = append(list, fmt.Sprintf("errno %s at %d", name, n))
	}
	return list
}
