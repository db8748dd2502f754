package netns

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
	"brainbox/internal/spawn"
)

// agent is a program in namespaces of its own that does what it is told.
type agent struct {
	t     testing.TB
	child *spawn.Child
	in    io.WriteCloser
	out   *bufio.Reader
	ns    NS // held as long as the test
}

// inside starts it. ready, if not nil, is called in the start, with what is also ns.
func inside(t testing.TB, id *spawn.Identity, ready func(NS) error) *agent {
	t.Helper()
	needs.Userns(t)
	a := &agent{t: t}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := &spawn.Request{
		Path: exe, Argv: []string{"agent"}, Env: []string{agentEnv + "=1"}, Unconfined: true, Umask: 0o22, Session: true,
		Namespaces: room(t, exe), Identity: id,
	}
	r.Namespaces.Network = func(user, net int) error {
		a.ns = NS{keep(t, user), keep(t, net)}
		if ready == nil {
			return nil
		}
		return ready(NS{user, net})
	}
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Stdio = [3]int{int(inR.Fd()), int(outW.Fd()), 2}
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	if a.child, err = spawn.Start(r); err != nil {
		t.Fatal(err)
	}
	a.in, a.out = inW, bufio.NewReader(outR)
	t.Cleanup(func() {
		a.child.Init.End()
		unix.Close(a.child.PidFD)
		_ = errors.Join(inW.Close(), outR.Close())
	})
	_ = errors.Join(inR.Close(), outW.Close())
	return a
}

// capable starts a program that has every capability in namespaces of its own.
func capable(t testing.TB) *agent {
	t.Helper()
	needs.Userns(t)
	cmd := exec.CommandContext(context.Background(), "/proc/self/exe") // until its input ends
	cmd.Env = []string{agentEnv + "=1"}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
			t.Error(err)
		}
	})
	a := &agent{t: t, in: in, out: bufio.NewReader(out)}
	for kind, fd := range map[string]*int{"user": &a.ns.User, "net": &a.ns.Net} {
		name := fmt.Sprintf("/proc/%d/ns/%s", cmd.Process.Pid, kind)
		if *fd, err = unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(*fd) })
	}
	return a
}

func keep(t testing.TB, fd int) int {
	t.Helper()
	to, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(to) })
	return to
}

// room is a small system that exe can run in.
func room(t testing.TB, exe string) *spawn.Namespaces {
	t.Helper()
	n := &spawn.Namespaces{Net: true, Loopback: true}
	if os.Geteuid() == 0 {
		all := []spawn.IDMap{{Inside: 0, Outside: 0, Count: 1<<32 - 1}}
		n.UIDMap, n.GIDMap = all, all
	}
	for _, dir := range []string{"/usr", "/lib", "/lib64"} {
		if target, err := os.Readlink(dir); err == nil {
			n.Mounts = append(n.Mounts, spawn.Mount{Kind: spawn.KindSymlink, Path: dir, Source: target})
		} else if _, err := os.Stat(dir); err == nil {
			n.Mounts = append(n.Mounts, spawn.Mount{Kind: spawn.KindDir, Path: dir, Mode: 0o755}, spawn.Mount{Kind: spawn.KindBind, Path: dir, Source: dir, Held: held(t, dir), Exec: true})
		}
	}
	made := map[string]bool{"/": true}
	var folder func(string)
	folder = func(dir string) {
		if !made[dir] {
			folder(filepath.Dir(dir))
			made[dir] = true
			n.Mounts = append(n.Mounts, spawn.Mount{Kind: spawn.KindDir, Path: dir, Mode: 0o755})
		}
	}
	folder(filepath.Dir(exe))
	n.Mounts = append(n.Mounts, spawn.Mount{Kind: spawn.KindFile, Path: exe, Mode: 0o755},
		spawn.Mount{Kind: spawn.KindBind, Path: exe, Source: exe, Held: held(t, exe), Exec: true},
		spawn.Mount{Kind: spawn.KindDir, Path: "/proc", Mode: 0o555}, spawn.Mount{Kind: spawn.KindFS, Path: "/proc", FSType: "proc", Writable: true})
	return n
}

func held(t testing.TB, name string) int {
	t.Helper()
	fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

// ask has the agent do something and returns its answer.
func (a *agent) ask(format string, args ...any) string {
	a.t.Helper()
	a.tell(format, args...)
	return a.answer()
}

func (a *agent) tell(format string, args ...any) {
	a.t.Helper()
	if _, err := fmt.Fprintf(a.in, format+"\n", args...); err != nil {
		a.t.Fatal(err)
	}
}

func (a *agent) answer() string {
	a.t.Helper()
	line, err := a.out.ReadString('\n')
	if err != nil {
		a.t.Fatalf("no answer from inside: %v", err)
	}
	return strings.TrimSpace(line)
}

// readable waits for something to read or to accept.
func readable(t testing.TB, fd int) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 1000); n == 1 && err == nil {
			return
		}
	}
	t.Fatal("nothing came in 20 s")
}
