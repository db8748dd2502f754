package keeper

import (
	"errors"
	"os"
	"time"

	"brainbox/internal/procfs"

	"golang.org/x/sys/unix"
)

const (
	// patience bounds how long the end of killed processes is waited for.
	patience = 2 * time.Second

	// maxWalk bounds one look at the tree, in processes: one that forks as fast as it is looked
	// at must not keep the look from ending. What is beyond comes with the next one.
	maxWalk = 1 << 16

	// maxReap bounds one round of reaping, for the same reason.
	maxReap = 256

	// deepRound is how often the whole tree is killed and not only the children: one in an
	// uninterruptible sleep keeps what is below it.
	deepRound = 16
)

// tree is everything below a keeper.
type tree struct {
	leader      int
	exited      bool // and reaped: its number is another's now
	status      unix.WaitStatus
	cgroup      int
	killedAfter uint32 // 1: something was left when the program had exited, and was killed
}

// reap takes ended children away. It reports whether the program was one of them, and whether
// no child is left: then, for a subreaper, there is no descendant (wait4(2), ECHILD).
func (t *tree) reap() (exited, empty bool) {
	for range maxReap {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(-1, &ws, unix.WNOHANG, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return exited, true
		case pid == 0:
			return exited, false
		case pid == t.leader && !t.exited:
			t.exited, t.status, exited = true, ws, true
		}
	}
	return exited, false
}

// end kills every descendant and reaps it.
func (t *tree) end() frame {
	before := t.exited
	if _, empty := t.reap(); !empty && before {
		t.killedAfter = 1
	}
	deadline := time.Now().Add(patience)
	pause := 50 * time.Microsecond
	for round := 1; ; round++ {
		if _, empty := t.reap(); empty {
			return frame{kind: saidEnded, a: t.killedAfter}
		}
		t.killCgroup()
		// A child keeps its number until this goroutine reaps it, so the number is right.
		for _, pid := range procfs.Children(os.Getpid()) {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		if round%deepRound == 0 {
			for _, p := range descendants() {
				p.signal(unix.SIGKILL)
			}
		}
		if time.Now().After(deadline) {
			return frame{kind: saidEnded, a: t.killedAfter, b: uint32(max(1, t.alive()))}
		}
		time.Sleep(pause)
		pause = min(2*pause, 10*time.Millisecond)
	}
}

// terminate asks every descendant to end.
func (t *tree) terminate() {
	for _, p := range descendants() {
		p.signal(unix.SIGTERM)
	}
}

// alive counts what still runs.
func (t *tree) alive() int {
	n := 0
	for _, p := range descendants() {
		if s, ok := procfs.ReadStat(p.pid); ok && s.State != 'Z' && s.State != 'X' {
			n++
		}
	}
	return n
}

// killCgroup ends everything in the cgroup, forks in flight included (cgroup v2, cgroup.kill,
// Linux 5.14).
func (t *tree) killCgroup() {
	if t.cgroup >= 0 {
		killCgroup(t.cgroup)
	}
}

func killCgroup(dir int) {
	fd, err := unix.Openat(dir, "cgroup.kill", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	_, _ = unix.Write(fd, []byte("1"))
	unix.Close(fd)
}

// process is a descendant as it was seen. Its parent proves at the moment of a signal that the
// number still means the same process.
type process struct{ pid, parent int }

// descendants lists the processes below this one, parents first. The list may be out of date
// when it returns.
func descendants() []process {
	self := os.Getpid()
	seen := map[int]bool{self: true}
	var all []process
	add := func(parent int) {
		for _, child := range procfs.Children(parent) {
			if !seen[child] && len(all) < maxWalk {
				seen[child] = true
				all = append(all, process{pid: child, parent: parent})
			}
		}
	}
	add(self)
	for i := 0; i < len(all); i++ {
		add(all[i].pid)
	}
	return all
}

// signal sends sig if p is still a child of the process that it was found under, or of this
// one. The descriptor is taken first and the parent looked at after it, so a number that was
// given to another process in between is never hit (pidfd_open(2), Linux 5.3).
func (p process) signal(sig unix.Signal) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if s, ok := procfs.ReadStat(p.pid); ok && (s.Parent == p.parent || s.Parent == os.Getpid()) {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
}
