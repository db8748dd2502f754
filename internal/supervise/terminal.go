package supervise

import (
	"errors"

	"golang.org/x/sys/unix"

	"brainbox/internal/spawn"
)

// terminal remembers the state of the caller's terminal, so that a program that ends
// in raw mode, or that took the foreground for itself, leaves nothing behind.
type terminal struct {
	fd    int // 0: none
	attrs unix.Termios
	group int
}

// save remembers the controlling terminal: the one behind a standard descriptor, else
// /dev/tty, which also sends its signals to a program whose output goes elsewhere.
func (t *terminal) save() {
	for _, fd := range []int{0, 1, 2} {
		if dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3); err == nil && t.use(dup) {
			return
		}
	}
	if fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0); err == nil {
		t.use(fd)
	}
}

// use takes fd, or closes it if it is not the controlling terminal.
func (t *terminal) use(fd int) bool {
	attrs, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		unix.Close(fd)
		return false
	}
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	if err != nil {
		unix.Close(fd)
		return false
	}
	t.fd, t.attrs, t.group = fd, *attrs, group
	return true
}

// foreground reports whether the terminal's signals go to our own process group.
func (t *terminal) foreground() bool {
	if t.fd == 0 {
		return false
	}
	group, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// restore puts back what the program left changed, if the terminal is still this job's: the
// foreground is our own group, or one that the program made and that died with it. A
// group that lives is the shell's or another job's, and its terminal is not touched.
// SIGTTOU is blocked on this thread, not ignored, because an ignored signal is inherited
// (tcsetpgrp(3)).
func (t *terminal) restore() {
	if t.fd == 0 {
		return
	}
	defer unix.Close(t.fd)
	now, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	stolen := err == nil && now != t.group && now > 1 && errors.Is(unix.Kill(-now, 0), unix.ESRCH)
	if err != nil || t.group != unix.Getpgrp() || now != t.group && !stolen {
		return
	}
	t.quietly(func() {
		if stolen {
			_ = unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, t.group)
		}
		if now, err := unix.IoctlGetTermios(t.fd, unix.TCGETS); err == nil && *now != t.attrs {
			_ = unix.IoctlSetTermios(t.fd, unix.TCSETSW, &t.attrs)
		}
	})
	t.fd = 0
}

// stopWithChild stops this process as the program was stopped, and lets the program go on
// when the shell continues us. A shell continues the whole group: then the program goes
// on already, and a second SIGCONT could undo the next stop.
func (t *terminal) stopWithChild(child *spawn.Child) {
	if t.fd == 0 {
		return
	}
	attrs, err := unix.IoctlGetTermios(t.fd, unix.TCGETS)
	if err != nil {
		return
	}
	t.quietly(func() {
		if t.foreground() {
			_ = unix.IoctlSetTermios(t.fd, unix.TCSETSW, &t.attrs)
		}
	})
	// To this thread, so that it does not run on while another one takes the signal.
	_ = unix.Tgkill(unix.Getpid(), unix.Gettid(), unix.SIGSTOP)
	t.quietly(func() {
		if t.foreground() {
			_ = unix.IoctlSetTermios(t.fd, unix.TCSETSW, attrs)
		}
	})
	if !goesOn(child) {
		_ = unix.PidfdSendSignal(child.PidFD, unix.SIGCONT, nil, 0)
	}
}

// quietly runs f with SIGTTOU blocked on the calling thread, which is locked.
func (t *terminal) quietly(f func()) {
	var block, old unix.Sigset_t
	block.Val[(unix.SIGTTOU-1)/64] = 1 << ((unix.SIGTTOU - 1) % 64)
	if unix.PthreadSigmask(unix.SIG_BLOCK, &block, &old) != nil {
		return
	}
	f()
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil)
}
