package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEarlyStartsFirst: only the runtime, and a package that reads one number, start before
// the package that shuts the environment out.
func TestEarlyStartsFirst(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^$")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, m := range regexp.MustCompile(`(?m)^init (\S+) @`).FindAllStringSubmatch(string(out), -1) {
		switch name := m[1]; {
		case name == "brainbox/internal/setuid/early/quoted":
			return
		case name == "runtime", strings.HasPrefix(name, "internal/"), strings.HasPrefix(name, "runtime/"),
			name == "brainbox/internal/nofile", name == "brainbox/internal/setuid/early":
		default:
			t.Errorf("%s starts before", name)
		}
	}
	t.Errorf("package quoted does not start in %s", out)
}

// TestInstallationIsNeverSetuid: only an administrator sets the bit, by a command of his own.
func TestInstallationIsNeverSetuid(t *testing.T) {
	install, err := filepath.Abs("../../hack/install")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	names := []string{"brainbox", "brainbox-exec", "brainbox-kill", "brainbox-host", "brainbox-mcp", "brainbox-seccomp"}
	for _, name := range names {
		file := filepath.Join(dir, "bin", name)
		// With the bit already: what is built must not bring it along.
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte("x"), 0o755), os.Chmod(file, 0o755|os.ModeSetuid|os.ModeSetgid)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), install, dir+"/bin", dir+"/to", "/usr")
	cmd.Dir = "../.." // the manual pages and documents
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	programs := 0
	err = filepath.WalkDir(dir+"/to", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
			t.Errorf("%s is installed with mode %v", path, info.Mode())
		}
		if err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			programs++
		}
		return err
	})
	if err != nil || programs != len(names) {
		t.Errorf("%d programs are installed, want %d; %v", programs, len(names), err)
	}
	bit := regexp.MustCompile(`chmod\s+\S*(\+s|[24-7][0-7]{3})|-m\s*0?[24-7][0-7]{3}|setcap`)
	for _, name := range []string{"../../Makefile", "../../hack/install"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if found := bit.Find(text); found != nil {
			t.Errorf("%s has %q", name, found)
		}
	}
	for _, positive := range []string{"chmod u+s x", "chmod 4750 x", "install -m 4755 x"} {
		if !bit.MatchString(positive) {
			t.Errorf("%q is not found", positive)
		}
	}
}
