package explain

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"brainbox/launcher"
)

// Denial is an operation that was refused, once or more often.
type Denial struct {
	// Seen is the first of them. Its Certainty is the best that any of them had: what was proven
	// once is refused by the plan whoever else may have refused it another time.
	Seen
	Count   int64
	Program string // that asked first: the name of its process (comm in proc(5)), as it chose it
	PID     int    // of that process, in brainbox's pid namespace; 0: it is not known
	Host    string // the name that was refused, with Port; the operation is none of launcher's then
}

// denialKey is what tells two denials apart.
type denialKey struct {
	op               launcher.Op
	path, dest       string
	right            string
	errno            syscall.Errno
	port             uint16
	call, host, spot string
}

func (d *Denial) key() denialKey {
	k := denialKey{
		op: d.Op, path: d.Path, dest: d.Dest, right: d.Judgement.Right, errno: d.Judgement.Errno,
		port: d.Port, host: d.Host,
	}
	if d.Op == launcher.OpSyscall {
		// Who wants a host tries one family of the Internet after the other.
		k.call = strings.Replace(d.Operation.Call, anyInet6, anyInet, 1)
	}
	if d.Path == "" { // what only the kernel has seen is known by its folder
		k.spot = d.Judgement.Place
	}
	return k
}

// The families of the Internet, as launcher.SocketCall writes them.
const (
	anyInet  = "(AF_INET"
	anyInet6 = "(AF_INET6"
	bothInet = "(AF_INET and AF_INET6"
)

// meet takes note that the same was tried of the other family of the Internet.
func (d *Denial) meet(other *Denial) {
	mine, its := d.Operation.Call, other.Operation.Call
	if d.Op == launcher.OpSyscall && mine != its && !strings.Contains(mine, bothInet) {
		d.Operation.Call = strings.Replace(strings.Replace(mine, anyInet6, anyInet, 1), anyInet, bothInet, 1)
	}
}

// operationWords are those of `brainbox why`, where it has them.
var operationWords = [...]string{
	launcher.OpRead: "read", launcher.OpWrite: "write", launcher.OpTruncate: "truncate", launcher.OpExec: "exec",
	launcher.OpCreate: "create", launcher.OpRemove: "remove", launcher.OpRename: "rename", launcher.OpLink: "link",
	launcher.OpConnect: "connect", launcher.OpBind: "bind", launcher.OpUnix: "unix", launcher.OpSyscall: "syscall",
}

// Word is the operation in a word.
func (d *Denial) Word() string {
	switch {
	case d.Host != "":
		return "host"
	case int(d.Op) < len(operationWords):
		return operationWords[d.Op]
	}
	return "operation"
}

// String returns the word of a report.
func (c Certainty) String() string {
	switch c {
	case Proven:
		return "proven"
	case Likely:
		return "likely"
	default:
		return "unknown"
	}
}

// errnoName is the name of an error, "" if it is not known which.
func errnoName(e syscall.Errno) string {
	if e == 0 {
		return ""
	}
	if name := unix.ErrnoName(e); name != "" {
		return name
	}
	return strconv.Itoa(int(e))
}

// asker finds the process that a thread belongs to, and what it calls itself. The thread waits
// for its answer, so that its number is still its own.
func asker(tid int) (program string, pid int) {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(tid) + "/status")
	if err != nil {
		return "", 0
	}
	_, rest, _ := bytes.Cut(status, []byte("\nTgid:\t"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	if pid, err = strconv.Atoi(string(line)); err != nil {
		return "", 0
	}
	// The first thread's: programs name their other threads as they like.
	comm, err := os.ReadFile("/proc/" + string(line) + "/comm")
	if err != nil {
		return "", pid
	}
	return string(bytes.TrimSuffix(comm, []byte("\n"))), pid
}
