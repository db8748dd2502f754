package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// reader reads status lines in the step's way.
type reader struct {
	r, w *os.File
	how  string
	done chan []byte
}

func newReader(how string, uid int) (*reader, error) {
	l := &reader{how: how, done: make(chan []byte, 1)}
	if how == "none" {
		return l, nil
	}
	var err error
	if l.r, l.w, err = os.Pipe(); err != nil {
		return nil, err
	}
	// brainbox opens a pipe anew, which only its owner may.
	if err := unix.Fchown(int(l.w.Fd()), uid, uid); err != nil {
		return nil, os.NewSyscallError("fchown", err)
	}
	if how == "slow" {
		_, _ = unix.FcntlInt(l.w.Fd(), unix.F_SETPIPE_SZ, 4096)
	}
	return l, nil
}

// started is called when the other end is the program's, or nobody's.
func (l *reader) started() {
	if l.how == "none" {
		return
	}
	_ = l.w.Close()
	if l.how == "closed" {
		_ = l.r.Close()
		return
	}
	go func() {
		if l.how == "slow" {
			time.Sleep(700 * time.Millisecond)
		}
		text, _ := io.ReadAll(io.LimitReader(l.r, 16<<20))
		_ = l.r.Close()
		l.done <- text
	}()
}

// finish returns the events that were read, and the lines that are none.
func (l *reader) finish() (events, bad []string) {
	if l.how != "soon" && l.how != "slow" {
		return nil, nil
	}
	select {
	case text := <-l.done:
		return parseLines(text)
	case <-time.After(hangs):
		return nil, []string{"(somebody still has the descriptor)"}
	}
}

// parseLines is what the status lines say.
func parseLines(text []byte) (events, bad []string) {
	for line := range bytes.Lines(text) {
		var e struct {
			Event string `json:"event"`
		}
		if err := json.Unmarshal(line, &e); err != nil || e.Event == "" || !bytes.HasSuffix(line, []byte("\n")) {
			bad = append(bad, string(line[:min(len(line), 200)]))
			continue
		}
		events = append(events, e.Event)
	}
	return events, bad
}
