package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// tally is what is there when nothing runs: a name, and how many.
type tally map[string]int64

// slack is by how much a count may grow; nothing, if it is not named. Memory is of the race
// detector too, whose shadow follows what was touched once.
var slack = map[string]int64{"rss KiB": 96 << 10, "heap KiB": 6 << 10, "goroutines": 4, "fds": 6, "keys": 8}

// allowed is the slack of a count, by the end of its name.
func allowed(name string) int64 {
	for end, n := range slack {
		if strings.HasSuffix(name, end) {
			return n
		}
	}
	return 0
}

// grown lists the counts that are larger than the slack allows. It is pure.
func grown(before, now tally) []string {
	var list []string
	for _, name := range sortedKeys(now) {
		if now[name] > before[name]+allowed(name) {
			list = append(list, fmt.Sprintf("%s: %d, and %d after the first look", name, now[name], before[name]))
		}
	}
	return list
}

// most puts the larger of each count into t.
func (t tally) most(now tally) {
	for name, n := range now {
		t[name] = max(t[name], n)
	}
}

// sweep has each user make a run in each isolation: it takes away what killed ones left.
func (w *world) sweep(n int) error {
	for i, user := range w.users() {
		for j, isolation := range []string{"landlock", "namespaces"} {
			s := step{N: -(n*8 + i*4 + j + 2), Kind: "run", User: user, Isolation: isolation, Program: "exit", Status: "none"}
			if o := w.do(s); o.Status != 7 {
				return fmt.Errorf("a run that nothing disturbs: status %d: %s", o.Status, o.Said)
			}
		}
	}
	return nil
}

// count looks at what is there. Nothing may run meanwhile.
func (w *world) count() (tally, []string, error) {
	t := tally{}
	own := map[int]bool{os.Getpid(): true}
	for _, user := range w.users() {
		h := w.hosts[user]
		name := map[bool]string{true: "user's host", false: "root's host"}[user]
		a, err := h.ask(order{Measure: true})
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w\n%s", name, err, h.said)
		}
		pid := h.cmd.Process.Pid
		own[pid] = true
		kept := descendants(pid)
		for _, p := range kept {
			own[p] = true
		}
		t[name+" idle spawners"], t[name+" heap KiB"], t[name+" goroutines"] = int64(len(kept)), int64(a.Heap>>10), int64(a.Threads)
		t[name+" fds"], t[name+" rss KiB"] = openFDs(pid), rss(pid)
	}
	var left []string
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		reap()
		if left = w.strangers(own); len(left) == 0 || time.Now().After(end) {
			break
		}
	}
	t["processes besides"] = int64(len(left))
	t["fds"], t["rss KiB"] = openFDs(os.Getpid()), rss(os.Getpid())
	t["mounts"], t["System V objects"], t["keys"] = lines("/proc/self/mountinfo"), lines("/proc/sysvipc/shm")+lines("/proc/sysvipc/sem")+lines("/proc/sysvipc/msg"), lines("/proc/keys")
	t["namespaces"] = namespaces()
	t["control groups"] = int64(len(found(ownGroup(), func(p string) bool {
		st, err := os.Stat(p)
		return err != nil || !st.IsDir() || unswept(p, time.Now())
	})))
	files := w.files()
	t["files"] = int64(len(files))
	return t, append(left, files...), nil
}

// files are those below every folder that a run may use. Transcripts, the audit log and
// the kept homes are to stay.
func (w *world) files() []string {
	skip := func(p string) bool {
		return strings.Contains(p, "/transcripts/") || strings.Contains(p, "/state/brainbox/") || strings.Contains(p, "/kept/")
	}
	var all []string
	for _, user := range w.users() {
		for _, dir := range []string{"/tmp", "/run", "/home", "/work", "/cache", "/state", "/kept"} {
			all = append(all, found(w.side(user).dir+dir, skip)...)
		}
	}
	if w.root { // a tmpfs of its own
		all = append(all, found("/tmp", func(string) bool { return false })...)
	}
	return slices.DeleteFunc(all, func(p string) bool { return standing.MatchString(p) || unswept(p, time.Now()) })
}

// unswept reports whether a path is of a run whose supervisor was killed lately: a later start
// removes its folder and its control group, once they are a minute old (package launcher).
func unswept(path string, now time.Time) bool {
	st, err := os.Stat(ofRun.FindString(path))
	return err == nil && now.Sub(st.ModTime()) < sweepTime
}

// sweepTime is time enough for such a start.
const sweepTime = 3 * time.Minute

// ofRun is the folder, or the control group, of a run.
var ofRun = regexp.MustCompile(`^.*/(brainbox-\d+/|brainbox-)[0-9a-f]{16}`)

// standing are the folders that stay once they are made, by whichever step is the first.
var standing = regexp.MustCompile(`/brainbox(-\d+|-exec-\d+(/(home|tmp|canary|pruned))?)?$`)

// strangers describes the processes that are not among the own: all that there are in a pid
// namespace of its own, else the descendants.
func (w *world) strangers(own map[int]bool) []string {
	all := descendants(os.Getpid())
	if w.root {
		all = processes()
	}
	var list []string
	for _, pid := range all {
		if !own[pid] {
			list = append(list, describe(pid))
		}
	}
	return list
}

func openFDs(pid int) int64 {
	entries, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return int64(len(entries))
}

func rss(pid int) int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := bytes.Cut(text, []byte("VmRSS:"))
	fields := bytes.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	n, _ := strconv.ParseInt(string(fields[0]), 10, 64)
	return n
}

func lines(file string) int64 {
	text, _ := os.ReadFile(file)
	return int64(bytes.Count(text, []byte("\n")))
}

// namespaces counts those that any visible process is in.
func namespaces() int64 {
	seen := map[string]bool{}
	for _, pid := range processes() {
		links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/ns/*", pid))
		for _, l := range links {
			if to, err := os.Readlink(l); err == nil {
				seen[to] = true
			}
		}
	}
	return int64(len(seen))
}

// unifiedMount is where control groups of version 2 are mounted.
func unifiedMount() string {
	var st unix.Statfs_t
	for _, dir := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		if unix.Statfs(dir, &st) == nil && st.Type == unix.CGROUP2_SUPER_MAGIC {
			return dir
		}
	}
	return ""
}

// ownGroup is the control group of this process.
func ownGroup() string {
	text, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(text)) {
		if path, is := strings.CutPrefix(strings.TrimSpace(line), "0::"); is {
			return unifiedMount() + strings.TrimSuffix(path, "/brainbox-self")
		}
	}
	return "/nonexistent"
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
