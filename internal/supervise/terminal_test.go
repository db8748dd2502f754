package supervise

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

func TestInterruptReachesTheProgramOnce(t *testing.T) { both(t, interruptReachesTheProgramOnce) }

func interruptReachesTheProgramOnce(t *testing.T, inside bool) {
	for _, redirect := range []bool{false, true} {
		env := []string{}
		if redirect {
			env = append(env, "SUPERVISE_TEST_REDIRECT=1")
		}
		// A second copy would come before the next key.
		s := openSession(t, spec{Inside: inside, Script: "SUPERVISE_TEST_COUNT_TTY=1 " + counter, Args: []string{exe(t), "3"}}, env...)
		s.see("started", "ready")
		for _, want := range []string{"got INT 1", "got INT 2", "got INT 3"} {
			s.typed("\x03")
			s.see(want)
		}
		s.event("ended 9 foreground=true raw=false")
	}
}

func TestInterruptEndsWith130(t *testing.T) { both(t, interruptEndsWith130) }

func interruptEndsWith130(t *testing.T, inside bool) {
	s := openSession(t, spec{Inside: inside, Script: `trap - INT; echo ready; exec sleep 1000`})
	s.see("started", "ready")
	s.typed("\x03")
	s.event("ended 130 foreground=true raw=false")
}

func TestStopAndContinue(t *testing.T) { both(t, stopAndContinue) }

func stopAndContinue(t *testing.T, inside bool) {
	s := openSession(t, spec{Inside: inside, Script: `trap 'echo going on' CONT; echo ready; until read -r x; do :; done; echo "read $x"; read -r y; exit 7`})
	s.see("started", "ready")
	for range 3 {
		s.typed("\x1a")
		s.event("stopped foreground=true raw=false")
		s.order("fg")
		s.see("going on")
	}
	s.typed("one\n")
	s.see("read one")
	s.typed("two\n")
	s.event("ended 7 foreground=true raw=false")
}

// A program that has something to do before it stops is waited for, and one that does not
// stop at all goes on.
func TestAProgramThatHandlesTheStopKey(t *testing.T) { both(t, aProgramThatHandlesTheStopKey) }

func aProgramThatHandlesTheStopKey(t *testing.T, inside bool) {
	s := openSession(t, spec{Inside: inside, Script: `trap 'echo not now' TSTP; echo ready; until read -r x; do :; done; exit 7`})
	s.see("started", "ready")
	s.typed("\x1a")
	s.see("not now")
	s.typed("x\n")
	s.event("ended 7 foreground=true raw=false")
}

// A program that stops itself (vim does) stops its job; one that is continued in the
// background stays there.
func TestAProgramThatStopsItself(t *testing.T) { both(t, aProgramThatStopsItself) }

func aProgramThatStopsItself(t *testing.T, inside bool) {
	s := openSession(t, spec{Inside: inside, Script: `echo ready; kill -STOP $$; echo going on; exit 7`})
	s.see("started", "ready")
	s.event("stopped foreground=true raw=false")
	s.order("bg")
	s.see("going on")
	s.event("ended 7 foreground=false raw=false")
}

// A supervisor that is continued alone continues its program.
func TestContinuedAlone(t *testing.T) { both(t, continuedAlone) }

func continuedAlone(t *testing.T, inside bool) {
	s := openSession(t, spec{Inside: inside, Script: `echo ready; kill -STOP $$; echo going on; exit 7`})
	s.see("started", "ready")
	s.event("stopped foreground=true raw=false")
	s.order("only the supervisor")
	s.see("going on")
	s.event("ended 7 foreground=false raw=false")
}

func TestTheTerminalIsRestored(t *testing.T) { both(t, theTerminalIsRestored) }

func theTerminalIsRestored(t *testing.T, inside bool) {
	for name, script := range map[string]string{
		"raw mode":             `stty raw -echo; exit 7`,
		"raw mode, killed":     `stty raw -echo; kill -KILL $$`,
		"raw mode, by a child": `(stty raw -echo) ; exit 7`,
	} {
		t.Run(name, func(t *testing.T) {
			s := openSession(t, spec{Inside: inside, Script: script})
			want := "ended 7 foreground=true raw=false"
			if strings.Contains(name, "killed") {
				want = "ended 137 foreground=true raw=false"
			}
			s.event(want)
		})
	}
	// While it is stopped the shell has its own settings; on fg the program has its own
	// again, though not before it goes on: the shell continues the whole group at once.
	s := openSession(t, spec{Inside: inside, Script: `stty -icanon; echo ready; kill -STOP $$
i=0; while [ $i -lt 1000 ]; do i=$((i+1)); stty -a | grep -q -- -icanon && exit 8; done; exit 9`})
	s.event("stopped foreground=true raw=false")
	s.order("fg")
	s.event("ended 8 foreground=true raw=false")
}

// A program that makes itself the foreground group and dies there leaves the terminal to
// the supervisor's group.
func TestAStolenForegroundIsRestored(t *testing.T) { both(t, aStolenForegroundIsRestored) }

func aStolenForegroundIsRestored(t *testing.T, inside bool) {
	needs.Program(t, "python3")
	steal := `import os,signal
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
os.setpgid(0,0)
os.tcsetpgrp(0,os.getpgrp())
assert os.tcgetpgrp(0)==os.getpgrp()
os._exit(7)`
	s := openSession(t, spec{Inside: inside, Script: `exec python3 -c "$1"`, Args: []string{steal}})
	s.event("ended 7 foreground=true raw=false")
}

func TestWindowSizeArrives(t *testing.T) { both(t, windowSizeArrives) }

func windowSizeArrives(t *testing.T, inside bool) {
	s := openSession(t, spec{Inside: inside, Script: `trap 'stty size; exit 7' WINCH; echo ready; while :; do sleep 1000 & wait; done`})
	s.see("started", "ready")
	if err := unix.IoctlSetWinsize(int(s.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 41, Col: 123}); err != nil {
		t.Fatal(err)
	}
	s.see("41 123")
	s.event("ended 7 foreground=true raw=false")
}
