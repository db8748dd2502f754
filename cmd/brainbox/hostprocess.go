package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/hostask"
	"brainbox/internal/version"
	"brainbox/launcher"
)

const (
	// readyWait is how long a host may take to say that it serves.
	readyWait = 15 * time.Second

	// stopWait is how long it may take to end: it gives its calls two seconds.
	stopWait = 4 * time.Second
)

// hostProcess is a running brainbox-host, whatever it serves.
type hostProcess struct {
	w       io.Writer // standard error, for what is said of it
	lost    string    // what does not work any more when it has ended untold
	control *os.File
	pidfd   int
	ending  atomic.Bool
	watched chan struct{} // closed when the control socket has ended
}

// startHost runs brainbox-host by descriptor, in a session of its own unless it has to stay in
// this one. It gets files from number hostask.Control+1 on, and this process's end of the
// control socket is non-blocking. Its end is tied to this process by that socket alone: the
// death signal of prctl(2) would follow the thread, which may end earlier.
func startHost(w io.Writer, verb, lost string, files []uintptr, setsid bool) (*hostProcess, error) {
	sibling, err := launcher.OpenSibling("brainbox-host")
	if err != nil {
		return nil, err
	}
	defer sibling.Close()
	h := &hostProcess{w: w, lost: lost, pidfd: -1, watched: make(chan struct{})}
	argv := []string{"brainbox-host", verb, "--protocol=" + strconv.Itoa(hostask.Protocol)}
	if err := h.start(sibling, argv, files, setsid); err != nil {
		return nil, fmt.Errorf("start brainbox-host: %w", err)
	}
	return h, nil
}

func (h *hostProcess) start(sibling *os.File, argv []string, files []uintptr, setsid bool) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socketpair", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "control")
	defer theirs.Close()
	_ = unix.SetNonblock(pair[0], true) // so that a read can be ended
	h.control = os.NewFile(uintptr(pair[0]), "control")
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return errors.Join(err, h.control.Close())
	}
	defer null.Close()
	// What the caller left open is nobody else's (close_range(2), CLOSE_RANGE_CLOEXEC, Linux 5.11).
	if err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return errors.Join(os.NewSyscallError("close_range", err), h.control.Close())
	}
	all := append([]uintptr{null.Fd(), null.Fd(), 2, theirs.Fd()}, files...)
	attr := &syscall.ProcAttr{Files: all, Env: os.Environ(), Sys: &syscall.SysProcAttr{Setsid: setsid, PidFD: &h.pidfd}}
	if err := startUnprivileged("/proc/self/fd/"+strconv.Itoa(int(sibling.Fd())), argv, attr); err != nil {
		return errors.Join(err, h.control.Close())
	}
	return nil
}

// startUnprivileged starts a process that can get no privilege by execve(2)
// (PR_SET_NO_NEW_PRIVS, Linux 3.5). It is inherited from the thread that starts it, so that is
// one of its own, which ends with its goroutine: were it left to the new process, every thread
// there would have to be stopped for it, which takes longer than its whole start.
//
// Package os would try first, by a process more, whether pidfds work.
func startUnprivileged(name string, argv []string, attr *syscall.ProcAttr) (err error) {
	runtime.LockOSThread() // this thread stays the caller's
	defer runtime.UnlockOSThread()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if err = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err == nil {
			_, _, err = syscall.StartProcess(name, argv, attr)
		}
	}()
	<-done
	return err
}

// tell sends the config.
func (h *hostProcess) tell(config []byte) error {
	_ = h.control.SetDeadline(time.Now().Add(readyWait))
	_, err := h.control.Write(config)
	return unanswered(err)
}

// ready waits for the answer to the config. What refuses is named by the word that asked.
func (h *hostProcess) ready(word string) error {
	line, err := hostask.ReadLine(h.control)
	if err != nil {
		return unanswered(err)
	}
	reply, err := hostask.DecodeReply(line)
	return h.judge(word, &reply, err)
}

// unanswered is for a control socket that failed before the host served.
func unanswered(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return refuse("brainbox-host has not answered within "+readyWait.String(), "this machine may have too much to do: try again")
	}
	return refuse("brainbox-host ended before it served: "+err.Error(), "install it from the same build")
}

// judge is what becomes of an answer, or of one that could not be read.
func (h *hostProcess) judge(word string, reply *hostask.Reply, err error) error {
	if err != nil {
		return refuse("brainbox-host: "+err.Error(), "brainbox is version "+version.String()+": install both from the same build")
	}
	if reply.Error != "" {
		return refuse(word+": "+reply.Error, reply.Hint)
	}
	for _, text := range reply.Warnings {
		printf(h.w, "brainbox: %s\n", oneLine("warning: "+text))
	}
	return nil
}

// served ends the time within which the host has to answer.
func (h *hostProcess) served() { _ = h.control.SetDeadline(time.Time{}) }

// watch calls what reads the control socket to its end, and says once that the host has ended
// before it was told to. The run goes on.
func (h *hostProcess) watch(read func()) {
	defer close(h.watched)
	read()
	if !h.ending.Load() {
		printf(h.w, "brainbox: brainbox-host ended: %s from now on\n", h.lost)
	}
}

// expect has the end of the host not said, unless it has ended already.
func (h *hostProcess) expect() {
	ended := waitEnd(h.pidfd, 0)
	h.ending.Store(!ended)
}

// stop tells the host to end, and ends it if it does not.
func (h *hostProcess) stop() {
	h.expect()
	_ = h.control.Close()
	<-h.watched
	if !waitEnd(h.pidfd, stopWait) {
		printf(h.w, "brainbox: brainbox-host did not end and was killed\n")
	}
	h.kill()
}

// kill ends the host for certain and takes it away. It may have been waited for already, as
// any child of this process while a program runs.
func (h *hostProcess) kill() {
	_ = h.control.Close()
	if h.pidfd < 0 {
		return
	}
	_ = unix.PidfdSendSignal(h.pidfd, unix.SIGKILL, nil, 0)
	waitEnd(h.pidfd, stopWait)
	_ = unix.Waitid(unix.P_PIDFD, h.pidfd, nil, unix.WEXITED|unix.WNOHANG, nil)
	unix.Close(h.pidfd)
	h.pidfd = -1
}

// waitEnd waits until a process has ended (pidfd_open(2): then its descriptor is readable).
func waitEnd(pidfd int, most time.Duration) bool {
	until := time.Now().Add(most)
	for {
		left := max(0, time.Until(until))
		fds := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, int((left+time.Millisecond-1)/time.Millisecond))
		if n > 0 {
			return true
		}
		if left == 0 && err == nil || err != nil && !errors.Is(err, unix.EINTR) {
			return false
		}
	}
}
