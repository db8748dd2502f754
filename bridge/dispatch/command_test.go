package dispatch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brainbox/bridge/envelope"
	"brainbox/internal/strictjson"
)

func TestCommandAnswers(t *testing.T) {
	for _, c := range []struct {
		id, script, want string
		change           func(*CommandConfig)
	}{
		{"a good result", `cat $good`, "succeeded", nil},
		{"request on standard input", `read -r line; [ "$line" = '` + string(request().Encode()) + `' ] && ! read -r more && cat $good`, "succeeded", nil},
		{"request is not read", `exec <&-; cat $good`, "succeeded", nil},
		{"bg/A65", `cat $good; exit 3`, "failed/command_exit_nonzero", nil},
		{"bg/A69", `cat $good $good`, "failed/result_not_json", nil},
		{"bg/A70", `echo starting; cat $good`, "failed/result_not_json", nil},
		{"nothing", `:`, "failed/result_not_json", nil},
		{"a signal", `cat $good; kill -SEGV $$`, "failed/command_signaled", nil},
		{"invalid UTF-8", `printf '"\377"'`, "failed/result_not_json", nil},
		{"a raw escape", `printf '{"a":"\033[2J"}'`, "failed/result_not_json", nil},
		{"another request", `sed s/ptr_1/ptr_2/ $good`, "failed/request_id_mismatch", nil},
		{"absolute, and not there", `cat $good`, "unavailable/command_not_found", func(c *CommandConfig) { c.Argv = []string{"/nonexistent/tool"} }},
		{"bg/A62", ``, "unavailable/command_not_found", func(c *CommandConfig) { c.Argv = []string{"no-such-prog"} }},
		{"bg/A64", ``, "unavailable/command_not_found", func(c *CommandConfig) { c.Argv = []string{"sh -c id"} }},
	} {
		t.Run(c.id, func(t *testing.T) {
			settled(t)
			b := newBench(t)
			check(t, b.run(c.script, c.change), c.want)
			b.empty()
		})
	}
}

func TestCommandArguments(t *testing.T) {
	for _, c := range []struct {
		id   string
		args []string
	}{
		{"bg/A63", []string{"-v", "a", "-v", "b"}},
		{"esc/BR-05", []string{"--upload-pack=touch x", "@file", "-", "--", ""}},
		{"esc/BR-06", []string{"; touch $notes/hacked", "$(touch hacked)", "`id`", "*", "a\nb", "|", "&& id", ">out", "~", "\\"}},
	} {
		t.Run(c.id, func(t *testing.T) {
			settled(t)
			b := newBench(t)
			cfg := b.config(`printf '%s\0' "$@" >$notes/args; cat $good`)
			cfg.Argv = append(cfg.Argv, c.args...)
			r := request()
			// What is asked for is as hostile, and stays in the request.
			r.Input = strictjson.Text("$(touch " + b.path("notes/hacked") + ") --upload-pack=x @file")
			check(t, b.command(cfg, variables()).Dispatch(context.Background(), r), "succeeded")
			got, err := os.ReadFile(b.path("notes/args"))
			if want := strings.Join(c.args, "\x00") + "\x00"; err != nil || string(got) != want {
				t.Errorf("%q, %v, want %q", got, err, want)
			}
			if names, _ := filepath.Glob(b.path("notes/*")); len(names) != 1 {
				t.Errorf("more than the arguments: %v", names)
			}
		})
	}
}

const daemons = `echo $$ >>$notes/p
(setsid sh -c 'echo $$ >>'$notes'/p; trap "" TERM HUP; while :; do sleep 1; done' &)
setsid sh -c '(setsid sh -c "echo \$\$ >>'$notes'/p; exec sleep 300" &) ; exit 0'
sh -c 'trap "" TERM; echo $$ >>'$notes'/p; while :; do sleep 1; done' &
while [ $(wc -l <$notes/p) -lt 4 ]; do sleep 0.01; done
`

