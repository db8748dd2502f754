package main

import (
	"io"
	"os"
	"runtime"
	"strings"

	"brainbox/internal/killargs"
	"brainbox/internal/version"

	"golang.org/x/sys/unix"
)

// The exit statuses (contract brainkit §1.6, step 6).
const (
	exitSent   = 0
	exitFailed = 126
)

const usage = `usage: brainbox-kill PGID TERM|KILL|INT

Signals the process group PGID with the identity of /etc/brainbox/exec.toml.
Exit status: 0 the signal was sent, 126 it was not. See brainbox-kill(8).
`

func main() {
	// Credentials, capabilities and no_new_privs belong to a thread.
	runtime.LockOSThread()
	os.Exit(run(os.Args[1:], realSystem()))
}

// system is what run asks of the machine; tests replace it.
type system struct {
	privilege      func() privilege
	config         func() (helperConfig, error)
	accounts       func() (accounts, error)
	pidMax         func() int
	drop           func(target) error
	kill           func(pgid int, sig unix.Signal) error
	stdout, stderr io.Writer
}

// run is the whole program. Parsing comes first, so that a call that is wrong in
// itself looks at nothing.
func run(args []string, sys system) int {
	if len(args) == 1 {
		switch args[0] {
		case "--help":
			return printed(sys.stdout, usage)
		case "--version":
			return printed(sys.stdout, "brainbox-kill "+version.String()+"\n")
		}
	}
	if err := signalGroup(args, sys); err != nil {
		_, _ = io.WriteString(sys.stderr, "brainbox-kill: "+oneLine(err.Error())+"\n")
		return exitFailed
	}
	return exitSent
}

func signalGroup(args []string, sys system) error {
	req, err := killargs.Parse(args, sys.pidMax())
	if err != nil {
		return err
	}
	priv := sys.privilege()
	if err := priv.check(); err != nil {
		return err
	}
	cfg, err := sys.config()
	if err != nil {
		return err
	}
	to, err := decide(priv.ruid, cfg, sys.accounts)
	if err != nil {
		return err
	}
	if err := sys.drop(to); err != nil {
		return err
	}
	return sys.kill(req.PGID, req.Signal)
}

func printed(w io.Writer, text string) int {
	if _, err := io.WriteString(w, text); err != nil {
		return exitFailed
	}
	return exitSent
}

// oneLine keeps a message, whatever it quotes, on one line of plain text.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.TrimSpace(text))
}
