package main

import (
	"bufio"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/netask"
	"brainbox/launcher"
)

// The program can have more written than a slow reader takes; the last line comes all the
// same, when the reader goes on.
func TestLastStatusLineWaitsForItsReader(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	fd, err := unix.Dup(int(w.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	if err := unix.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	lines := &statusLines{fd: fd}
	for lines.dropped == 0 {
		lines.network(&netask.Event{Path: "lookup", Host: "flood.test", Reason: "not_listed", Rule: -1}, "")
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		lines.exited(&launcher.Result{After: &launcher.Aftermath{}})
		lines.close()
	}()
	for begun := false; !begun; { // it holds the lock while it waits
		select {
		case <-done:
			begun = true
		default:
			if begun = !lines.mu.TryLock(); !begun {
				lines.mu.Unlock()
			}
		}
	}
	last := ""
	for in := bufio.NewScanner(r); in.Scan(); {
		last = in.Text()
	}
	<-done
	if !strings.HasPrefix(last, `{"event":"exited"`) || strings.Contains(last, `"dropped":0`) {
		t.Errorf("the last line is %s", last)
	}
}

// A reader that has gone is not waited for.
func TestLastStatusLineWithoutAReader(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	lines := &statusLines{fd: int(w.Fd())}
	lines.exited(&launcher.Result{After: &launcher.Aftermath{}})
	if len(lines.rest) == 0 {
		t.Error("a line was written where nobody reads")
	}
	_ = w.Close()
}
