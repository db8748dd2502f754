package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"brainbox/internal/needs"
	"brainbox/internal/spawn"
)

// TestEveryStepOfTheStartCanFail runs a build whose start fails where BRAINBOX_INJECT
// says: one line that names step and call, status 125, no process and no folder left.
func TestEveryStepOfTheStartCanFail(t *testing.T) {
	bin := injectable(t)
	root := os.Geteuid() == 0
	for _, step := range spawn.Steps() {
		if step == spawn.StepIdentity && !root {
			continue // only root becomes somebody else
		}
		t.Run(step.String(), func(t *testing.T) {
			status, stdout, stderr, left := startInjected(t, bin, step.String())
			want, line := 125, "brainbox: start: "+step.String()+": "
			if step == spawn.StepExec { // as a shell would say it
				want, line = 126, "brainbox: "
			}
			if step == spawn.StepSelfTest {
				line = "brainbox: start: self-test: "
			}
			if status != want || stdout != "" || !strings.HasPrefix(stderr, line) || !strings.Contains(stderr, "function not implemented") {
				t.Errorf("status %d, output %q, errors %q; want %d and %q", status, stdout, stderr, want, line)
			}
			if n := strings.Count(stderr, "\n"); n > 2 || n == 2 && !strings.Contains(stderr, "\nbrainbox: hint: ") {
				t.Errorf("more than a line and a hint: %q", stderr)
			}
			if len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
	// Positive control: the same build without an injection.
	if status, stdout, stderr, left := startInjected(t, bin, ""); status != 0 || !strings.HasPrefix(stdout, "RAN") || stderr != "" || len(left) > 0 {
		t.Errorf("without: status %d, output %q, errors %q, left %q", status, stdout, stderr, left)
	}
}

// injectable builds a brainbox that listens to BRAINBOX_INJECT.
func injectable(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "brainbox")
	build := exec.CommandContext(t.Context(), needs.Program(t, "go"), "build", "-tags", "urfave_cli_no_docs brainbox_inject", "-o", bin, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// esc/LA-10: isolation auto falls back where a step says "not offered here", and nowhere
// else; what was insisted on is refused.
func TestAutoFallsBackForWhatIsNotOffered(t *testing.T) {
	needs.Userns(t)
	bin := injectable(t)
	for _, step := range spawn.NamespaceSteps() {
		if step == spawn.StepCommand || step == spawn.StepHostname || step == spawn.StepNetwork {
			continue // no call of a list, or none that a run makes
		}
		// Every injected errno is ENOSYS: at the maps, at the first mount call and at the making of
		// the root, no such thing; at all others, something is wrong.
		offered := step != spawn.StepMaps && step != spawn.StepPrivate && step != spawn.StepRoot
		for _, insisted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%v", step, insisted), func(t *testing.T) {
				var flags []string
				if insisted {
					flags = []string{"--isolation", "namespaces"}
				}
				status, stdout, stderr, left := startInjected(t, bin, step.String(), append(flags, "-v")...)
				switch {
				case len(left) > 0:
					t.Errorf("left behind: %q", left)
				case offered || insisted:
					// The reaper's steps come when the command has been executed: it is ended by them.
					if status != 125 || stdout != "" && step != spawn.StepReaper || strings.Count(stderr, "\n") != 2 || !strings.Contains(stderr, step.String()+": ") ||
						!strings.Contains(stderr, "--isolation landlock needs no") {
						t.Errorf("status %d, output %q, errors %q; want a refusal that names %v", status, stdout, stderr, step)
					}
				case status != 0 || !strings.HasPrefix(stdout, "RAN") ||
					!strings.Contains(stderr, "brainbox: namespaces are not offered here ("+step.String()+": ENOSYS, by ") ||
					!strings.Contains(stderr, "\nbrainbox: isolation landlock, open: "):
					t.Errorf("status %d, output %q, errors %q; want a run in isolation landlock that says so", status, stdout, stderr)
				}
			})
		}
	}
	if status, stdout, stderr, left := startInjected(t, bin, "", "-v"); status != 0 || !strings.HasPrefix(stdout, "RAN") || stderr != "" || len(left) > 0 {
		t.Errorf("without: status %d, output %q, errors %q, left %q", status, stdout, stderr, left)
	}
}

// The build that is shipped does not listen to the variable.
func TestTheUsualBuildInjectsNothing(t *testing.T) {
	needs.LandlockABI(t, 1)
	exe := filepath.Join(t.TempDir(), "brainbox") // by its name the test binary is brainbox
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, exe)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range spawn.Steps() {
		if status, stdout, stderr, _ := startInjected(t, exe, step.String()); status != 0 || !strings.HasPrefix(stdout, "RAN") {
			t.Fatalf("%s: status %d, output %q, errors %q", step, status, stdout, stderr)
		}
	}
}

// startInjected runs a program with every part of a start: a session, limits, probes and,
// as root, an identity. It returns what is left: processes and folders.
func startInjected(t *testing.T, bin, step string, flags ...string) (status int, stdout, stderr string, left []string) {
	t.Helper()
	top := t.TempDir()
	if err := errors.Join(os.Chmod(filepath.Dir(top), 0o755), os.Chmod(top, 0o755), os.Mkdir(top+"/co", 0o777), os.Mkdir(top+"/tmp", 0o700)); err != nil {
		t.Fatal(err)
	}
	text := "version = 1\nextends = [\"default\"]\n[process]\nnofile = 99\n"
	if os.Geteuid() == 0 {
		if err := os.Chmod(top+"/tmp", 0o711); err != nil { // the identity must get through
			t.Fatal(err)
		}
		text += "[sandbox]\nidentity = { user = \"65534\", group = \"65534\" }\n"
	}
	if err := os.WriteFile(top+"/p.toml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if len(flags) == 0 {
		flags = []string{"--isolation", "landlock"}
	}
	args := append(append([]string{"run"}, flags...), "--policy", top+"/p.toml", "--", "/bin/echo", "RAN", top)
	cmd := exec.CommandContext(t.Context(), bin, args...)
	cmd.Dir = top + "/co"
	cmd.Env = []string{"PATH=/usr/bin:/bin", "TMPDIR=" + top + "/tmp", "BRAINBOX_INJECT=" + step}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal: the program gets a session
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var ee *exec.ExitError
	if err != nil && !errors.As(err, &ee) {
		t.Fatal(err)
	}
	folders, err := filepath.Glob(top + "/tmp/*/*")
	if err != nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String(), append(folders, naming(t, top)...)
}

// naming lists the processes whose arguments hold text.
func naming(t *testing.T, text string) (list []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && bytes.Contains(b, []byte(text)) {
			list = append(list, fmt.Sprintf("%s: %q", f, b))
		}
	}
	return list
}
