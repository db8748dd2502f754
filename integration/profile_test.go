package integration

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"brainbox/policy"
)

// TestProfilesFromTheRefusedSide asks every profile for what none may give: files outside,
// hosts, sockets.
func TestProfilesFromTheRefusedSide(t *testing.T) {
	for _, name := range policy.BuiltinNames() {
		if name == "default" {
			continue // the whole matrix is about it
		}
		t.Run(name, func(t *testing.T) {
			rows := slices.Concat(outsideRows(), tcpRows(), ownNetwork(packetRows()), pathRows())
			real, control := runRows(t, rows, "--profile", name)
			if got := real.net.got.Load(); got != 0 {
				t.Errorf("%d connections or messages arrived outside", got)
			}
			waitFor(t, "what the controls sent", func() bool { return control.net.got.Load() >= 12 })
		})
	}
}

// outsideRows are attempts to read and to write in a folder that no profile names. Those
// that first make something in the working directory are left out: not all can write there.
func outsideRows() []row {
	return slices.DeleteFunc(slices.Concat(readRows(), writeRows()), func(r row) bool {
		return r.inside != "" || !strings.Contains(r.attempt, "{O}") || strings.Contains(r.attempt, "{W}")
	})
}

// TestProfileWords: check and policy show say what a profile is made of, and an unknown
// name is answered with the known ones.
func TestProfileWords(t *testing.T) {
	kernel(t)
	dir := t.TempDir()
	brainbox := func(args ...string) result { return run(t, dir, exec.Command(program("brainbox"), args...)) }
	for _, name := range policy.BuiltinNames() {
		shown := brainbox("policy", "show", "--profile", name)
		if shown.status != 0 || !strings.Contains(shown.out, "# profile "+name) || !strings.Contains(shown.out, "mode = \"none\"") {
			t.Errorf("policy show --profile %s: %d\n%s\n%s", name, shown.status, shown.out, shown.err)
		}
		checked := brainbox("check", "--isolation", isolation, "--profile", name)
		open := strings.Contains(checked.out, "ptrace is open inside the domain")
		if checked.status != 0 || open != (name == "debug") {
			t.Errorf("check --profile %s: %d\n%s\n%s", name, checked.status, checked.out, checked.err)
		}
	}
	got := brainbox("run", "--profile", "nod", "--", "true")
	if got.status == 0 || !strings.Contains(got.err, `unknown profile "nod"`) {
		t.Errorf("an unknown profile: %d\n%s", got.status, got.err)
	}
	for _, name := range policy.BuiltinNames() {
		if !strings.Contains(got.err, `"`+name+`"`) {
			t.Errorf("the error does not name %s:\n%s", name, got.err)
		}
	}
}

// TestProfileVariables: a profile hands on the variables of its ecosystem that steer no
// other code, and none that is a secret or leads elsewhere.
func TestProfileVariables(t *testing.T) {
	kernel(t)
	caller := []string{
		"FORCE_COLOR=v", "NODE_ENV=v", "PYTHONUNBUFFERED=v", "PYTHONHASHSEED=0", "GOARCH=v", "CGO_ENABLED=v", "GOPRIVATE=v",
		"RUST_BACKTRACE=v", "RUST_LOG=v",
	}
	bad := []string{
		"NODE_OPTIONS=bad", "NODE_AUTH_TOKEN=bad", "NPM_TOKEN=bad", "npm_config__authToken=bad", "PYTHONPATH=bad", "PYTHONSTARTUP=bad",
		"PIP_INDEX_URL=bad", "GOFLAGS=bad", "GOPROXY=bad", "RUSTFLAGS=bad", "CARGO_REGISTRY_TOKEN=bad", "LD_PRELOAD=bad", "GITHUB_TOKEN=bad",
	}
	want := map[string]string{
		"node": "FORCE_COLOR NODE_ENV", "python": "PYTHONHASHSEED PYTHONUNBUFFERED",
		"go": "CGO_ENABLED GOARCH GOPRIVATE", "rust": "RUST_BACKTRACE RUST_LOG",
	}
	for _, name := range policy.BuiltinNames() {
		cmd := exec.Command(program("brainbox"), "run", "--isolation", isolation, "--profile", name, "--", "env")
		cmd.Env = environ(t, slices.Concat(caller, bad)...)
		r := run(t, t.TempDir(), cmd)
		var got []string
		for line := range strings.Lines(r.out) {
			line = strings.TrimSpace(line)
			if slices.Contains(caller, line) {
				variable, _, _ := strings.Cut(line, "=")
				got = append(got, variable)
			}
			if slices.Contains(bad, line) {
				t.Errorf("%s: %s is handed on", name, line)
			}
		}
		slices.Sort(got)
		if r.status != 0 || strings.Join(got, " ") != want[name] {
			t.Errorf("%s: %d, handed on %q, want %q\n%s", name, r.status, got, want[name], r.err)
		}
	}
}
