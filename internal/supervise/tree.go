package supervise

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// endWait bounds how long the end of the tree is waited for. Only a process in an
// uninterruptible sleep lasts longer than its SIGKILL.
const endWait = 10 * time.Second

// endTree kills every descendant and reaps it. The program itself has ended but is
// still unreaped. It returns who is left.
func (r *run) endTree() []Survivor {
	deadline := time.Now().Add(endWait)
	for pause := time.Microsecond * 50; ; pause = min(2*pause, 10*time.Millisecond) {
		if r.job.Spawn.Cgroup > 0 {
			killCgroup(r.job.Spawn.Cgroup)
		}
		left := 0
		for _, p := range descendants(os.Getpid()) {
			if p.pid == r.child.PID {
				continue
			}
			left++
			p.signal(unix.SIGKILL)
		}
		if r.reapOthers(); left == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return r.survivors()
		}
		time.Sleep(pause)
	}
}

// reapOthers waits for every ended child except the program.
func (r *run) reapOthers() {
	for _, pid := range children(os.Getpid()) {
		if pid != r.child.PID {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
	}
}

func (r *run) survivors() []Survivor {
	var left []Survivor
	for _, p := range descendants(os.Getpid()) {
		if p.pid == r.child.PID || p.zombie() {
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

// descendants lists all processes below pid, parents before their children. Their
// number may be out of date when it returns; callers repeat until nothing is left.
func descendants(pid int) []process {
	var all []process
	for _, child := range children(pid) {
		all = append(all, process{pid: child, parent: pid})
	}
	for i := 0; i < len(all); i++ {
		for _, child := range children(all[i].pid) {
			all = append(all, process{pid: child, parent: all[i].pid})
		}
	}
	return all
}

// children reads /proc/PID/task/*/children (proc(5), Linux 4.2 and
// CONFIG_PROC_CHILDREN).
func children(pid int) []int {
	base := "/proc/" + strconv.Itoa(pid) + "/task"
	dir, err := os.Open(base)
	if err != nil {
		return nil
	}
	defer dir.Close()
	tasks, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	var all []int
	for _, task := range tasks {
		text, err := os.ReadFile(base + "/" + task + "/children")
		if err != nil {
			continue
		}
		for _, word := range bytes.Fields(text) {
			if n, err := strconv.Atoi(string(word)); err == nil {
				all = append(all, n)
			}
		}
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

// stat reads the parent and the state from /proc/PID/stat (proc(5)); the name in it
// may hold any byte, so the fields are counted from its last parenthesis.
func (p process) stat() (parent int, state byte) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/stat")
	if err != nil {
		return -1, 0
	}
	f := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(f) < 2 {
		return -1, 0
	}
	parent, err = strconv.Atoi(string(f[1]))
	if err != nil {
		return -1, 0
	}
	return parent, f[0][0]
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
