package supervise

import (
	"golang.org/x/sys/unix"
)

// terminal remembers the state of the caller's terminal, so that a program that ends
// in raw mode, or that took the foreground for itself, leaves nothing behind.
type terminal struct {
	fd    int // 0: none
	attrs unix.Termios
	group int
}

// save remembers the terminal behind the standard descriptors, if there is one.
func (t *terminal) save() {
	for _, fd := range []int{0, 1, 2} {
		attrs, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err != nil {
			continue
		}
		group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		if err != nil {
			continue // a terminal, but not the controlling one
		}
		dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
		if err != nil {
			return
		}
		t.fd, t.attrs, t.group = dup, *attrs, group
		return
	}
}

// foreground reports whether the terminal's signals go to our own process group.
func (t *terminal) foreground() bool {
	if t.fd == 0 {
		return false
	}
	group, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// restore puts back what the program left changed. Only if the foreground was ours:
// a background job must not touch the terminal. SIGTTOU is blocked on this thread,
// not ignored, because an ignored signal is inherited (tcsetpgrp(3)).
func (t *terminal) restore() {
	if t.fd == 0 {
		return
	}
	defer unix.Close(t.fd)
	if t.group != unix.Getpgrp() {
		return
	}
	t.quietly(func() {
		if now, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP); err == nil && now != t.group {
			_ = unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, t.group)
		}
		if now, err := unix.IoctlGetTermios(t.fd, unix.TCGETS); err == nil && *now != t.attrs {
			_ = unix.IoctlSetTermios(t.fd, unix.TCSETSW, &t.attrs)
		}
	})
	t.fd = 0
}

// stopWithChild stops this process like the program was stopped, and lets the program
// go on when the shell continues us.
func (t *terminal) stopWithChild(pidfd int) {
	if t.fd == 0 {
		return
	}
	attrs, err := unix.IoctlGetTermios(t.fd, unix.TCGETS)
	if err != nil {
		return
	}
	t.quietly(func() { _ = unix.IoctlSetTermios(t.fd, unix.TCSETSW, &t.attrs) })
	_ = unix.Kill(unix.Getpid(), unix.SIGSTOP)
	t.quietly(func() {
		if t.foreground() {
			_ = unix.IoctlSetTermios(t.fd, unix.TCSETSW, attrs)
		}
	})
	_ = unix.PidfdSendSignal(pidfd, unix.SIGCONT, nil, 0)
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
