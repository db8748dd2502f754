package main

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
)

// outcome is what became of a step.
type outcome struct {
	Status   int            // of a process that exited; -1: by Signal
	Signal   syscall.Signal // that ended it
	Hung     bool
	Disturb  bool     // the signal of the disturbance was sent, and there was something to get it
	Lines    []string // the events of the status lines, in order
	BadLines []string
	Said     string // standard error, or what a library said
	Canary   string // what is wrong with it; empty: nothing
	Left     []string
	Orphans  int  // of a supervisor in isolation landlock that SIGKILL ended: declared (package supervise)
	Made     bool // the file that the program may write is there
	Wrote    []string
}

// class is the word of the outcome in the report.
func (o outcome) class() string {
	switch {
	case o.Hung:
		return "hung"
	case o.Status < 0:
		return "ended by " + o.Signal.String()
	case o.Status > 128 && o.Status < 128+65:
		return "128+n"
	}
	return fmt.Sprint("status ", o.Status)
}

// judge lists what is wrong with an outcome. It is pure.
func judge(s step, o outcome) []string {
	var wrong []string
	add := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if o.Hung {
		add("it hung")
	}
	tired := slices.Contains([]string{"memory", "nproc", "nofile"}, s.Fault) // the runtime may not come up
	for _, word := range []string{"WARNING: DATA RACE", "panic: ", "fatal error: ", "SIGSEGV", "unexpected fault"} {
		if strings.Contains(o.Said, word) && !tired {
			add("it said %q", word)
		}
	}
	if strings.Contains(o.Said, "DATA RACE") && len(wrong) == 0 {
		add("a data race")
	}
	if o.Canary != "" {
		add("the canary: %s", o.Canary)
	}
	if len(o.Left) > 0 {
		add("left running: %q", o.Left)
	}
	for _, name := range o.Wrote {
		add("%s was written", name)
	}
	if o.Status == denied {
		add("the program wrote outside")
	}
	if !o.Hung && !mayEnd(s, o) {
		add("status %d, signal %v", o.Status, o.Signal)
	}
	return append(wrong, judgeLines(s, o)...)
}

// mayEnd reports whether the step may end so.
func mayEnd(s step, o outcome) bool {
	p := table[s.Program]
	want := slices.Clone(p.want)
	if i := slices.Index(want, -1); i >= 0 {
		want[i] = 128 + s.Signal
	}
	switch {
	case s.Kind == "why":
		want = []int{0, 1, 2}
	case s.Kind == "check":
		want = []int{0, 125}
	case s.Kind == "learn":
		want = append(want, 0, 125)
	case s.Kind == "wrapper" && s.Program == "notfound":
		want = []int{127}
	}
	if s.Kind == "worker" && (p.argv != nil || strings.Contains(o.Said, "status 124")) { // its probe was too slow for the limit
		want = append(want, 125)
	}
	if s.has("deny") && s.Isolation == "landlock" { // it cannot take a part of a grant back
		want = append(want, 125)
	}
	if s.Operator == "wait" { // for each question as long as a prompt may wait
		want = append(want, 124)
	}
	if s.has("output") && s.Program == "output" {
		want = append(want, 124, 128+13)
	}
	if s.has("pids") { // there may be no cgroup for it
		want = append(want, 125, 2)
	}
	if s.has("publish") && strings.Contains(o.Said, " of this machine is taken: ") { // by another step, or anybody
		want = append(want, 125)
	}
	if s.has("fsize") && (s.Program == "fsize" || s.Program == "core") {
		want = append(want, 128+25)
	}
	want = append(want, disturbed(s, o)...)
	if o.Status < 0 {
		return slices.Contains(endings(s, o), o.Signal)
	}
	return slices.Contains(want, o.Status)
}

// disturbed are the further statuses that a disturbance or a fault allows.
func disturbed(s step, o outcome) []int {
	var want []int
	if o.Disturb && s.Kill != syscall.SIGSTOP {
		want = append(want, 128+int(s.Kill), 137, 124)
		switch s.Target {
		case "host", "operator":
			want = append(want, 3, 94, 96, 125) // calls are answered "unavailable" then
		case "supervisor", "program":
			want = append(want, 94, 96, 125)
			if quitEarly(s, o) {
				want = append(want, 2)
			}
			// The shell may have been told by its child's end, or by the signal in its own time.
			want = append(want, table[s.Program].want...)
		}
	}
	switch s.Fault {
	case "sibling", "policy":
		if s.Fault == "policy" || s.has("proxy") || s.has("publish") {
			want = append(want, 125)
		}
	case "full", "cwd", "tmp", "stdio":
		want = append(want, 125, 126, 127, 2, 1)
	case "nofile", "memory", "nproc": // the runtime itself may not come up
		want = append(want, 125, 126, 127, 2, 1, 134, 137, 139, 254, 255, 66)
	}
	return want
}

// quitEarly reports whether SIGQUIT came before brainbox took signals: the Go runtime answers with
// its stacks and status 2 then.
func quitEarly(s step, o outcome) bool {
	return o.Disturb && s.Kill == syscall.SIGQUIT && o.Status == 2 && strings.HasPrefix(o.Said, "SIGQUIT: quit\n") &&
		!slices.Contains(o.Lines, "started")
}

// endings are the signals that may end the started process itself.
func endings(s step, o outcome) []syscall.Signal {
	var list []syscall.Signal
	if o.Disturb && (s.Target == "supervisor" || s.Target == "program") && s.Kill != syscall.SIGSTOP {
		list = append(list, s.Kill)
	}
	if s.Kind == "wrapper" { // it became the program
		list = append(list, syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT, syscall.Signal(s.Signal))
	}
	if s.Fault == "memory" || s.Fault == "nofile" || s.Fault == "nproc" {
		list = append(list, syscall.SIGABRT, syscall.SIGSEGV, syscall.SIGKILL, syscall.SIGTRAP)
	}
	return list
}

// judgeLines says what is wrong with the status lines: exactly one of refused and exited ends
// them. A supervisor that a signal ended may have written none, and before it knew of the program
// it leaves signals to the kernel.
func judgeLines(s step, o outcome) []string {
	var wrong []string
	for _, bad := range o.BadLines {
		wrong = append(wrong, fmt.Sprintf("status line %q", bad))
	}
	if (s.Status != "soon" && s.Status != "slow") || o.Hung {
		return wrong
	}
	started, last := 0, 0
	for i, event := range o.Lines {
		switch event {
		case "started":
			started++
		case "refused", "exited":
			last++
			if i != len(o.Lines)-1 {
				wrong = append(wrong, event+" is not the last status line")
			}
		}
	}
	early := o.Status < 0 || o.Status == 2 && s.Fault != "" || quitEarly(s, o) // it never came to open them
	tired := slices.Contains([]string{"nofile", "memory", "nproc"}, s.Fault)
	silent := last == 0 && (early || tired)
	if last != 1 && !silent || started > 1 {
		wrong = append(wrong, fmt.Sprintf("status lines %q", o.Lines))
	}
	if o.Status < 0 && o.Signal != syscall.SIGKILL && last == 0 && started > 0 && s.Fault == "" {
		wrong = append(wrong, fmt.Sprintf("ended by %v after the start, status lines %q", o.Signal, o.Lines))
	}
	return wrong
}
