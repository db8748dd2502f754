package dispatch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"brainbox/internal/needs"

	"golang.org/x/sys/unix"
)

func TestCommandFiles(t *testing.T) {
	const to = `"$BRAINBOX_PARENT_TOOL_RESULT_FILE"`
	for _, c := range []struct{ id, script, want string }{
		{"a good result", `[ "$(cat "$BRAINBOX_PARENT_TOOL_REQUEST_FILE")" = '` + string(request().Encode()) + `' ] && cat $good >` + to, "succeeded"},
		{"noise on stdout", `yes | head -c 3000000; cat $good >` + to, "succeeded"},
		{"bg/A72", `ln -s $good ` + to, "failed/result_not_json"},
		{"hard link", `ln $good ` + to + ` || exit 9`, "failed/result_not_json"},
		{"second name", `cat $good >` + to + `; ln ` + to + ` x || exit 9`, "failed/result_not_json"},
		{"FIFO", `mkfifo ` + to + `; (exec 3<>` + to + `; cat $good >&3; sleep 300) & sleep 0.1`, "failed/result_not_json"},
		{"folder", `mkdir ` + to, "failed/result_not_json"},
		{"device", `ln -s /dev/zero ` + to, "failed/result_not_json"},
		{"none", `:`, "failed/result_not_json"},
		{"on stdout alone", `cat $good`, "failed/result_not_json"},
		{"too large", `head -c 3000000 /dev/zero >` + to, "failed/result_too_large"},
		{"exit 3", `cat $good >` + to + `; exit 3`, "failed/command_exit_nonzero"},
		{"unreadable", `cat $good >` + to + `; chmod 0 ` + to, "failed/result_not_json"},
		{"written by a daemon later", `(setsid sh -c 'sleep 60; cat '$good' >` + to + `' &)`, "failed/result_not_json"},
	} {
		t.Run(c.id, func(t *testing.T) {
			settled(t)
			b := newBench(t)
			if c.id == "unreadable" {
				needs.User(t)
			}
			script := `[ $(stat -c %a "$(dirname ` + to + `)") = 700 ] && [ $(stat -c %a "$BRAINBOX_PARENT_TOOL_REQUEST_FILE") = 600 ] || exit 8` + "\n"
			check(t, b.run(script+c.script, func(cfg *CommandConfig) { cfg.Transport = File }), c.want)
			b.empty()
		})
	}
}

func TestCommandsAtOnce(t *testing.T) {
	settled(t)
	b := newBench(t)
	cfg := b.config(`echo $$ >>$notes/p; (setsid sleep 300 &); sleep 0.1; cat $good`)
	c := b.command(cfg, variables())
	var group sync.WaitGroup
	for i := range 12 {
		group.Go(func() {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if i%3 == 0 {
				time.AfterFunc(time.Duration(i)*5*time.Millisecond, cancel)
			}
			res := c.Dispatch(ctx, request())
			if got := say(res); got != "succeeded" && (i%3 != 0 || got != "failed/caller_gone") {
				t.Errorf("call %d: %s", i, got)
			}
		})
	}
	group.Wait()
	b.gone(b.pids("p", 8))
	b.empty()
}

func TestCommandCgroup(t *testing.T) {
	needs.Root(t)
	needs.CgroupKill(t)
	settled(t)
	group, err := os.MkdirTemp(cgroupMount(t), "brainbox-test-") //nolint:usetesting // a control group
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := os.Remove(group); err != nil {
			t.Error(err)
		}
	}()
	b := newBench(t)
	// The keeper is killed, and the daemon is in a session of its own: only the group has it.
	res := b.run(`cp /proc/self/cgroup $notes/group; (setsid sh -c 'echo $$ >>'$notes'/p; exec sleep 300' &)
while [ ! -s $notes/p ]; do sleep 0.01; done; kill -9 $PPID; sleep 300`, func(c *CommandConfig) { c.Cgroup = group })
	check(t, res, "failed/internal_error")
	text, err := os.ReadFile(b.path("notes/group"))
	if err != nil || !strings.Contains(string(text), filepath.Base(group)+"/brainbox-call-") {
		t.Errorf("%s, %v", text, err)
	}
	b.gone(b.pids("p", 1))
}

func cgroupMount(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 4 && strings.Contains(line, " - cgroup2 ") {
			return f[4]
		}
	}
	t.Fatal("no cgroup2")
	return ""
}

// A program that kills its keeper ends with it, and there is still a result.
func TestCommandKillsItsKeeper(t *testing.T) {
	settled(t)
	b := newBench(t)
	res := b.run(`echo $$ >$notes/p; cat $good; kill -9 $PPID; sleep 300`, nil)
	check(t, res, "failed/internal_error")
	b.gone(b.pids("p", 1))
	b.empty()
}

func TestCommandIsAnotherFileNow(t *testing.T) {
	settled(t)
	b := newBench(t)
	cfg := b.config(`cat $good`)
	c := b.command(cfg, variables())
	check(t, c.Dispatch(context.Background(), request()), "succeeded")
	for name, change := range map[string]func() error{
		"replaced": func() error {
			path := b.write("bin/new", "#!/bin/sh\ntouch "+b.path("notes/hacked")+"\n", 0o755)
			return os.Rename(path, cfg.Argv[0])
		},
		"others may write": func() error { return os.Chmod(b.path("bin"), 0o777) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if res := c.Dispatch(context.Background(), request()); say(res) != "unavailable/command_start_failed" {
			t.Errorf("%s: %s", name, say(res))
		}
		if err := os.Chmod(b.path("bin"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(cfg.Argv[0]); err != nil {
		t.Fatal(err)
	}
	check(t, c.Dispatch(context.Background(), request()), "unavailable/command_not_found")
	if _, err := os.Stat(b.path("notes/hacked")); !errors.Is(err, unix.ENOENT) {
		t.Error("the other file ran")
	}
}
