package proxy

import (
	"context"
	"net"
	"testing"
	"time"

	"brainbox/proxy/allow"
	"brainbox/proxy/pipe"
)

// known waits until the kernel knows that the peer of client is gone.
func known(t *testing.T, client *net.TCPConn) {
	t.Helper()
	raw, err := client.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	_ = client.SetReadDeadline(time.Now().Add(deadline))
	if err := raw.Read(gone); err != nil {
		t.Fatal(err)
	}
	_ = client.SetReadDeadline(time.Time{})
}

// For a program that has gone before, no name is resolved and nothing dialled.
func TestGoneBefore(t *testing.T) {
	for how, leave := range map[string]func(*net.TCPConn){
		"orderly":      func(c *net.TCPConn) { _ = c.Close() },
		"with a reset": func(c *net.TCPConn) { pipe.Reset(c) },
	} {
		t.Run(how, func(t *testing.T) {
			o := newOrigin(t, nil)
			w, s := through(t, o, Config{})
			program, client := pair(t)
			leave(program)
			known(t, client)
			s.Carry(t.Context(), client, query("ok.test", 7000))
			events := w.wait(t, 1)
			asked, dialled, _ := w.snapshot()
			if len(events) != 1 || events[0].Reason != allow.Gone || len(asked) != 0 || len(dialled) != 0 {
				t.Errorf("recorded %+v, asked for %q, dialled %v", events, asked, dialled)
			}
		})
	}
	w, s := through(t, newOrigin(t, nil), Config{}) // positive control
	program, done := carried(t, s, query("ok.test", 7000))
	if _, err := ask(program, "hello"); err != nil {
		t.Error(err)
	}
	finished(t, done)
	if asked, dialled, _ := w.snapshot(); len(asked) != 1 || len(dialled) != 1 {
		t.Errorf("asked for %q, dialled %v", asked, dialled)
	}
}

// Whether somebody waited for the program's end or nobody had begun to, the connection is read
// from afterwards as before.
func TestWatchLeavesNothing(t *testing.T) {
	for what, wait := range map[string]func(){
		"at once": func() {},
		"later":   func() { time.Sleep(3 * unwatched) }, // either way is right, if it comes too late
	} {
		t.Run(what, func(t *testing.T) {
			program, client := pair(t)
			watched, stop := watch(t.Context(), client)
			wait()
			if watched.Err() != nil {
				t.Errorf("a program that is there: %v", context.Cause(watched))
			}
			stop()
			finished(t, watched.Done())
			_, _ = program.Write([]byte("x"))
			if n, err := client.Read(make([]byte, 2)); n != 1 || err != nil {
				t.Errorf("read %d, %v", n, err)
			}
		})
	}
}
