package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// hangs is how long a step may take. The machine may be slow.
const hangs = 3 * time.Minute

// arguments are those of brainbox run.
func (w *world) arguments(s step, dir string) []string {
	u, bin := w.side(s.User), w.bin(s)
	args := []string{"run", "--isolation", s.Isolation, "--rox", bin, "--rox", w.base + "/plain", "--allow-degraded", "protect"}
	args = append(args, table[s.Program].flags...)
	for _, f := range s.Features {
		args = append(args, w.feature(f, u, dir)...)
	}
	if s.Status != "none" {
		args = append(args, "--status-fd", "3")
	}
	if s.Fault == "policy" {
		args = append(args, "--policy", map[bool]string{true: u.dir + "/config/closed.toml", false: "/nonexistent/policy"}[s.User])
	}
	if s.Operator != "" {
		args = append(args, "--bridge", u.dir+"/config/bridge.json", "--gate", u.dir+"/config/gate.json")
	}
	return append(append(args, "--"), w.inside(s)...)
}

func (w *world) bin(s step) string {
	switch s.Fault {
	case "memory":
		return w.base + "/plain"
	case "sibling":
		return w.base + "/lame"
	}
	return w.base + "/bin"
}

// inside is the program and its arguments.
func (w *world) inside(s step) []string {
	p, canary := table[s.Program], w.side(s.User).dir+"/out/canary"
	if p.argv != nil {
		argv := append([]string{}, p.argv...)
		if argv[0] == "CANARY" {
			argv[0] = canary
		}
		return append(argv, s.id())
	}
	return []string{"/bin/sh", "-c", attempt + p.script, "sh", canary, s.id(), w.bin(s), strconv.Itoa(s.Signal), w.web.socket, strconv.Itoa(w.web.port)}
}

// feature are the flags of one.
func (w *world) feature(name string, u side, dir string) []string {
	switch name {
	case "explain", "sanitize", "verbose":
		return []string{"--" + name}
	case "proxy":
		return []string{"--net", "proxy", "--allow-host", "127.0.0.1:" + strconv.Itoa(w.web.port)}
	case "publish":
		return []string{"--publish", strconv.Itoa(20000 + os.Getpid()%1000 + int(time.Now().UnixNano()%20000))}
	case "unix":
		return []string{"--unix", w.web.socket}
	case "keep":
		return []string{"--home", "keep"}
	case "homedir":
		return []string{"--home", u.dir + "/kept"}
	case "protect":
		return []string{"--protect", dir + "/plainfile"}
	case "deny":
		return []string{"--deny", dir + "/secret"}
	case "nofile":
		return []string{"--nofile", "32"}
	case "fsize":
		return []string{"--fsize", "20KB"}
	case "output":
		return []string{"--output-limit", "100KB"}
	case "pids":
		return []string{"--pids", "60"}
	case "passfd":
		return []string{"--pass-fd", "4"}
	case "ports":
		return []string{"--net", "ports", "--connect-tcp", "9"}
	case "debug":
		return []string{"--seccomp", "debug"}
	case "shared":
		return []string{"--home", u.dir + "/kept", "--rw", u.dir + "/kept"}
	}
	return nil
}

// faulty is the call with what the step's fault takes away.
func (w *world) faulty(s step, dir string, argv []string) *exec.Cmd {
	script := map[string]string{
		"nofile": `ulimit -n ` + strconv.Itoa(12+s.Number%40), "memory": `ulimit -v ` + strconv.Itoa(200000+s.Number%3000000),
		"nproc": `ulimit -u ` + strconv.Itoa(1+s.Number%60), "cwd": `rmdir "$PWD"`, "stdio": [...]string{`exec <&-`, `exec >&-`, `exec 2>&-`, `exec <&- >&- 2>&-`}[s.Number%4],
	}[s.Fault]
	if script != "" {
		argv = append([]string{"/bin/bash", "-c", script + ` && exec "$@"`, "sh"}, argv...)
	}
	if s.Fault == "cwd" {
		u := w.side(s.User)
		dir += "/gone"
		_ = errors.Join(os.Mkdir(dir, 0o700), os.Chown(dir, u.uid, u.uid))
	}
	cmd := w.command(s, dir, argv[0], argv[1:]...)
	switch s.Fault {
	case "full":
		if w.root && s.User {
			cmd.Env = append(cmd.Env, "TMPDIR="+w.side(true).dir+"/full")
		}
	case "tmp":
		cmd.Env = append(cmd.Env, "TMPDIR=/nonexistent")
	}
	return cmd
}

