package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"

	"brainbox/internal/killargs"
	"brainbox/internal/setuid"
	_ "brainbox/internal/setuid/early/emptied" // before anything else: see there
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
	args := os.Args
	if len(args) > 0 { // before Linux 5.18 a caller can leave out the name too
		args = args[1:]
	}
	os.Exit(run(args, realSystem()))
}

// system is what run asks of the machine; tests replace it.
type system struct {
	start          func() setuid.Start
	begin          func() // what a set-uid start does before it reads anything
	config         func() (helperConfig, error)
	readable       func() bool // by the caller himself: the policy
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
		setuid.Relinquish() // nothing but a text, or a refusal, can follow
		switch args[0] {
		case "--help":
			return printed(sys.stdout, usage)
		case "--version":
			return printed(sys.stdout, "brainbox-kill "+version.String()+"\n")
		}
	}
	if err := signalGroup(args, sys); err != nil {
		setuid.Relinquish()
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
	start := sys.start()
	raised, err := start.Judge()
	if err != nil {
		return withHint(err)
	}
	if raised {
		sys.begin()
	}
	cfg, err := sys.config()
	if err != nil {
		return sys.veil(raised, err)
	}
	to, err := decide(start.RUID, raised, cfg, sys.accounts)
	switch {
	case errors.Is(err, fs.ErrPermission): // that he may not call tells nothing of the policy
		return err
	case err != nil:
		return sys.veil(raised, err)
	}
	if err := sys.drop(to); err != nil {
		return withHint(err)
	}
	return sys.kill(req.PGID, req.Signal)
}

// veil hides from a caller who cannot read the policy what an error tells of it.
func (sys *system) veil(raised bool, err error) error {
	if raised && !sys.readable() {
		return errors.New("the policy " + execPolicy + " cannot be used; root sees why")
	}
	return err
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
