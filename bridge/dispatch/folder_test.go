package dispatch

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"brainbox/internal/needs"
)

func TestCommandFolder(t *testing.T) {
	b := newBench(t)
	for _, dir := range []string{"roots/a/deep", "roots/b", "elsewhere", "roots/a/open", "work/in"} {
		if err := os.MkdirAll(b.path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"roots/a/out": "../../elsewhere", "to-deep": "roots/a/deep", "roots/a/work": "../../work/in"} {
		if err := os.Symlink(target, b.path(name)); err != nil {
			t.Fatal(err)
		}
	}
	const fresh = "fresh"
	for _, c := range []struct{ name, value, want string }{
		{"inside a root", "roots/a/deep", "roots/a/deep"},
		{"the root", "roots/a", "roots/a"},
		{"a link to inside", "to-deep", "roots/a/deep"},
		{"not set", "", fresh},
		{"outside", "elsewhere", fresh},
		{"a sibling by prefix", "roots/b", fresh},
		{"a link to outside", "roots/a/out", fresh},
		{"a link to a tree", "roots/a/work", fresh},
		{"a tree that is a root", "work/in", fresh},
		{"not there", "roots/a/none", fresh},
		{"a file", "good", fresh},
	} {
		t.Run(c.name, func(t *testing.T) {
			settled(t)
			b := &bench{t: t, dir: b.dir}
			cfg := b.config(`pwd -P >$notes/cwd; ls -A >>$notes/cwd; stat -c %a . >$notes/mode; touch made; cat $good`)
			cfg.CwdEnv, cfg.Roots = "TOOL_DIR", []string{b.path("roots/a"), b.path("work")}
			value := ""
			if c.value != "" {
				value = b.path(c.value)
			}
			check(t, b.command(cfg, variables("TOOL_DIR", value)).Dispatch(context.Background(), request()), "succeeded")
			text, err := os.ReadFile(b.path("notes/cwd"))
			if err != nil {
				t.Fatal(err)
			}
			got, rest, _ := strings.Cut(string(text), "\n")
			if c.want != fresh {
				if got != b.path(c.want) {
					t.Errorf("ran in %s", got)
				}
				return
			}
			mode, _ := os.ReadFile(b.path("notes/mode"))
			if filepath.Dir(got) != b.path("scratch") || rest != "" || string(mode) != "700\n" {
				t.Errorf("ran in %s (%s) with %q", got, mode, rest)
			}
			b.empty()
		})
	}
	t.Run("changed after the launch", func(t *testing.T) {
		cfg := b.config(`pwd -P >$notes/cwd; cat $good`)
		cfg.CwdEnv, cfg.Roots = "TOOL_DIR", []string{b.path("roots")}
		c := b.command(cfg, variables("TOOL_DIR", b.path("roots/b")))
		if err := os.Remove(b.path("roots/b")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(b.path("elsewhere"), b.path("roots/b")); err != nil {
			t.Fatal(err)
		}
		check(t, c.Dispatch(context.Background(), request()), "succeeded")
		if text, _ := os.ReadFile(b.path("notes/cwd")); !strings.HasPrefix(string(text), b.path("scratch")+"/") {
			t.Errorf("ran in %s", text)
		}
	})
}

// A command that leaves read-only folders behind leaves nothing behind.
func TestCommandFolderIsRemoved(t *testing.T) {
	settled(t)
	b := newBench(t)
	check(t, b.run(`mkdir -p a/b/c; touch a/b/c/d; chmod 0 a/b/c; chmod 500 a/b; ln -s $notes keep; touch $notes/kept; cat $good`, nil), "succeeded")
	b.empty()
	if _, err := os.Stat(b.path("notes/kept")); err != nil {
		t.Error("what a link led to was removed")
	}
}

// Git of the host, run for a checkout that the sandbox writes to, obeys nothing in it.
func TestCommandAndTheCheckoutsConfiguration(t *testing.T) {
	t.Run("esc/BR-09", func(t *testing.T) {
		git := needs.Tool(t, "git")
		settled(t)
		b := newBench(t)
		repo := b.path("work/repo")
		marker := b.write("work/hook", "#!/bin/sh\ntouch "+b.path("notes/hacked")+"\n", 0o755)
		for _, args := range [][]string{{"init", "-q", repo}, {"-C", repo, "config", "core.fsmonitor", marker}} {
			if out, err := exec.Command(git, args...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		hacked := func() bool {
			_, err := os.Stat(b.path("notes/hacked"))
			return err == nil
		}
		cmd := exec.Command(git, "status")
		cmd.Dir = repo
		if out, err := cmd.CombinedOutput(); err != nil || !hacked() {
			t.Fatalf("an ordinary start obeys nothing: %v\n%s", err, out)
		}
		if err := os.Remove(b.path("notes/hacked")); err != nil {
			t.Fatal(err)
		}
		// Whatever the launcher's folder, the variable of the bridge and the host's variables say.
		t.Chdir(repo)
		t.Setenv("GIT_DIR", filepath.Join(repo, ".git"))
		cfg := b.config("")
		cfg.Argv = []string{"git", "status"}
		cfg.CwdEnv, cfg.Roots = "TOOL_DIR", []string{b.path("work")}
		res := b.command(cfg, variables("TOOL_DIR", repo)).Dispatch(context.Background(), request())
		check(t, res, "failed/command_exit_nonzero")
		if hacked() || !strings.Contains(diagnostic(res, "stderr"), "not a git repository") {
			t.Errorf("hacked %v: %s", hacked(), res.Encode())
		}
	})
}
