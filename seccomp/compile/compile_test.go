//go:build cgo

package compile

import (
	"encoding/json"
	"runtime"
	"slices"
	"testing"

	"brainbox/seccomp"
	"brainbox/seccomp/profile"
	"brainbox/seccomp/tree"

	moby "github.com/moby/profiles/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
)

// TestLibseccompDecidesAsTheSearchTree compiles the default profile of every
// option with libseccomp and compares its verdicts with the checked-in program.
func TestLibseccompDecidesAsTheSearchTree(t *testing.T) {
	native := runtime.GOARCH
	seen := map[string]bool{}
	for _, o := range seccomp.AllOptions() {
		oci, err := profile.For(native, o)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(oci)
		if err != nil {
			t.Fatal(err)
		}
		if seen[string(text)] {
			continue // Listen, for one, changes nothing without a network
		}
		seen[string(text)] = true
		r, err := Compile(logged(oci))
		if err != nil {
			t.Fatalf("%+v: %v", o, err)
		}
		if len(r.Dropped) != 0 {
			t.Errorf("%+v: dropped %v: the default profile holds native names only", o, r.Dropped)
		}
		p, err := seccomp.Default(o)
		if err != nil {
			t.Fatal(err)
		}
		policy, err := tree.Resolve(oci, native)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		tree.Inputs(policy, 60, func(d seccomp.Data) {
			n++
			want := r.Program.Eval(d)
			if want == seccomp.Log {
				want = seccomp.Notify
			}
			if got := p.Eval(d); got != want {
				t.Fatalf("%+v: the tree says %v for %+v, libseccomp %s says %v", o, got, d, r.Library, want)
			}
		})
		if n < 3000 {
			t.Fatalf("only %d inputs", n)
		}
	}
	if len(seen) < 64 {
		t.Errorf("only %d different profiles", len(seen))
	}
}

// logged puts log, which no default profile asks for, in the place of notify, which
// Compile takes from nobody.
func logged(p *specs.LinuxSeccomp) *specs.LinuxSeccomp {
	other := *p
	other.Syscalls = slices.Clone(p.Syscalls)
	for i := range other.Syscalls {
		if other.Syscalls[i].Action == specs.ActNotify {
			other.Syscalls[i].Action = specs.ActLog
		}
	}
	return &other
}

// result compiles a profile that must compile.
func result(t *testing.T, text string) Result {
	t.Helper()
	r, err := Compile(parse(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCompile(t *testing.T) {
	r := result(t, `{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[
		{"names":["setxattrat"],"action":"SCMP_ACT_ERRNO","errnoRet":95},
		{"names":["ptrace"],"action":"SCMP_ACT_KILL"},
		{"names":["bpf"],"action":"SCMP_ACT_KILL_PROCESS"},
		{"names":["vhangup"],"action":"SCMP_ACT_TRAP"},
		{"names":["acct"],"action":"SCMP_ACT_LOG"},
		{"names":["kill"],"action":"SCMP_ACT_ERRNO","args":[{"index":1,"value":9,"op":"SCMP_CMP_EQ"}]},
		{"names":["socket"],"action":"SCMP_ACT_ERRNO",
			"args":[{"index":0,"value":4294967295,"valueTwo":38,"op":"SCMP_CMP_MASKED_EQ"}]}]}`)
	tests := []struct {
		name string
		args [6]uint64
		want seccomp.Action
	}{
		{"setxattrat", [6]uint64{}, seccomp.Errno(95)}, // not in libseccomp 2.5.4
		{"ptrace", [6]uint64{}, seccomp.KillThread},
		{"bpf", [6]uint64{}, seccomp.KillProcess},
		{"vhangup", [6]uint64{}, seccomp.Trap},
		{"acct", [6]uint64{}, seccomp.Log},
		{"kill", [6]uint64{1, 9}, seccomp.Errno(1)},
		{"kill", [6]uint64{9, 15}, seccomp.Allow},
		{"socket", [6]uint64{38 | 1<<32}, seccomp.Errno(1)},
		{"socket", [6]uint64{37}, seccomp.Allow},
		{"read", [6]uint64{}, seccomp.Allow},
	}
	arch, err := seccomp.AuditArch(runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		nr, ok := seccomp.Number(runtime.GOARCH, tt.name)
		if !ok {
			t.Fatalf("no number for %s", tt.name)
		}
		if got := r.Program.Eval(seccomp.Data{Nr: nr, Arch: arch, Args: tt.args}); got != tt.want {
			t.Errorf("%s%v = %v, want %v", tt.name, tt.args, got, tt.want)
		}
	}
	for _, d := range []seccomp.Data{{Nr: 0, Arch: arch ^ 1}, {Nr: 0x40000000, Arch: arch}} {
		if got := r.Program.Eval(d); got != seccomp.KillProcess {
			t.Errorf("%+v = %v, want kill process though the default is allow", d, got)
		}
	}
}

func TestCompileRefusesWhatThePlanRefuses(t *testing.T) {
	_, err := Compile(parse(t, `{"defaultAction":"SCMP_ACT_NOTIFY"}`))
	if err == nil || err.Error() != "compile: this profile can not be honoured: defaultAction: "+
		"SCMP_ACT_NOTIFY needs a listener" {
		t.Errorf("Compile = %v", err)
	}
}

// dockerProfile returns what docker gives a container without capabilities, for
// the native architecture only.
func dockerProfile(t testing.TB) *specs.LinuxSeccomp {
	t.Helper()
	caps := &specs.LinuxCapabilities{Bounding: []string{}}
	docker, err := moby.GetDefaultProfile(&specs.Spec{Process: &specs.Process{Capabilities: caps}})
	if err != nil {
		t.Fatal(err)
	}
	docker.Architectures = []specs.Arch{archName(runtime.GOARCH)}
	return docker
}

// TestCompileTakesDockersProfile is the file that most users start from.
func TestCompileTakesDockersProfile(t *testing.T) {
	docker := dockerProfile(t)
	docker.Architectures = append(docker.Architectures, specs.ArchX86)
	if _, err := Compile(docker); err == nil {
		t.Error("Compile took a list of architectures, of which it honours one")
	}
	docker = dockerProfile(t)
	r, err := Compile(docker)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(r.Dropped, "chown32") {
		t.Errorf("dropped %v, want chown32 among them", r.Dropped)
	}
	for name, want := range map[string]string{
		"read": "allow", "mount": "errno EPERM", "mseal": "allow", "socket": "depends on arguments: allow, errno EPERM",
	} {
		if v, err := seccomp.Explain(r.Program, name); err != nil || v.String() != want {
			t.Errorf("Explain(%s) = %v, %v, want %s", name, v, err, want)
		}
	}
}
