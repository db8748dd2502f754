package supervise

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// TestOutputOfAHeldProgram: what a relay has read already is held back too.
func TestOutputOfAHeldProgram(t *testing.T) { ways(t, outputOfAHeldProgram) }

func outputOfAHeldProgram(t *testing.T, s spec) {
	s.Script, s.Sanitize = `while :; do echo noise; done`, true
	x := openSession(t, s)
	x.see("noise")
	release := x.heldReading()
	if release == nil || !x.silent() {
		t.Error("the output of a held program is shown")
	}
	release()
	x.see("noise")
	x.typed("\x03")
	done := make(chan struct{})
	go func() { // what is left has to find a reader
		defer close(done)
		for x.screenful(50*time.Millisecond) > 0 {
		}
	}()
	x.event("ended 130 foreground=true raw=false")
	<-done
}

// TestOwns: a group is the program's if one of its processes is in it.
func TestOwns(t *testing.T) { ways(t, owns) }

func owns(t *testing.T, s spec) {
	mark := newMark(t)
	s.Mark, s.Script = mark, `setsid sleep 1000 & echo ready; read -r x; exit 7`
	x := openSession(t, s)
	x.see("started", "ready")
	groups := map[int]bool{}
	eventually(t, "both are there, each in its group", func() bool {
		clear(groups)
		for pid := range marked(t, mark) {
			groups[(process{pid: pid}).group()] = true
		}
		return len(groups) == 2
	})
	for g := range groups {
		if !x.hold.Owns(g) {
			t.Errorf("group %d is not the program's", g)
		}
	}
	for _, g := range []int{-1, 0, 1, unix.Getpgrp(), 1 << 30} {
		if x.hold.Owns(g) {
			t.Errorf("group %d is the program's", g)
		}
	}
	x.typed("\n")
	x.event("ended 7 foreground=true raw=false")
}

var word = regexp.MustCompile(`type ([a-z]{4}) `)

// nextWord waits for a prompt.
func (s *session) nextWord() string {
	s.t.Helper()
	text := s.see("answer: ")
	m := word.FindAllStringSubmatch(text, -1)
	if m == nil {
		s.t.Fatalf("no word in %q", text)
	}
	return m[len(m)-1][1]
}

// TestAskOnASharedTerminal is the whole of it: a program in raw mode that writes and reads all the time, a
// prompt over it that is stopped with ^Z, interrupted with ^C, and answered.
func TestAskOnASharedTerminal(t *testing.T) { both(t, askOnASharedTerminal) }

func askOnASharedTerminal(t *testing.T, inside bool) {
	mark := newMark(t)
	s := spec{Ask: true, Inside: inside, Mark: mark, Script: `
trap '' INT
stty raw -echo isig
(while :; do echo noise; sleep 0.01; done) &
while :; do dd bs=1 count=1 2>/dev/null | grep -q q && break; done
stty sane
exit 7`}
	x := openSession(t, s)
	x.see("started", "noise")
	x.mayAsk()
	first := x.nextWord()
	x.typed("\x1a")
	x.event("stopped foreground=true raw=false")
	x.order("fg")
	second := x.nextWord()
	x.typed("\x03") // the program ignores it, so that the prompt comes again
	third := x.nextWord()
	if first == second || second == third {
		t.Errorf("words %s, %s, %s", first, second, third)
	}
	x.typed(third + "\n")
	eventually(t, "it is answered", func() bool { return strings.Contains(x.answers(), "0: decision 1, error <nil>") })
	fourth := x.nextWord()
	x.typed("n\n")
	eventually(t, "it is denied", func() bool { return strings.Contains(x.answers(), "1: decision 0, error <nil>") })
	x.see("noise")
	eventually(t, "nobody is stopped", func() bool { n, all := stoppedOf(t, mark); return n == 0 && all >= 3 })
	if fourth == third {
		t.Error("the word is the same")
	}
	x.typed("q") // in raw mode, as before: no line feed
	x.event("ended 7 foreground=true raw=false")
	if all := marked(t, mark); len(all) > 0 {
		t.Errorf("left: %v", all)
	}
}

// TestHoldEndsWithItsContext: who asks no more does not leave anybody stopped.
func TestHoldEndsWithItsContext(t *testing.T) {
	needs.Kernel(t)
	mark := newMark(t)
	x := openSession(t, spec{Hold: true, Mark: mark, Script: "sleep 1000 & echo ready; read -r x; exit 7"})
	x.see("started", "ready")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.hold.Hold(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	eventually(t, "nobody is stopped", func() bool { n, all := stoppedOf(t, mark); return n == 0 && all == 2 })
	x.held()()
	x.typed("\n")
	x.event("ended 7 foreground=true raw=false")
}