func TestCommandLeavesProcesses(t *testing.T) {
	t.Run("bg/A66", func(t *testing.T) {
		settled(t)
		b := newBench(t)
		var res *envelope.Result
		c := b.command(b.config(`cat $good; setsid sh -c 'echo $$ >>'$notes'/p; exec sleep 60' & while [ ! -s $notes/p ]; do sleep 0.01; done`), variables())
		within(t, time.Second, func() time.Duration {
			begun := time.Now()
			res = c.Dispatch(context.Background(), request())
			check(t, res, "succeeded")
			return time.Since(begun)
		})
		if diagnostic(res, "leftover_processes") != "true" {
			t.Errorf("diagnostics: %s", res.Encode())
		}
		b.gone(b.pids("p", 1))
		b.empty()
	})
	t.Run("all kinds, and a good result", func(t *testing.T) {
		settled(t)
		b := newBench(t)
		res := b.run(daemons+"cat $good", nil)
		check(t, res, "succeeded")
		if diagnostic(res, "leftover_processes") != "true" {
			t.Errorf("diagnostics: %s", res.Encode())
		}
		b.gone(b.pids("p", 4))
	})
	t.Run("nothing is left", func(t *testing.T) {
		b := newBench(t)
		if res := b.run(`cat $good`, nil); diagnostic(res, "leftover_processes") != "" {
			t.Errorf("%s", res.Encode())
		}
	})
	t.Run("what is left goes on writing", func(t *testing.T) {
		settled(t)
		b := newBench(t)
		res := b.run(`cat $good; (while :; do echo more; : >$notes/more; done) & while [ ! -e $notes/more ]; do sleep 0.01; done`, nil)
		if res.Status != envelope.Failed || !strings.HasPrefix(res.Err.Code, "result_") {
			t.Errorf("%s", say(res))
		}
	})
}

