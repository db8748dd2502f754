package launcher

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// killMembers are the living processes of a group.
type killMembers struct {
	list   []Survivor
	hidden bool // /proc may hide processes of others (hidepid, proc(5))
}

// killPolls bound how often /proc is read while a group ends.
const (
	killFirstPoll = 2 * time.Millisecond
	killLastPoll  = 50 * time.Millisecond
)

// verify waits until the group is empty or the grace period of the signal that
// was sent is over (X1). It
// counts processes that are not zombies, for an unreaped leader keeps the group
// alive although nothing runs (X2). False: somebody lives.
func (r *killRun) verify(sent KillSignal) bool {
	limit := r.how.Grace
	if sent == KillKILL {
		limit = r.how.KillGrace
	}
	grace := time.NewTimer(limit)
	defer grace.Stop()
	poll := killFirstPoll
	for {
		alive, err := r.target.members()
		if err != nil {
			r.fail(fmt.Errorf("launcher: process group %d cannot be verified: %w", r.pgid, err))
			return true
		}
		r.receipt().Survivors = alive.list
		if len(alive.list) == 0 {
			r.receipt().Verified = !alive.hidden
			if alive.hidden {
				r.fail(fmt.Errorf("launcher: process group %d cannot be verified: /proc hides processes of other users", r.pgid))
			}
			return true
		}
		wait := time.NewTimer(poll)
		select {
		case <-grace.C:
			wait.Stop()
			return false
		case <-wait.C:
		}
		poll = min(2*poll, killLastPoll)
	}
}

// nothingLeft looks once. Only a complete view proves it.
func (r *killRun) nothingLeft() bool {
	alive, err := r.target.members()
	if err != nil || alive.hidden || len(alive.list) > 0 {
		return false
	}
	r.receipt().Verified, r.receipt().Survivors = true, nil
	return true
}

func killList(list []Survivor) string {
	var text strings.Builder
	for _, s := range list {
		fmt.Fprintf(&text, " pid %d uid %d,", s.PID, s.UID)
	}
	return strings.TrimSuffix(text.String(), ",")
}

// killGroupMembers reads /proc: kill(2) cannot tell a zombie from a process.
func killGroupMembers(pgid int) (killMembers, error) {
	names, err := killProcNames()
	if err != nil {
		return killMembers{}, err
	}
	var found killMembers
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		text, err := os.ReadFile("/proc/" + name + "/stat")
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ESRCH):
			continue // ended meanwhile
		case errors.Is(err, fs.ErrPermission):
			found.hidden = true // hidepid=1 shows the number only
			continue
		case err != nil:
			return killMembers{}, err
		}
		st, ok := killParseStat(text)
		if !ok {
			return killMembers{}, fmt.Errorf("read /proc/%d/stat: not the form of proc(5)", pid)
		}
		if st.pgrp == pgid && st.alive() {
			found.list = append(found.list, Survivor{PID: pid, UID: killRealUID(pid)})
		}
	}
	if os.Geteuid() != 0 && !found.hidden {
		mounts, err := os.ReadFile("/proc/self/mountinfo")
		if err != nil {
			return killMembers{}, err
		}
		found.hidden = killProcHides(string(mounts))
	}
	slices.SortFunc(found.list, func(a, b Survivor) int { return a.PID - b.PID })
	return found, nil
}

func killProcNames() ([]string, error) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer proc.Close()
	return proc.Readdirnames(-1)
}

// killStat is what counts of /proc/PID/stat (proc(5)).
type killStat struct {
	state   byte // field 3
	pgrp    int  // field 5
	threads int  // field 20
}

// alive tells a process from a zombie. The state is that of the first thread,
// which may have ended alone: while others run, it counts among the threads.
func (s killStat) alive() bool {
	switch s.state {
	case 'Z', 'X', 'x':
		return s.threads > 1
	}
	return true
}

// killParseStat reads behind the last parenthesis: the command's name before it
// is the process's own choice, and may contain blanks and parentheses.
func killParseStat(text []byte) (killStat, bool) {
	const threadsField = 17 // counted from the state
	end := bytes.LastIndexByte(text, ')')
	if end < 0 {
		return killStat{}, false
	}
	fields := bytes.Fields(text[end+1:])
	if len(fields) <= threadsField || len(fields[0]) != 1 {
		return killStat{}, false
	}
	pgrp, err := strconv.Atoi(string(fields[2]))
	if err != nil {
		return killStat{}, false
	}
	threads, err := strconv.Atoi(string(fields[threadsField]))
	if err != nil {
		return killStat{}, false
	}
	return killStat{state: fields[0][0], pgrp: pgrp, threads: threads}, true
}

// killRealUID is for messages; the owner of /proc/PID would be root for a
// process that is not dumpable.
func killRealUID(pid int) int {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return -1
	}
	for line := range strings.Lines(string(text)) {
		rest, ok := strings.CutPrefix(line, "Uid:")
		if !ok {
			continue
		}
		if fields := strings.Fields(rest); len(fields) > 0 {
			if uid, err := strconv.Atoi(fields[0]); err == nil {
				return uid
			}
		}
	}
	return -1
}

// killProcHides looks for a hidepid option of the /proc that counts, the last
// one mounted there.
func killProcHides(mountinfo string) bool {
	hides := false
	for line := range strings.Lines(mountinfo) {
		mount, super, ok := strings.Cut(strings.TrimSpace(line), " - ")
		fields := strings.Fields(mount)
		if !ok || len(fields) < 6 || fields[4] != "/proc" {
			continue
		}
		hides = false
		options := super[strings.LastIndexByte(super, ' ')+1:] + "," + fields[5]
		for option := range strings.SplitSeq(options, ",") {
			value, ok := strings.CutPrefix(option, "hidepid=")
			hides = hides || ok && value != "0" && value != "off"
		}
	}
	return hides
}