// runStep is a step of kinds run and bridge.
func (w *world) runStep(s step, dir string) outcome {
	cmd := w.faulty(s, dir, append([]string{w.bin(s) + "/brainbox"}, w.arguments(s, dir)...))
	lines, err := newReader(s.Status, w.side(s.User).uid)
	if err != nil {
		return outcome{Status: 1, Said: err.Error()}
	}
	if lines.w != nil {
		cmd.ExtraFiles = []*os.File{lines.w}
	}
	if s.has("passfd") {
		file, err := os.Open(dir + "/plainfile")
		if err != nil {
			return outcome{Status: 1, Said: err.Error()}
		}
		defer file.Close()
		cmd.ExtraFiles = []*os.File{lines.w, file}
		if lines.w == nil {
			cmd.ExtraFiles[0] = file
		}
	}
	if s.Operator != "" { // sockets of its own, so that they can be found
		run := w.side(s.User).dir + "/run/" + s.id()
		u := w.side(s.User)
		if err := errors.Join(os.Mkdir(run, 0o700), os.Chown(run, u.uid, u.uid)); err != nil {
			return outcome{Status: 1, Said: err.Error()}
		}
		defer os.RemoveAll(run)
		cmd.Env = append(cmd.Env, "XDG_RUNTIME_DIR="+run)
	}
	o := w.supervised(s, cmd, lines)
	o.Lines, o.BadLines = lines.finish()
	return o
}

// supervised starts the call, disturbs it, and waits for its end.
func (w *world) supervised(s step, cmd *exec.Cmd, lines *reader) outcome {
	said := &clipped{}
	cmd.Stdout, cmd.Stderr = io.Discard, said
	if s.Number%3 == 0 {
		cmd.Stdout = nil // the null device
	}
	if err := cmd.Start(); err != nil {
		lines.started()
		return outcome{Status: 1, Said: err.Error()}
	}
	lines.started()
	var o outcome
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // the state says how
	}()
	stop := make(chan struct{})
	var helpers sync.WaitGroup
	var sent bool
	if s.Operator != "" && s.Operator != "none" {
		helpers.Go(func() { w.operate(s, stop) })
	}
	if s.Target == "supervisor" || s.Target == "host" {
		helpers.Go(func() { sent = disturb(s, cmd.Process.Pid, stop) })
	}
	select {
	case <-ended:
	case <-time.After(hangs):
		o.Hung = true
		said.note(describe(cmd.Process.Pid))
		endAll(s.id())
		_ = cmd.Process.Kill()
		<-ended
	}
	close(stop)
	helpers.Wait()
	o.Disturb = sent || s.Target == "operator"
	o.set(cmd.ProcessState)
	o.Said = said.String()
	return o
}

func (o *outcome) set(state *os.ProcessState) {
	ws, ok := state.Sys().(syscall.WaitStatus)
	if ok && ws.Signaled() {
		o.Status, o.Signal = -1, ws.Signal()
		return
	}
	o.Status = state.ExitCode()
}

// disturb sends the step's signal when its time has come; false: there was nobody left.
func disturb(s step, pid int, stop <-chan struct{}) bool {
	select {
	case <-time.After(s.After):
	case <-stop:
		return false
	}
	if s.Target == "host" {
		if pid = childNamed(pid, "brainbox-host"); pid == 0 {
			return false
		}
	}
	err := unix.Kill(pid, s.Kill)
	if s.Kill == unix.SIGSTOP {
		select {
		case <-time.After(300 * time.Millisecond):
		case <-stop:
		}
		_ = unix.Kill(pid, unix.SIGCONT)
	}
	return err == nil
}

// describe says what the processes below one do.
func describe(pid int) string {
	var b strings.Builder
	for _, p := range append([]int{pid}, descendants(pid)...) {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p))
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p))
		where, _ := os.ReadFile(fmt.Sprintf("/proc/%d/wchan", p))
		fmt.Fprintf(&b, "%d %q %s %.60s\n", p, bytes.ReplaceAll(line, []byte{0}, []byte{' '})[:min(len(line), 120)], where, strings.ReplaceAll(string(status), "\n", " "))
	}
	return b.String()
}

// clipped keeps the first part of what is written.
type clipped struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (c *clipped) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if room := 64<<10 - c.b.Len(); room > 0 {
		c.b.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}

func (c *clipped) note(text string) { _, _ = c.Write([]byte("\nsoak: " + text)) }

func (c *clipped) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.b.String()
}
