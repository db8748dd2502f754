package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"brainbox/internal/needs"
)

// build makes host and agent, as they are shipped, in a folder of their own: its path tells
// their processes from all others.
func build(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", dir+"/", ".", "./agent")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return dir
}

// isolations runs f in both, as far as this machine has them, and once more where no socket
// can be shown to the agent: the names of all of them are too long for one.
func isolations(t *testing.T, f func(t *testing.T, isolation string)) {
	t.Setenv("XDG_RUNTIME_DIR", "")
	t.Run("landlock", func(t *testing.T) {
		needs.LandlockABI(t, 1)
		needs.Seccomp(t)
		f(t, "landlock")
	})
	t.Run("namespaces", func(t *testing.T) {
		needs.LandlockABI(t, 1)
		needs.Seccomp(t)
		needs.Userns(t)
		f(t, "namespaces")
	})
	t.Run("inherited", func(t *testing.T) {
		needs.LandlockABI(t, 1)
		needs.Seccomp(t)
		long := t.TempDir() + "/" + strings.Repeat("long", 25)
		if err := os.Mkdir(long, 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("TMPDIR", long)
		f(t, "landlock")
	})
}

// before is the project that the agent is let at.
var before = map[string]string{
	"docs/greeting.md": "# GREETING\n",
	"docs/other.md":    "as it is\n",
	".git/HEAD":        "ref: refs/heads/main\n",
	"run.sh":           "#!/bin/sh\n",
}

func newProject(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := errors.Join(fill(dir), os.Mkdir(dir+"/.git/hooks", 0o755)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func fill(dir string) (err error) {
	for name, text := range before {
		path := filepath.Join(dir, name)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644))
	}
	return err
}

// tree is every file there is, and what is in it.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all[strings.TrimPrefix(path, dir+"/")] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// backend runs the host and tells its status, and what it and the agent said.
func backend(t *testing.T, bin string, args ...string) (status int, said string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), bin+"/backend", args...)
	cmd.Dir = t.TempDir()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

// left are the processes whose command line has the folder of the programs in it.
func left(t *testing.T, bin string) (all []string) {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(names) == 0 {
		t.Fatalf("no processes: %v", err)
	}
	for _, name := range names {
		if text, err := os.ReadFile(name); err == nil && bytes.Contains(text, []byte(bin+"/")) {
			all = append(all, name+": "+strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	return all
}

// readReceipt reads what the host wrote, and nothing that is no entry.
func readReceipt(t *testing.T, name string) (all []entry) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var e entry
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all = append(all, e)
	}
	return all
}

func sum(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:])
}
