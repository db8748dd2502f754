package landlock

import (
	"fmt"
	"strings"
)

// Known is the highest ABI this package knows. A kernel with a later one is
// used at Known.
const Known = 11

// Version is one ABI of Landlock.
type Version struct {
	ABI   int
	Linux string // first release, as in "6.2"
	Adds  string // in the kernel's words
	Used  bool   // whether this package makes use of what it adds
}

// Versions lists every known ABI, lowest first. Sources: landlock(7), and the
// kernel's Documentation/userspace-api/landlock.rst.
func Versions() []Version {
	return []Version{
		{1, "5.13", "execute, write_file, read_file, read_dir, remove_dir, remove_file, make_*", true},
		{2, "5.19", "refer: rename and link between folders", true},
		{3, "6.2", "truncate", true},
		{4, "6.7", "bind_tcp, connect_tcp: by port", true},
		{5, "6.10", "ioctl_dev: ioctl on device files", true},
		{6, "6.12", "scopes: abstract_unix_socket, signal", true},
		{7, "6.15", "audit log flags", false},
		{8, "7.0", "tsync: restrict all threads at once", false},
		{9, "7.1", "resolve_unix: sockets by path", true},
		{10, "7.2", "bind_udp, connect_send_udp, quiet rules", false},
		{11, "7.3", "restrict_self sets no_new_privs", false},
	}
}

// linux is the first release with the ABI, and "" for one that is not known.
func linux(abi int) string {
	if abi < 1 || abi > Known {
		return ""
	}
	return Versions()[abi-1].Linux
}

// requirement is what a user reads as the missing thing: "ABI 3 (Linux 6.2)".
func requirement(abi int) string {
	return fmt.Sprintf("ABI %d (Linux %s)", abi, linux(abi))
}

// Erratum is a fault in Landlock that a kernel says it has fixed
// (LANDLOCK_CREATE_RULESET_ERRATA, Linux 6.15 and stable kernels before it).
type Erratum struct {
	Number int    // bit Number-1 of Support.Errata
	ABI    int    // the ABI that has the fault
	Name   string // the kernel's heading for it, lower case
	Effect string // what happens where it is not fixed
}

// Errata lists the known errata. An erratum is a reason for a note and never
// one to do without Landlock.
func Errata() []Erratum {
	return []Erratum{
		{1, 4, "tcp socket identification", "tcp rules also refuse mptcp, smc and sctp"},
		{2, 6, "scoped signal handling", "a signal between threads of one process can be refused"},
		{3, 1, "disconnected directories", "rename or link below a moved bind mount can widen access"},
	}
}

// whiteoutFixed is the bit of erratum 4 (abi 1, creation of whiteout objects), which is none of
// [Errata]: what it has changed lets more through. mknod(2) of the character device 0:0
// then asks for make_reg in place of make_char, that is for [Write].
const whiteoutFixed = 1 << 3

// Open lists the errata of the kernel's ABI that it does not report as fixed.
func (s Support) Open() []Erratum {
	var open []Erratum
	for _, e := range Errata() {
		if e.ABI <= s.ABI && s.Errata&(1<<(e.Number-1)) == 0 {
			open = append(open, e)
		}
	}
	return open
}

// openNote names the open errata of one ABI, or is empty.
func (s Support) openNote(abi int) string {
	var notes []string
	for _, e := range s.Open() {
		if e.ABI == abi {
			notes = append(notes, fmt.Sprintf("erratum %d (%s) is not reported as fixed: %s", e.Number, e.Name, e.Effect))
		}
	}
	return strings.Join(notes, "; ")
}
