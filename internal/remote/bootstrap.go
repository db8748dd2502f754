package remote

import (
	"os"
	"runtime"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"brainbox/internal/mutation"
)

// control is the number of the socketpair in a worker's bootstrap: the one descriptor above
// 2 that it is handed on purpose. Everything else there is somebody's mistake.
const control = 3

// Bootstrap is the whole of `brainbox worker`, the process between a host and a worker. It
// runs in the host's trust and none of the agent's code does: it looks at what it was
// handed, and only then hears what is to be started. It returns the exit status.
//
// A host hands it the worker's three pipes as 0, 1 and 2. What it says goes to one of them
// that is a pipe, standard error first, or nowhere: a file that somebody put there must not
// be changed, not even by an error message.
func Bootstrap(version string) int {
	if wrong := wrongDescriptor(); wrong != "" {
		diagnose(wrong)
		return 1
	}
	if err := serveWorker(version); err != nil {
		diagnose(err.Error())
		return 1
	}
	return 0
}

// wrongDescriptor names the first descriptor that a worker could misuse, in the order of the
// numbers.
func wrongDescriptor() string {
	if runtime.GOOS != "linux" {
		return "Linux required"
	}
	for fd := range 3 {
		if !mutation.On("fifo-check") && !isPipe(fd) {
			return "descriptor " + strconv.Itoa(fd) + " is no pipe"
		}
	}
	if why := wrongControl(); why != "" {
		return "descriptor " + strconv.Itoa(control) + " " + why
	}
	open, err := openDescriptors()
	if err != nil {
		return "the open descriptors cannot be listed: " + err.Error()
	}
	for _, fd := range open {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if fd > 2 && err == nil && flags&unix.FD_CLOEXEC == 0 && !mutation.On("fd-check") {
			return "descriptor " + strconv.Itoa(fd) + " is not close-on-exec"
		}
	}
	return ""
}

// isPipe asks for a FIFO (fstat(2)): a pipe of pipe(2) is one, and so is a named one.
func isPipe(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFIFO
}

// wrongControl says why descriptor 3 is not the socketpair of the process that started this
// one. It was not close-on-exec, or it would not be here; from now on it is.
func wrongControl() string {
	kind, err := unix.GetsockoptInt(control, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil || kind != unix.SOCK_SEQPACKET {
		return "is not the socketpair of a host"
	}
	peer, err := unix.GetsockoptUcred(control, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil || int(peer.Pid) != os.Getppid() || int(peer.Uid) != os.Geteuid() {
		return "is the socketpair of somebody else than its parent"
	}
	unix.CloseOnExec(control)
	return ""
}

// openDescriptors lists the numbers that are open, sorted (proc(5), /proc/self/fd).
func openDescriptors() ([]int, error) {
	dir, err := os.Open("/proc/self/fd")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var open []int
	for _, name := range names {
		if fd, err := strconv.Atoi(name); err == nil {
			open = append(open, fd)
		}
	}
	slices.Sort(open)
	return open, nil
}

// diagnose writes one line to a descriptor that is a pipe: standard error, else standard
// output, else none.
func diagnose(text string) {
	for _, fd := range []int{2, 1} {
		if isPipe(fd) {
			_, _ = unix.Write(fd, []byte("brainbox: worker: "+text+"\n"))
			return
		}
	}
}
