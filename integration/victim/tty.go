package main

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// opTTY does one thing to the terminal on standard input.
func opTTY(words []string) (string, error) {
	if len(words) == 0 {
		return "", errors.New("usage: tty size|raw|group|echo")
	}
	switch words[0] {
	case "size":
		size, err := unix.IoctlGetWinsize(0, unix.TIOCGWINSZ)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%dx%d", size.Row, size.Col), nil
	case "raw": // leave the terminal without echo and without line editing
		mode, err := unix.IoctlGetTermios(0, unix.TCGETS)
		if err != nil {
			return "", err
		}
		mode.Lflag &^= unix.ECHO | unix.ICANON | unix.ISIG
		return "", unix.IoctlSetTermios(0, unix.TCSETS, mode)
	case "group":
		group, err := unix.IoctlGetInt(0, unix.TIOCGPGRP)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("foreground=%d own=%d pid=%d", group, unix.Getpgrp(), os.Getpid()), nil
	}
	return "", fmt.Errorf("unknown tty operation %q", words[0])
}
