//go:build cgo

package lint

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"brainbox/seccomp"
	"brainbox/seccomp/profile"

	"github.com/google/go-cmp/cmp"
	moby "github.com/moby/profiles/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
)

var update = flag.Bool("update", false, "write the golden files")

// golden is a report as a golden file has it. What depends on the version of libseccomp is
// left out: its names, what a runtime that lacks them refuses, and numbers of calls.
func golden(r Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "form %q, judged %q\n", r.Form, r.Judged)
	for _, f := range r.Findings {
		if f.Rule == "name-library" {
			continue
		}
		message := f.Message
		if strings.HasPrefix(f.Rule, "arch-") {
			message = regexp.MustCompile(`\d+ of its`).ReplaceAllString(message, "N of its")
		}
		fmt.Fprintf(&b, "%s %s %s: %s\n", f.Severity, f.Rule, f.Place, message)
	}
	for _, c := range r.Wider {
		fmt.Fprintf(&b, "+ %s", c.Call)
		if c.Some {
			fmt.Fprintf(&b, "(%s)", c.Example)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// dockers is docker's profile as it is published.
func dockers(t *testing.T) []byte {
	t.Helper()
	out, err := json.Marshal(moby.DefaultProfile())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestGolden(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the files are of amd64") // gating: an architecture, not a machine
	}
	read := func(name string) []byte {
		raw, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	for name, raw := range map[string][]byte{
		"docker": dockers(t),
		"podman": read("podman.json"),
		"empty":  []byte(`{"defaultAction":"SCMP_ACT_ERRNO","defaultErrnoRet":38}`),
		"deny":   read("deny.json"),
	} {
		t.Run(name, func(t *testing.T) {
			got := golden(Lint(raw, env(t)))
			file := "testdata/" + name + ".golden"
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(read(name+".golden")), got); diff != "" {
				t.Errorf("-want +got; go test ./seccomp/lint -update:\n%s", diff)
			}
		})
	}
}

// TestOwnProfilesAreSound holds the default profile to the rules: as policy export --to
// seccomp prints it, it has no error, and no warning but for debuggers where they are asked
// for.
func TestOwnProfilesAreSound(t *testing.T) {
	e := env(t)
	list := []seccomp.Options{ // between them every rule of the default profile
		{},
		{Network: seccomp.NetPorts, UnixSockets: true, KeepsRoot: true, Debug: true},
		{Network: seccomp.NetHost, Listen: true, Namespaces: true},
	}
	for _, o := range list {
		p, err := profile.For(runtime.GOARCH, o)
		if err != nil {
			t.Fatal(err)
		}
		p.Architectures = []specs.Arch{native(runtime.GOARCH)}
		raw, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		r := Lint(raw, e)
		debug := 0
		for _, f := range r.Findings {
			switch {
			case f.Severity == Note:
			case o.Debug && (f.Rule == "ptrace" || f.Rule == "process-memory"):
				debug++
			default:
				t.Errorf("%+v: %+v", o, f)
			}
		}
		if o.Debug != (debug == 2) {
			t.Errorf("%+v: %d warnings for debuggers", o, debug)
		}
		if r.Judged != "brainbox" {
			t.Errorf("%+v: judged %q", o, r.Judged)
		}
		if o == (seccomp.Options{}) && len(r.Wider) != 0 {
			t.Errorf("%+v: wider than the widest: %+v", o, r.Wider)
		}
	}
}

func FuzzLint(f *testing.F) {
	all, err := seccomp.Decode([]byte{0x06, 0, 0, 0, 0, 0, 0xff, 0x7f}) // allow: a long one takes seconds
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range cases() {
		if len(c.fault) < 4096 {
			f.Add([]byte(c.fault))
		}
	}
	f.Add([]byte(`{"defaultAction":"\u001b[2J","syscalls":[{"names":["\u0000","\u001b"],"action":"\u0007"}],"\u001b":1}`))
	e := Env{
		Arch: runtime.GOARCH, Default: all, Known: func(string) bool { return false },
		Compile: func(*specs.LinuxSeccomp) (seccomp.Program, error) { return nil, os.ErrInvalid },
		Runtime: func(*specs.LinuxSeccomp) (seccomp.Program, error) { return all, nil },
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := Lint(raw, e)
		if !r.Failed() {
			t.Fatal("a profile that does not compile has no error")
		}
		for _, finding := range r.Findings {
			if ruleOf(finding.Rule).What == "" {
				t.Fatalf("no rule %q", finding.Rule)
			}
			for _, s := range []string{finding.Place, finding.Message} {
				if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
					t.Fatalf("%q can reach a terminal", s)
				}
			}
		}
	})
}
