package notify

import (
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// interrupted says whether a signal waits for the thread, and what its call returns then.
func interrupted(tid int) syscall.Errno {
	text, ok := readStatus(tid)
	if !ok {
		return 0
	}
	st := parseStatus(text)
	e := st.interrupts()
	if e == 0 && st.threads > 1 && stopping(st.process) {
		return Restart
	}
	return e
}

// stopping reports whether another thread of the process has stopped (signal(7), "Stop").
// The signal is not pending any more, and every thread has to stop before the parent is
// told: each has been interrupted, so its call is made again when it goes on.
func stopping(pid int) bool {
	tasks, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	if err != nil {
		return false
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil {
			continue
		}
		if text, _ := readStatus(tid); parseStatus(text).stopped {
			return true
		}
	}
	return false
}

func readStatus(tid int) (string, bool) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(tid)+"/status", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", false
	}
	defer unix.Close(fd)
	var buf [4096]byte
	n, err := unix.Read(fd, buf[:])
	if err != nil || n <= 0 {
		return "", false
	}
	return string(buf[:n]), true
}

// status is what proc_pid_status(5) tells of signals.
type status struct {
	own, shared uint64 // pending for the thread, and for the process
	blocked     uint64
	ignored     uint64
	threads     int
	process     int
	stopped     bool
}

func parseStatus(text string) status {
	var s status
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch name {
		case "SigPnd":
			s.own = mask(value)
		case "ShdPnd":
			s.shared = mask(value)
		case "SigBlk":
			s.blocked = mask(value)
		case "SigIgn":
			s.ignored = mask(value)
		case "State":
			s.stopped = strings.HasPrefix(value, "T") // not t, which a tracer does
		case "Tgid":
			s.process, _ = strconv.Atoi(value)
		case "Threads":
			s.threads, _ = strconv.Atoi(value)
		}
	}
	return s
}

func mask(hex string) uint64 {
	n, err := strconv.ParseUint(hex, 16, 64)
	if err != nil {
		return 0
	}
	return n
}

// interrupts says what a call of the thread returns. A signal for the thread alone is its
// own to take, and so is one for a process with one thread. Another may be taken by a
// sibling: EINTR is right for it too, while ERESTARTSYS would be seen by the program.
func (s status) interrupts() syscall.Errno {
	free := ^(s.blocked | s.ignored)
	const kill = 1 << (unix.SIGKILL - 1)
	switch {
	case (s.own|s.shared)&kill != 0:
		return Gone // it will be
	case s.own&free != 0, s.shared&free != 0 && s.threads == 1:
		return Restart
	case s.shared&free != 0:
		return syscall.EINTR
	}
	return 0
}
