package run

import (
	"bytes"
	"errors"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/sys"
)

// A command may put its children into groups of their own, which timeout(1) and a shell with
// job control do. They stay in its session. Nobody else gets the number of that: its leader
// is not reaped yet.

// mostStat bounds what is read of one /proc/PID/stat, in bytes.
const mostStat = 4096

// signal sends a signal to the group and to all that is in the session, and tells how many of
// them ran. Without /proc it is the group alone.
func (p *process) signal(sig unix.Signal) int {
	leader := p.cmd.Process.Pid
	_ = unix.Kill(-leader, sig) // ESRCH: nobody is left
	names, err := sys.ReadDirNames("/proc")
	if err != nil {
		return 0
	}
	n := 0
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == leader || !inSession(pid, leader) {
			continue
		}
		n++
		fd, err := unix.PidfdOpen(pid, 0)
		switch {
		case err == nil: // the number is looked at again when it cannot be another's any more
			if inSession(pid, leader) {
				_ = unix.PidfdSendSignal(fd, sig, nil, 0)
			}
			_ = unix.Close(fd)
		case !errors.Is(err, unix.ESRCH): // a filter, or Linux before 5.3
			_ = unix.Kill(pid, sig)
		}
	}
	return n
}

// inSession: it runs, in the session of a leader.
func inSession(pid, leader int) bool {
	text, err := sys.ReadFile("/proc/"+strconv.Itoa(pid)+"/stat", mostStat)
	if err != nil {
		return false
	}
	f := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:]) // the name may have any byte
	if len(f) < 4 || f[0][0] == 'Z' || f[0][0] == 'X' {
		return false
	}
	session, err := strconv.Atoi(string(f[3]))
	return err == nil && session == leader
}

// kill kills the session, also what is forked meanwhile.
func (p *process) kill() {
	end := time.Now().Add(p.limits.Kill)
	for pause := time.Millisecond; p.signal(unix.SIGKILL) > 0 && time.Now().Before(end); pause *= 2 {
		time.Sleep(pause)
	}
}
