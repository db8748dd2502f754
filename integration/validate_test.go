package integration

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	moby "github.com/moby/profiles/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
)

// validation is what policy validate --json prints, as far as it is looked at.
type validation struct {
	Valid   bool
	Errors  []string
	Profile *struct {
		File, Form, Judged string
		Findings           []struct{ Rule, Severity, Place string }
		Wider              []struct{ Call string }
	}
}

// validated runs policy validate on a file and returns its answer and its status.
func validated(t *testing.T, file string) (v validation, status int) {
	t.Helper()
	cmd := exec.Command(filepath.Join(bin, "brainbox"), "policy", "validate", "--json", file)
	out, err := cmd.Output()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &v); err != nil {
		t.Fatalf("%s: %v: %s", file, err, out)
	}
	return v, cmd.ProcessState.ExitCode()
}

// rules returns the rules of one severity.
func (v validation) rules(severity string) (list []string) {
	for _, f := range v.Profile.Findings {
		if f.Severity == severity {
			list = append(list, f.Rule)
		}
	}
	return list
}

// TestValidateJudgesProfiles has the real helper, confined, judge profiles, alone and as a
// policy names them.
func TestValidateJudgesProfiles(t *testing.T) {
	kernel(t)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	text, err := json.Marshal(moby.DefaultProfile())
	must(t, err)
	if v, status := validated(t, write("docker.json", string(text))); status != 125 || v.Valid || v.Profile.Form != "docker" ||
		v.Profile.Judged != "runtime" || !slices.Contains(v.rules("error"), "docker-form") || !slices.Contains(v.rules("error"), "arch-x32") {
		t.Errorf("docker's profile: status %d, %+v", status, v)
	}

	own, err := exec.Command(filepath.Join(bin, "brainbox"), "policy", "export", "--to", "seccomp", "--isolation", "landlock").Output()
	must(t, err)
	profile := write("own.json", string(own))
	v, status := validated(t, profile)
	if status != 0 || !v.Valid || v.Profile.Judged != "brainbox" || len(v.rules("error"))+len(v.rules("warning")) != 0 || len(v.Profile.Wider) != 0 {
		t.Errorf("the own profile: status %d, %+v", status, v)
	}

	// One call more is an error; and so it is in the policy that names the profile.
	for _, c := range []struct {
		text   string
		status int
	}{{string(own), 0}, {withUring(t, own), 125}} {
		path := write("profile.json", c.text)
		policy := write("policy.toml", "version = 1\nextends = [\"default\"]\n[process]\nseccomp = \""+path+"\"\n")
		v, status := validated(t, policy)
		if status != c.status || v.Valid != (status == 0) || len(v.Errors) != 0 || v.Profile == nil || v.Profile.File != path {
			t.Errorf("a policy with a profile: status %d, want %d: %+v", status, c.status, v)
		}
		if (c.status == 125) != slices.Equal(v.rules("error"), []string{"io-uring"}) {
			t.Errorf("errors %q", v.rules("error"))
		}
	}
}

// withUring is a profile that allows one call of io_uring too.
func withUring(t *testing.T, text []byte) string {
	t.Helper()
	var p specs.LinuxSeccomp
	must(t, json.Unmarshal(text, &p))
	const call = "io_uring_enter"
	for i := range p.Syscalls {
		p.Syscalls[i].Names = slices.DeleteFunc(p.Syscalls[i].Names, func(name string) bool { return name == call })
	}
	p.Syscalls = append(p.Syscalls, specs.LinuxSyscall{Names: []string{call}, Action: specs.ActAllow})
	out, err := json.Marshal(p)
	must(t, err)
	return string(out)
}
