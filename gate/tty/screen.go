package tty

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/gate/prompt"
	"brainbox/gate/show"
)

// pause is how long a wait lasts before the other reasons to end it are looked at: the
// context, the foreground, a signal.
const pause = 50 * time.Millisecond

// reset takes back what could hide or change the text of the prompt: the end of a sequence
// or a string that was begun and would swallow it (CAN, ST), a soft reset (DECSTR), the
// attributes, the character sets.
const reset = "\x18\x1b\\\x1b[!p\x1b[0m\x1b(B\x0f"

// mostColumns is the widest row. The program can give its terminal any size (TIOCSWINSZ):
// in a window that is said to be wider than it is, the rest of a row would stand where only
// our own marks may.
const mostColumns = 80

// screen is the terminal while a prompt is on it.
type screen struct {
	fd        int
	o         Options
	continued <-chan os.Signal
	left      int // tries
	whole     bool
}

// waitForeground waits until the terminal is this job's, or its program's. Nothing is
// read or written in the background.
func (s *screen) waitForeground(ctx context.Context) error {
	for {
		group, err := unix.IoctlGetInt(s.fd, unix.TIOCGPGRP)
		if err != nil { // ENOTTY: not our controlling terminal; EIO: gone
			return fmt.Errorf("tty: %s: %w", show.Field(s.o.Path), os.NewSyscallError("ioctl TIOCGPGRP", err))
		}
		if group == unix.Getpgrp() || s.owns(group) {
			return nil
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
	}
}

func (s *screen) owns(group int) bool { return s.o.Program != nil && s.o.Program.Owns(group) }

// take takes the foreground from the program, sets line mode, and returns what puts both
// back: each only if it is still as take left it, so that no shell loses what it has set
// meanwhile.
func (s *screen) take() (back func(), err error) {
	own := unix.Getpgrp()
	group, err := unix.IoctlGetInt(s.fd, unix.TIOCGPGRP)
	if err != nil {
		return nil, fmt.Errorf("tty: %w", os.NewSyscallError("ioctl TIOCGPGRP", err))
	}
	if group != own {
		if !s.owns(group) { // the foreground changed since the wait
			return nil, errAgain
		}
		if err := unix.IoctlSetPointerInt(s.fd, unix.TIOCSPGRP, own); err != nil {
			return nil, fmt.Errorf("tty: %w", os.NewSyscallError("ioctl TIOCSPGRP", err))
		}
	}
	saved, err := unix.IoctlGetTermios(s.fd, unix.TCGETS)
	if err == nil && !lineMode(saved) {
		// TCSETS: the forms that drain the output wait for ever on a stopped terminal.
		err = unix.IoctlSetTermios(s.fd, unix.TCSETS, asLine(saved))
	}
	back = func() {
		now, err := unix.IoctlGetInt(s.fd, unix.TIOCGPGRP)
		if err != nil || now != own {
			return
		}
		if saved != nil && !lineMode(saved) {
			if mode, err := unix.IoctlGetTermios(s.fd, unix.TCGETS); err == nil && *mode == *asLine(saved) {
				_ = unix.IoctlSetTermios(s.fd, unix.TCSETS, saved)
			}
		}
		if group != own {
			_ = unix.IoctlSetPointerInt(s.fd, unix.TIOCSPGRP, group)
		}
	}
	if err != nil {
		back()
		return nil, fmt.Errorf("tty: %w", os.NewSyscallError("ioctl TCSETS", err))
	}
	return back, nil
}

// What line mode needs of each set of flags (termios(3)).
const (
	lineIn    = unix.ICRNL
	lineOut   = unix.OPOST | unix.ONLCR
	lineLocal = unix.ICANON | unix.ECHO | unix.ISIG
)

// lineMode reports whether a line can be typed and seen as it is.
func lineMode(m *unix.Termios) bool {
	return m.Iflag&(lineIn|unix.IGNCR|unix.INLCR|unix.ISTRIP) == lineIn &&
		m.Oflag&lineOut == lineOut && m.Lflag&(lineLocal|unix.EXTPROC) == lineLocal && m.Cc[unix.VINTR] != 0
}

// asLine is line mode with the usual keys, whatever a program has made of them.
func asLine(saved *unix.Termios) *unix.Termios {
	m := *saved
	m.Iflag = lineIn | unix.IXON | unix.IUTF8
	m.Oflag = lineOut
	m.Lflag = lineLocal | unix.IEXTEN | unix.ECHOE | unix.ECHOK | unix.ECHOCTL | unix.ECHOKE
	m.Cc[unix.VINTR], m.Cc[unix.VQUIT], m.Cc[unix.VSUSP] = 'C'&0x1f, '\\'&0x1f, 'Z'&0x1f
	m.Cc[unix.VERASE], m.Cc[unix.VKILL], m.Cc[unix.VEOF] = 0x7f, 'U'&0x1f, 'D'&0x1f
	m.Cc[unix.VSTART], m.Cc[unix.VSTOP] = 'Q'&0x1f, 'S'&0x1f
	m.Cc[unix.VMIN], m.Cc[unix.VTIME], m.Cc[unix.VEOL], m.Cc[unix.VEOL2] = 1, 0, 0, 0
	return &m
}

// draw shows the facts, throws away what was typed, and then shows the word.
func (s *screen) draw(ctx context.Context, v prompt.View, word string) error {
	columns := mostColumns
	if size, err := unix.IoctlGetWinsize(s.fd, unix.TIOCGWINSZ); err == nil && size.Col > 0 {
		columns = min(columns, int(size.Col))
	}
	// A terminal whose output the program has stopped (tcflow(3)) would show nothing.
	_ = unix.IoctlSetInt(s.fd, unix.TCXONC, unix.TCOON)
	var b strings.Builder
	if !s.o.Dumb {
		b.WriteString(reset)
	}
	b.WriteString("\n" + strings.Join(v.Lines(columns, s.whole), "\n") + "\n")
	if err := s.write(ctx, b.String()); err != nil {
		return err
	}
	if err := unix.IoctlSetInt(s.fd, unix.TCFLSH, unix.TCIFLUSH); err != nil {
		return fmt.Errorf("tty: %w", os.NewSyscallError("ioctl TCFLSH", err))
	}
	rows := show.Rows("  ask| ", question(word, v.Grant != ""), columns)
	return s.write(ctx, strings.Join(rows, "\n")+"\nanswer: ")
}

// write writes all of text, which package show has made.
func (s *screen) write(ctx context.Context, text string) error {
	for text != "" {
		if err := s.wait(ctx, unix.POLLOUT); err != nil {
			return err
		}
		n, err := unix.Write(s.fd, []byte(text))
		switch {
		case n > 0:
			text = text[n:]
		case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR):
		default:
			return fmt.Errorf("tty: %w", os.NewSyscallError("write", err))
		}
	}
	return nil
}

