package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brainbox/internal/needs"
	"brainbox/policy"
)

// learnWorld is a checkout, a home and a folder of data, made anew for each run.
type learnWorld struct {
	dir, setup string
	file       string // of the policy
}

func newLearnWorld(t *testing.T, setup string) *learnWorld {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "brainbox-learn-") //nolint:usetesting // in isolation namespaces /tmp is the program's own
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	w := &learnWorld{dir: dir, setup: setup, file: dir + "/policies/p.toml"}
	if err := os.MkdirAll(filepath.Dir(w.file), 0o755); err != nil {
		t.Fatal(err)
	}
	w.fresh(t)
	return w
}

// fresh makes all of it as it was.
func (w *learnWorld) fresh(t *testing.T) {
	t.Helper()
	for _, name := range []string{"co", "home", "data", "tmp"} {
		if err := errors.Join(os.RemoveAll(w.dir+"/"+name), os.MkdirAll(w.dir+"/"+name, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	_, out, status := w.run(t, exec.Command("/bin/sh", "-euc", `umask 022; mkdir -p ../home/.ssh ../home/data ../home/.config; echo key >../home/.ssh/id_rsa
		echo 1,2,3 >../data/in.csv; echo 4,5 >../home/data/in.csv
		`+w.setup))
	if status != 0 {
		t.Fatalf("the world: status %d\n%s", status, out)
	}
}

func (w *learnWorld) run(t *testing.T, cmd *exec.Cmd) (stdout, stderr string, status int) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = w.dir+"/co", &out, &errs
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir + "/home", "TMPDIR=" + w.dir + "/tmp", "LANG=C.UTF-8", "GIT_CONFIG_NOSYSTEM=1",
		"XDG_CONFIG_HOME=" + w.dir + "/home/.config", "XDG_STATE_HOME=" + w.dir + "/home/.local/state",
	}
	err := cmd.Run()
	var ee *exec.ExitError
	if err != nil && !errors.As(err, &ee) {
		t.Fatalf("%q: %v", cmd.Args, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func (w *learnWorld) brainbox(t *testing.T, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	return w.run(t, exec.Command("brainbox", args...))
}

// text is the policy that was written.
func (w *learnWorld) text(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(w.file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := policy.Parse(policy.KindFile, w.file, text); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return string(text)
}

// active are the lines that are no comments.
func active(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// inBoth runs a test in both isolations.
func inBoth(t *testing.T, test func(t *testing.T, isolation string)) {
	needs.LandlockABI(t, 6)
	needs.Notify(t)
	for _, isolation := range []string{"landlock", "namespaces"} {
		t.Run(isolation, func(t *testing.T) {
			if isolation == "namespaces" {
				needs.Userns(t)
			}
			test(t, isolation)
		})
	}
}

const (
	learnGit = `export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
		GIT_AUTHOR_DATE=2002-02-03T04:05:06Z GIT_COMMITTER_DATE=2002-02-03T04:05:06Z
		export GIT_AUTHOR_DATE GIT_COMMITTER_DATE GIT_CONFIG_GLOBAL=/dev/null
		`
	// The wrappers of version managers in a home that is not the caller's lead nowhere.
	systemPath = "PATH=/usr/local/bin:/usr/bin:/bin\n"
)

// TestLearnPrograms has programs learned from, and then run under what was drafted: in the
// same checkout they do the same, and under the draft nothing is denied.
func TestLearnPrograms(t *testing.T) {
	for _, c := range []struct {
		name, program, setup, script, lacks string
		once                                bool // another run in the same checkout does something else
	}{
		{name: "sh reads", script: `cat README "$DATA/in.csv"`, setup: "echo hi >README", lacks: "write"},
		{once: true, name: "sh writes below", script: `mkdir build/d; echo x >build/d/x; mv build/d/x build/y; ln build/y build/z; rm build/y; cat build/z`, setup: "mkdir build; echo >README", lacks: `["default"]`},
		{once: true, name: "sh writes at the top", script: `echo x >out; cat out; mkdir -p a b; echo y >a/f; mv a/f b/g; cat b/g`},
		{name: "sh executes what it makes", script: `printf '#!/bin/sh\necho made\n' >bin/tool; chmod +x bin/tool; ./bin/tool`, setup: "mkdir bin"},
		{name: "a script", script: `exec ./run.sh`, setup: "printf '#!/bin/sh\\necho run\\n' >run.sh; chmod +x run.sh", lacks: "write"},
		{name: "python", program: "python3", script: `python3 -c 'import json, sqlite3, subprocess; open("log/x", "w").write("1"); print(subprocess.check_output(["cat", "log/x"]))'`, setup: "mkdir log"},
		{name: "node", program: "node", script: `node -e 'require("fs").writeFileSync("log/x", "1"); console.log(require("./m"))'`, setup: "mkdir log; echo 'module.exports = 42' >m.js"},
		{once: true, name: "git", program: "git", script: learnGit + `echo 1 >f; git add f; git commit -qm second; git log --format='%H %s'; git status --short`, setup: learnGit + "git init -q -b main; git commit -qm first --allow-empty"},
		{once: true, name: "make", program: "make", script: `make -s && ./build/out`, setup: `mkdir build; printf 'build/out: in\n\tprintf "\\043!/bin/sh\\necho built\\n" >$@.tmp.$$$$; chmod +x $@.tmp.*; mv $@.tmp.* $@\n' >Makefile; echo >in`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.program != "" {
				needs.Program(t, c.program)
			}
			inBoth(t, func(t *testing.T, isolation string) {
				w := newLearnWorld(t, c.setup)
				command := []string{"--", "/bin/sh", "-euc", systemPath + c.script}
				learned := append([]string{"learn", "-o", w.file, "--isolation", isolation, "--ro", w.dir + "/data", "--env", "DATA=" + w.dir + "/data"}, command...)
				if c.once {
					learned = slices.Insert(learned, 1, "--no-verify")
				}
				out, errs, status := w.brainbox(t, learned...)
				if status != 0 {
					t.Fatalf("learn: status %d\n%s", status, errs)
				}
				text := w.text(t)
				if c.lacks != "" && strings.Contains(active(text), c.lacks) {
					t.Errorf("the draft has %q:\n%s", c.lacks, text)
				}
				if first, second := out[:len(out)/2], out[len(out)/2:]; !c.once {
					if first == "" || first != second || !strings.Contains(errs, "nothing was denied") {
						t.Errorf("verified: %q, then %q\n%s%s", first, second, errs, text)
					}
					return
				}
				w.fresh(t)
				again, errs, status := w.brainbox(t, append([]string{"run", "-q", "--policy", w.file}, command...)...)
				if status != 0 || again != out || out == "" {
					t.Errorf("under the draft: status %d, %q, and not %q\n%s%s", status, again, out, errs, text)
				}
			})
		})
	}
}