func TestCommandDeadline(t *testing.T) {
	const grace = 300 * time.Millisecond
	limits := func(c *CommandConfig) { c.Timeout, c.Grace = 3*time.Second, grace }
	for id, script := range map[string]string{
		"bg/A67": `trap "" TERM; echo $$ >>$notes/p; cat $good; while :; do sleep 1; done`,
		"bg/A68": daemons + `cat $good; sleep 300`,
	} {
		t.Run(id, func(t *testing.T) {
			settled(t)
			b := newBench(t)
			cfg := b.config(script)
			limits(&cfg)
			c := b.command(cfg, variables())
			within(t, cfg.Timeout+grace+500*time.Millisecond, func() time.Duration {
				begun := time.Now()
				check(t, c.Dispatch(context.Background(), request()), "timeout/dispatch_timeout")
				took := time.Since(begun)
				if took < cfg.Timeout {
					t.Errorf("took only %v", took)
				}
				return took
			})
			b.gone(b.pids("p", 1))
			b.empty()
		})
	}
	t.Run("ends on SIGTERM", func(t *testing.T) {
		b := newBench(t)
		begun := time.Now()
		res := b.run(`trap 'echo bye >$notes/bye; exit 0' TERM; cat $good; while :; do sleep 0.02; done`, func(c *CommandConfig) {
			c.Timeout, c.Grace = 3*time.Second, time.Minute
		})
		check(t, res, "timeout/dispatch_timeout")
		if _, err := os.Stat(b.path("notes/bye")); err != nil || time.Since(begun) > 3*time.Second+patience {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
	})
	t.Run("retryable for reading alone", func(t *testing.T) {
		b := newBench(t)
		cfg := b.config(`sleep 300`)
		limits(&cfg)
		c := b.command(cfg, variables())
		for capability, want := range map[string]bool{"read": true, "write": false, "": false} {
			r := request()
			r.Capability = capability
			if res := c.Dispatch(context.Background(), r); res.Err == nil || res.Err.Retryable != want {
				t.Errorf("%q: %s", capability, res.Encode())
			}
		}
	})
}

// A caller that is gone, and a session that ends, leave no process.
func TestCommandCallerGone(t *testing.T) {
	for _, id := range []string{"bg/A82", "esc/BR-16"} {
		t.Run(id, func(t *testing.T) {
			settled(t)
			b := newBench(t)
			cfg := b.config(daemons + `cat $good; sleep 300`)
			cfg.Grace = 200 * time.Millisecond
			c := b.command(cfg, variables())
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			answer := make(chan *envelope.Result)
			go func() { answer <- c.Dispatch(ctx, request()) }()
			pids := b.pids("p", 4)
			for _, pid := range pids {
				if !runs(pid) {
					t.Fatalf("process %d does not run before", pid)
				}
			}
			cancel()
			check(t, <-answer, "failed/caller_gone")
			b.gone(pids)
			b.empty()
			check(t, c.Dispatch(ctx, request()), "failed/caller_gone")
			if again := b.pids("p", 4); len(again) != 4 {
				t.Error("a call whose caller was gone ran")
			}
		})
	}
	t.Run("its own deadline", func(t *testing.T) {
		b := newBench(t)
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		defer cancel()
		check(t, b.command(b.config(`sleep 300`), variables()).Dispatch(ctx, request()), "timeout/dispatch_timeout")
	})
}

func TestCommandFloods(t *testing.T) {
	t.Run("bg/A71", func(t *testing.T) {
		settled(t)
		b := newBench(t)
		res := b.run(`yes 'a line of words' | head -c 2097152 >&2; cat $good`, nil)
		check(t, res, "succeeded")
		text := diagnostic(res, "stderr")
		if len(text) > maxStderr || len(text) < maxStderr-32 || diagnostic(res, "stderr_truncated") != "true" {
			t.Errorf("%d bytes", len(text))
		}
	})
	t.Run("half a secret is not shown", func(t *testing.T) {
		b := newBench(t)
		res := b.run(fmt.Sprintf(`printf '%%%ds ' x >&2; yes secret | tr -d '\n' | head -c 4000 >&2; cat $good`, maxStderr-1000), nil)
		if text := diagnostic(res, "stderr"); strings.Contains(text, "secret") || !strings.HasSuffix(text, "x ") {
			t.Errorf("%d bytes, %q", len(text), text[max(0, len(text)-20):])
		}
	})
	t.Run("nor of one word that is too long", func(t *testing.T) {
		b := newBench(t)
		res := b.run(fmt.Sprintf(`{ printf 'x '; head -c %d /dev/zero | tr '\0' y; printf secret; head -c %d /dev/zero | tr '\0' z; } >&2; cat $good`,
			maxStderr/2-5, maxStderr), nil)
		if text := diagnostic(res, "stderr"); text != "x " || diagnostic(res, "stderr_truncated") != "true" {
			t.Errorf("%d bytes, %q", len(text), text[max(0, len(text)-20):])
		}
	})
	for id, script := range map[string]string{
		"stdout":                  `yes`,
		"esc/BR-11":               `yes | head -c 104857600`,
		"one byte too many":       `head -c 1048577 /dev/zero | tr '\0' ' '`,
		"stdout of a daemon":      `(yes &) ; sleep 300`,
		"stdout, then a good one": `head -c 3000000 /dev/zero | tr '\0' ' '; cat $good`,
	} {
		t.Run(id, func(t *testing.T) {
			settled(t)
			b := newBench(t)
			check(t, b.run(script, nil), "failed/result_too_large") // long before the deadline
		})
	}
	t.Run("as much as there may be", func(t *testing.T) {
		b := newBench(t)
		check(t, b.run(`cat $good; head -c $((1048576 - $(wc -c <$good))) /dev/zero | tr '\0' ' '`, nil), "succeeded")
	})
}