// line reads one line.
func (s *screen) line(ctx context.Context) (string, error) {
	var got []byte
	var b [4096]byte // as long as a line can get
	for {
		if err := s.wait(ctx, unix.POLLIN); err != nil {
			return "", err
		}
		n, err := unix.Read(s.fd, b[:])
		switch {
		case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EIO): // in the background: the signal for it is blocked
			return "", errAgain
		case err != nil:
			return "", fmt.Errorf("tty: %w", os.NewSyscallError("read", err))
		case n == 0: // ^D
			return string(got), nil
		}
		got = append(got, b[:n]...)
		if got[len(got)-1] == '\n' || len(got) >= len(b) {
			return string(got), nil
		}
	}
}

// wait waits until the terminal can be read or written. It ends early when the prompt is
// withdrawn, the terminal is gone, or the prompt has to be shown anew.
func (s *screen) wait(ctx context.Context, events int16) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		select {
		case <-s.continued:
			return errAgain
		default:
		}
		if group, err := unix.IoctlGetInt(s.fd, unix.TIOCGPGRP); err == nil && group != unix.Getpgrp() {
			return errAgain
		}
		fds := []unix.PollFd{{Fd: int32(s.fd), Events: events}}
		n, err := unix.Poll(fds, int(pause/time.Millisecond))
		switch {
		case err != nil && !errors.Is(err, unix.EINTR):
			return fmt.Errorf("tty: %w", os.NewSyscallError("poll", err))
		case n == 1 && fds[0].Revents&(unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0:
			return ErrNoAnswer
		case n == 1:
			return nil
		}
	}
}
