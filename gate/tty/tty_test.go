package tty

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/gate/prompt"
)

// crash is a context that panics when it is told to.
type crash struct {
	context.Context
	now atomic.Bool
}

func (c *crash) Err() error {
	if c.now.Load() {
		panic("crash")
	}
	return c.Context.Err()
}

// TestTypeAhead is esc/GT-17: what was typed before the question is no answer, in whatever
// mode the terminal was; nor is what comes without the word, three times.
func TestTypeAhead(t *testing.T) {
	for _, raw := range []bool{false, true} {
		x := open(t)
		if raw {
			x.raw()
		}
		x.typed("n\ny\n") // a denial would be taken, had it not been thrown away
		x.start("ask")
		x.tell("y") // standard input is a pipe, and is not asked
		x.word()
		for range 2 {
			x.typed("y\n")
			x.word()
		}
		x.typed("\n")
		x.says("no answer")
	}
}

// TestAnswer is the positive control, with a pipe as standard input.
func TestAnswer(t *testing.T) {
	for _, c := range []struct{ before, after, want string }{
		{"", "\n", `decision 1 lasts 0 reason ""`},
		{"", " run\n", `decision 1 lasts 1 reason ""`},
		{"", " 10m\n", `decision 1 lasts 2 reason ""`},
	} {
		x := open(t).start("ask")
		mode := x.mode()
		word := x.word()
		if x.mode() != mode {
			t.Error("a terminal in line mode is changed")
		}
		x.typed(c.before + word + c.after)
		x.says(c.want)
		must(t, x.cmd.Wait())
		if x.mode() != mode {
			t.Error("the terminal is not as before")
		}
	}
}

// TestFoldedMustBeOpened is esc/GT-04: what is not shown cannot be approved; it can be
// denied, and approved once it was opened.
func TestFoldedMustBeOpened(t *testing.T) {
	x := open(t).start("folded")
	unopened := func(times int) {
		waits(t, "it says that not all is shown", func() bool { return strings.Count(x.screen(), "answer: ") == times })
		if asked.MatchString(x.screen()) {
			t.Errorf("a word is shown: %q", x.screen())
		}
	}
	unopened(1)
	if !strings.Contains(x.screen(), `ask| bash  npm \{9 more characters}`) || !strings.HasPrefix(x.screen(), reset) {
		t.Errorf("shown: %q", x.screen())
	}
	x.typed("\n") // no word is no empty word
	unopened(2)
	x.typed("more\n")
	word := x.word()
	if !strings.Contains(x.screen(), "ask| bash  npm publish --all") {
		t.Errorf("opened: %q", x.screen())
	}
	x.typed("more\n")
	if second := x.word(); second == word {
		t.Error("the word is the same")
	} else {
		x.typed(second + "\n")
	}
	x.says(`decision 1 lasts 0 reason ""`)
	for line := range strings.SplitSeq(x.screen(), "\r\n") {
		if len(strings.TrimPrefix(line, reset)) > 60 {
			t.Errorf("wider than the window: %q", line)
		}
	}
	x = open(t).start("folded")
	unopened(1)
	x.typed("n not today\n")
	x.says(`decision 0 lasts 0 reason "not today"`)
}

// TestWindowIsNotBelieved is esc/GT-05: the program can say that its window is wider than it
// is, and begin a string that swallows what comes; neither shows a row that is not ours.
func TestWindowIsNotBelieved(t *testing.T) {
	for _, col := range []uint16{0, 1, 23, 79, 81, 65535} {
		x := open(t)
		must(t, unix.IoctlSetWinsize(int(x.slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 1, Col: col}))
		x.start("ask").word()
		if !strings.HasPrefix(x.screen(), "\x18\x1b\\") {
			t.Errorf("an open sequence is not ended: %q", x.screen())
		}
		for line := range strings.SplitSeq(x.screen(), "\r\n") {
			if len(strings.TrimPrefix(line, reset)) > 80 {
				t.Errorf("%d columns: a row of %d", col, len(line))
			}
		}
		x.typed("n\n")
		x.says("decision 0 lasts 0 reason \"\"")
	}
}

// TestRawIsRestored: a terminal that the program has in raw mode is in line mode while
// it is asked, and raw again after the answer, after a panic and after a withdrawal.
func TestRawIsRestored(t *testing.T) {
	for _, c := range []struct{ role, typed, told, want string }{
		{"ask", "n\n", "", `decision 0 lasts 0 reason ""`},
		{"panic", "", "now", "recovered: crash"},
		{"withdrawn", "", "now", "withdrawn"},
	} {
		x := open(t)
		raw := x.raw()
		x.start(c.role)
		x.word()
		if mode := x.mode(); !lineMode(&mode) {
			t.Errorf("%s: not in line mode while it is asked", c.role)
		}
		if c.typed != "" {
			x.typed(c.typed)
		} else {
			x.tell(c.told)
		}
		x.says(c.want)
		if x.mode() != raw {
			t.Errorf("%s: the terminal is not raw again", c.role)
		}
	}
}

