package main

import (
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// do makes a step and says what became of it.
func (w *world) do(s step) outcome {
	dir, err := w.begin(s)
	if err != nil {
		return outcome{Status: 1, Said: err.Error()}
	}
	var o outcome
	switch s.Kind {
	case "wrapper":
		o = w.wrapperStep(s, dir)
	case "why", "check", "learn":
		o = w.askStep(s, dir)
	case "host", "worker":
		o = w.hosts[s.User].step(s, dir)
	default:
		o = w.runStep(s, dir)
	}
	w.after(s, dir, &o)
	return o
}

// after looks at what is outside when a step is over.
func (w *world) after(s step, dir string, o *outcome) {
	killed := o.Disturb && s.Kill == unix.SIGKILL && s.Target == "supervisor" || o.Hung || o.Signal == unix.SIGKILL
	wait := time.Minute
	if killed && s.Isolation != "namespaces" || s.Kind == "wrapper" {
		wait = 2 * time.Second
	}
	for _, pid := range gone(s.id(), wait) {
		if wait < time.Minute {
			o.Orphans++
			continue
		}
		o.Left = append(o.Left, describe(pid))
	}
	endAll(s.id())
	o.Canary = w.side(s.User).checkCanary()
	for _, name := range []string{"/denied.txt", "/../outside", "/made-link"} {
		if _, err := os.Lstat(dir + name); err == nil {
			o.Wrote = append(o.Wrote, name)
		}
	}
	if s.Operator == "deny" || s.Operator == "hangup" || s.Operator == "none" {
		if _, err := os.Lstat(dir + "/asked.txt"); err == nil {
			o.Wrote = append(o.Wrote, "/asked.txt")
		}
	}
	_, err := os.Lstat(dir + "/made")
	o.Made = err == nil
	_ = os.RemoveAll(dir)
}

// askStep is a call that starts nothing, or looks at it.
func (w *world) askStep(s step, dir string) outcome {
	base := []string{"--isolation", s.Isolation}
	canary := w.side(s.User).dir + "/out/canary"
	var args []string
	switch s.Kind {
	case "why":
		args = append(append([]string{"why"}, base...), [][]string{
			{"--verify", "write", canary},
			{"--verify", "write", dir + "/new"},
			{"--verify", "read", "/usr/bin"},
			{"connect", "443"},
			{"--json", "exec", "/bin/sh"},
			{"--verify", "syscall", "ptrace"},
			{"env", "HOME"},
		}[s.Number%7]...)
	case "check":
		args = append(append([]string{"check", "--json"}, base...), "--", "/bin/true")
	case "learn":
		args = append(append([]string{"learn", "--no-verify", "-o", "-"}, append(base, table[s.Program].flags...)...), append([]string{"--"}, w.inside(s)...)...)
	}
	lines, err := newReader("none", 0)
	if err != nil {
		return outcome{Status: 1, Said: err.Error()}
	}
	return w.supervised(s, w.command(s, dir, w.base+"/bin/brainbox", args...), lines)
}

// wrapperStep starts a program by brainbox-exec, as a host does, and ends it by brainbox-kill.
func (w *world) wrapperStep(s step, dir string) outcome {
	policy := "BRAINBOX_EXEC_POLICY=" + w.side(s.User).dir + "/config/exec.toml"
	cmd := w.command(s, dir, w.base+"/bin/brainbox-exec", w.inside(s)...)
	cmd.Env = append(cmd.Env, policy)
	said := &clipped{}
	cmd.Stderr = said
	var o outcome
	if err := cmd.Start(); err != nil {
		return outcome{Status: 1, Said: err.Error()}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // the state says how
	}()
	word := []string{"TERM", "KILL", "INT"}[s.Number%3]
	over := time.After(hangs)
	next := time.After(time.Duration(s.Number%1500) * time.Millisecond)
	stays := s.Program == "long" || s.Program == "stubborn"
	for waiting := true; waiting; {
		select {
		case <-ended:
			waiting = false
		case <-next:
			if stays {
				w.killer(s, dir, policy, cmd.Process.Pid, word, said)
			}
			word, next = "KILL", time.After(time.Second)
		case <-over:
			o.Hung, waiting = true, false
			_ = cmd.Process.Kill()
			<-ended
		}
	}
	if s.Program == "daemon" || stays { // what stays is its host's: the group is ended
		w.killer(s, dir, policy, cmd.Process.Pid, "KILL", said)
	}
	o.set(cmd.ProcessState)
	o.Said = said.String()
	return o
}

// killer calls brainbox-kill. The group may have ended.
func (w *world) killer(s step, dir, policy string, group int, word string, said *clipped) {
	kill := w.command(s, dir, w.base+"/bin/brainbox-kill", strconv.Itoa(group), word)
	kill.Env = append(kill.Env, policy)
	kill.Stderr = said
	if err := kill.Run(); err != nil {
		if state := kill.ProcessState; state == nil || state.ExitCode() != 126 {
			said.note("panic: brainbox-kill: " + err.Error())
		}
	}
}

// operate has an operator answer the step's prompts until stop is closed.
func (w *world) operate(s step, stop <-chan struct{}) {
	run := w.side(s.User).dir + "/run/" + s.id() + "/brainbox"
	socket := ""
	for socket == "" {
		if entries, err := os.ReadDir(run); err == nil && len(entries) > 0 {
			if _, err := os.Stat(run + "/" + entries[0].Name() + "/ui.sock"); err == nil {
				socket = run + "/" + entries[0].Name() + "/ui.sock"
				break
			}
		}
		select {
		case <-stop:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
	key := w.side(s.User).dir + "/state/brainbox/operator.key"
	cmd := w.command(s, "/", w.base+"/bin/actor", "-act", "operator", s.Operator, socket, key)
	cmd.Stderr = &clipped{}
	if cmd.Start() != nil {
		return
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // the state says how
	}()
	if s.Target == "operator" {
		go func() { disturb(step{Target: "supervisor", Kill: s.Kill, After: s.After}, cmd.Process.Pid, stop) }()
	}
	select {
	case <-ended:
	case <-stop:
		select { // its socket has ended
		case <-ended:
		case <-time.After(5 * time.Second):
			_ = cmd.Process.Kill()
			<-ended
		}
	}
}
