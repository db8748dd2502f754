package supervise

import (
	"errors"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// endWait bounds how long the end of the tree is waited for. Only a process in an
	// uninterruptible sleep lasts longer than its SIGKILL.
	endWait = 10 * time.Second

	// maxWalk bounds one look at the tree: a program that forks as fast as it is looked at
	// must not keep the look from ending. What is beyond comes with the next one.
	maxWalk = 1 << 16

	// maxReap bounds one round of reaping, for the same reason: where every process forks
	// and exits at once, there is always one more that has ended.
	maxReap = 256

	// deepRound is how often the whole tree is walked too: a child in an uninterruptible
	// sleep keeps what is below it.
	deepRound = 16
)

// endTree kills every descendant and reaps it. The program has been reaped. It returns
// who is left.
func (r *run) endTree() []Survivor {
	deadline := time.Now().Add(r.patience)
	pause := 50 * time.Microsecond
	for round := 1; ; round++ {
		left, more := r.reapSome()
		if !left {
			return nil
		}
		if r.job.Spawn.Cgroup > 0 {
			killCgroup(r.job.Spawn.Cgroup)
		}
		if r.killChildren() == 0 && !more && len(r.before) > 0 {
			return nil // the children that are left are not the program's
		}
		if round%deepRound == 0 {
			for _, p := range r.descendants() {
				p.signal(unix.SIGKILL)
			}
		}
		if time.Now().After(deadline) {
			return r.survivors()
		}
		if !more {
			time.Sleep(pause)
			pause = min(2*pause, 10*time.Millisecond)
		}
	}
}

// killChildren kills the children of this process and counts them: whatever was below them
// comes to it in turn, as the subreaper. Nothing is looked at in between, so that a process
// which forks and exits at once is met before it has forked. A child keeps its number until
// the same goroutine reaps it, so what waitid(2) knows as a child is the right one.
func (r *run) killChildren() int {
	found := 0
	for _, pid := range r.list(os.Getpid()) {
		if r.before[pid] {
			continue
		}
		found++
		var info siginfo
		if waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT) == nil {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
	return found
}

// reapSome waits for children that have ended. It reports whether any child is left, and
// whether more of them may have ended already. As a subreaper this process is the parent
// of every orphan of the tree, so no child means no tree (wait4(2), ECHILD).
func (r *run) reapSome() (left, more bool) {
	for range maxReap {
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return false, false
		case pid == 0:
			return true, false
		default:
			r.forget(pid)
		}
	}
	return true, true
}

// reap takes one ended child away.
func (r *run) reap(pid int) {
	if got, err := unix.Wait4(pid, nil, unix.WNOHANG, nil); err == nil && got == pid {
		r.forget(pid)
	}
}

// forget is called for a reaped child: its number may be given to another process.
func (r *run) forget(pid int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.before, pid)
}

// noteChildren remembers the children that this process has before it starts anything: a
// shell may have made them, for a process substitution, and become brainbox then
// (execve(2) keeps them). They are not the program's.
func (r *run) noteChildren() {
	var info siginfo
	if errors.Is(waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT), unix.ECHILD) {
		return
	}
	r.before = map[int]bool{}
	for _, pid := range r.list(os.Getpid()) {
		r.before[pid] = true
	}
}

// survivors lists what still runs.
func (r *run) survivors() []Survivor {
	var left []Survivor
	for _, p := range r.descendants() {
		if p.zombie() {
			continue
		}
		var st unix.Stat_t
		uid := -1
		if unix.Stat("/proc/"+strconv.Itoa(p.pid), &st) == nil {
			uid = int(st.Uid)
		}
		left = append(left, Survivor{PID: p.pid, UID: uid})
	}
	return left
}

// process is a member of the tree as it was seen: its parent proves at the moment of
// the signal that the number still means the same process.
type process struct{ pid, parent int }

// descendants lists the processes of the tree, parents before their children. The list
// may be out of date when it returns; callers repeat until nothing is left.
func (r *run) descendants() []process {
	self := os.Getpid()
	var all []process
	seen := map[int]bool{self: true}
	add := func(parent int) {
		for _, child := range r.list(parent) {
			if !seen[child] && len(all) < maxWalk {
				seen[child] = true
				all = append(all, process{pid: child, parent: parent})
			}
		}
	}
	r.mu.Lock()
	for pid := range r.before {
		seen[pid] = true
	}
	r.mu.Unlock()
	add(self)
	for i := 0; i < len(all); i++ {
		add(all[i].pid)
	}
	return all
}

// signal sends sig to p, if p is still a child of the parent that it was found under.
// The descriptor is taken first and the parent checked after, so that a number that
// was given to another process in between is never hit (pidfd_open(2), Linux 5.3).
func (p process) signal(sig unix.Signal) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if parent, _ := p.stat(); parent != p.parent && parent != os.Getpid() {
		return
	}
	_ = unix.PidfdSendSignal(fd, sig, nil, 0)
}

func (p process) zombie() bool {
	_, state := p.stat()
	return state == 'Z' || state == 'X' || state == 0
}

// killCgroup ends all processes of the run's cgroup at once, forks in flight included
// (cgroup v2 cgroup.kill, Linux 5.14). Where that fails the walk goes on.
func killCgroup(dir int) {
	fd, err := unix.Openat(dir, "cgroup.kill", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	_, _ = unix.Write(fd, []byte("1"))
	unix.Close(fd)
}