// TestInterrupt: ^C ends who asks, as always, and leaves a terminal that a shell can use.
func TestInterrupt(t *testing.T) {
	for _, raw := range []bool{false, true} {
		x := open(t)
		before := x.mode()
		if raw {
			x.raw()
		}
		x.start("ask")
		x.word()
		x.typed("\x03")
		timer := time.AfterFunc(patience, func() { _ = x.cmd.Process.Kill() }) // where ^C is ignored
		_ = x.cmd.Wait()
		timer.Stop()
		if got := x.cmd.ProcessState.Sys().(syscall.WaitStatus); !got.Signaled() || got.Signal() != syscall.SIGINT {
			t.Errorf("it ended with %v", x.cmd.ProcessState)
		}
		if mode := x.mode(); raw && !lineMode(&mode) || !raw && mode != before {
			t.Error("the terminal is unusable")
		}
	}
}

// TestJobControl: in the background nothing is read, written or stopped; in the foreground it
// is asked; ^Z stops it, and it is asked anew, with another word, when it goes on.
func TestJobControl(t *testing.T) {
	x := open(t).start("shell")
	pid := pidIn(x)
	x.typed("n\n") // for the shell, which does not read it
	waits(t, "the prompt waits", func() bool { return state(pid) == "S" })
	waits(t, "what was typed is echoed", func() bool { return x.screen() != "" })
	if x.screen() != "n\r\n" {
		t.Fatalf("in the background: %q", x.screen())
	}
	x.tell("fg")
	x.says("done")
	first := x.word()
	x.typed("\x1a")
	waits(t, "^Z stops it", func() bool { return state(pid) == "T" })
	x.tell("bg")
	x.says("done")
	waits(t, "it goes on", func() bool { return state(pid) == "S" })
	x.tell("fg")
	x.says("done")
	second := x.word()
	if first == second {
		t.Error("the word is the same")
	}
	x.typed(second + "\n")
	x.says(`decision 1 lasts 0 reason ""`)
}

// TestStoppedAndContinued: the shell's fg reaches everybody; it is asked anew.
func TestStoppedAndContinued(t *testing.T) {
	x := open(t).start("ask")
	first := x.word()
	must(t, unix.Kill(x.cmd.Process.Pid, unix.SIGSTOP))
	waits(t, "it is stopped", func() bool { return state(x.cmd.Process.Pid) == "T" })
	must(t, unix.Kill(x.cmd.Process.Pid, unix.SIGCONT))
	second := x.word()
	if first == second {
		t.Error("the word is the same")
	}
	x.typed(second + "\n")
	x.says(`decision 1 lasts 0 reason ""`)
}

// TestSharedTerminal is esc/GT-18: the program has the terminal's foreground, reads it and
// writes to it as fast as it can. It is held while it is asked, the answer comes to the
// prompt, and the program has its terminal back.
func TestSharedTerminal(t *testing.T) {
	x := open(t).start("shared")
	word := x.word()
	at := strings.LastIndex(x.screen(), "type "+word)
	x.typed("\x1b[24;80R") // what a terminal answers to a query (DSR)
	x.typed("\n")
	word = x.word()
	if after := x.screen()[at:]; strings.Contains(after, "allowed") && strings.Index(after, "allowed") < strings.Index(after, "answer: ") {
		t.Errorf("the program writes while it is asked: %q", after)
	}
	x.typed(word + "\n")
	x.says(`decision 1 lasts 0 reason ""`)
	x.says("held 2 foreground back true running true")
}

// TestNothingIsAskedWithoutHold is esc/GT-18: a program that cannot be held is not trusted
// with its terminal.
func TestNothingIsAskedWithoutHold(t *testing.T) {
	x := open(t).start("unholdable")
	x.says("error: tty: the program cannot be held, so that nothing is asked on its terminal: it cannot be stopped")
	if x.screen() != "" {
		t.Errorf("shown: %q", x.screen())
	}
}

// TestNoTerminal is esc/GT-19: no terminal, another one than the controlling one, and one
// whose other end is gone.
func TestNoTerminal(t *testing.T) {
	before := descriptors(t)
	_, err := New(Options{Path: "/nonexistent/tty"}).Prompt(t.Context(), view())
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no terminal: %v", err)
	}
	_, err = New(Options{Path: os.DevNull}).Prompt(t.Context(), view())
	if !errors.Is(err, unix.ENOTTY) {
		t.Errorf("a device that is no terminal: %v", err)
	}
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
	x := open(t)
	ans, err := New(Options{Path: x.slave.Name()}).Prompt(t.Context(), view())
	if !errors.Is(err, unix.ENOTTY) || ans.Decision != prompt.Deny {
		t.Errorf("another terminal: %v", err)
	}
}

// TestSession is a broker that asks on the terminal (bg/D44, D46, and a shutdown while
// it is asked).
func TestSession(t *testing.T) {
	x := open(t).start("broker")
	x.typed(x.word() + "\n")
	x.says("approved user_approved terminal  true")
	word := x.word()
	if strings.Contains(x.screen(), "\x1b") || !strings.Contains(x.screen(), "  ask| bash  ls 1\r\n") {
		t.Errorf("shown: %q", x.screen())
	}
	x.typed(word + " run\n") // not offered
	x.word()
	x.typed("n no\n")
	x.says("denied_with_reason user_denied terminal  false")
	x.word()
	x.tell("close")
	x.says("denied confirmation_unavailable  shutting_down false")
	x.says("prompt: closed")
	waits(t, "it says that it is no longer asked", func() bool {
		return strings.HasSuffix(x.screen(), "no longer asked\r\n")
	})
}

func descriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(all)
}
