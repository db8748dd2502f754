package compile

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"brainbox/seccomp"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/runtime-spec/specs-go"
)

func parse(t testing.TB, text string) *specs.LinuxSeccomp {
	t.Helper()
	var p specs.LinuxSeccomp
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	return &p
}

// libraryKnows stands for libseccomp's table of names.
func libraryKnows(name string) bool { return name == "socketcall" }

// refusal is a profile and the field that the error names.
type refusal struct{ name, profile, field string }

func refusals() []refusal {
	rule := func(r string) string { return `{"defaultAction":"SCMP_ACT_ERRNO","syscalls":[` + r + `]}` }
	return []refusal{
		{"no default action", `{}`, "defaultAction"},
		{"an unknown default action", `{"defaultAction":"ALLOW"}`, "defaultAction"},
		{"notify", `{"defaultAction":"SCMP_ACT_NOTIFY"}`, "defaultAction"},
		{"trace", rule(`{"names":["read"],"action":"SCMP_ACT_TRACE"}`), "syscalls[0].action"},
		{"an errno for allow", rule(`{"names":["read"],"action":"SCMP_ACT_ALLOW","errnoRet":1}`), "syscalls[0].errnoRet"},
		{"errno 0", `{"defaultAction":"SCMP_ACT_ERRNO","defaultErrnoRet":0}`, "defaultErrnoRet"},
		{"errno 4096", `{"defaultAction":"SCMP_ACT_ERRNO","defaultErrnoRet":4096}`, "defaultErrnoRet"},
		{"a listener", `{"defaultAction":"SCMP_ACT_ERRNO","listenerPath":"/x"}`, "listenerPath"},
		{"listener data", `{"defaultAction":"SCMP_ACT_ERRNO","listenerMetadata":"x"}`, "listenerMetadata"},
		{
			"a flag", `{"defaultAction":"SCMP_ACT_ERRNO","flags":["SECCOMP_FILTER_FLAG_LOG"]}`, "flags[0]",
		},
		{
			"another architecture",
			`{"defaultAction":"SCMP_ACT_ERRNO","architectures":["SCMP_ARCH_X86_64","SCMP_ARCH_X86"]}`, "architectures[1]",
		},
		{"no names", rule(`{"names":[],"action":"SCMP_ACT_ALLOW"}`), "syscalls[0].names"},
		{
			"an unknown name in a deny list",
			`{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"names":["reed"],"action":"SCMP_ACT_ERRNO"}]}`,
			"syscalls[0].names",
		},
		{
			"argument 6", rule(`{"names":["read"],"action":"SCMP_ACT_ALLOW","args":[{"index":6,"value":1,"op":"SCMP_CMP_EQ"}]}`),
			"syscalls[0].args[0].index",
		},
		{
			"two conditions on one argument",
			rule(`{"names":["read"],"action":"SCMP_ACT_ALLOW","args":[{"index":0,"value":1,"op":"SCMP_CMP_GE"},` +
				`{"index":0,"value":5,"op":"SCMP_CMP_LE"}]}`), "syscalls[0].args[1].index",
		},
		{
			"an unknown operator",
			rule(`{"names":["read"],"action":"SCMP_ACT_ALLOW","args":[{"index":0,"value":1,"op":"EQ"}]}`),
			"syscalls[0].args[0].op",
		},
		{
			"a second value for EQ",
			rule(`{"names":["read"],"action":"SCMP_ACT_ALLOW","args":[{"index":0,"value":1,"valueTwo":1,"op":"SCMP_CMP_EQ"}]}`),
			"syscalls[0].args[0].valueTwo",
		},
		{
			"a mask that never leaves the value",
			rule(`{"names":["read"],"action":"SCMP_ACT_ALLOW","args":[{"index":0,"value":1,"valueTwo":2,` +
				`"op":"SCMP_CMP_MASKED_EQ"}]}`), "syscalls[0].args[0]",
		},
		{
			"a narrow rule of the default action behind a wide one",
			rule(`{"names":["socket"],"action":"SCMP_ACT_ALLOW"},{"names":["socket"],"action":"SCMP_ACT_ERRNO",` +
				`"args":[{"index":0,"value":38,"op":"SCMP_CMP_EQ"}]}`), "syscalls[1]",
		},
		{
			"two errors for one call",
			rule(`{"names":["read"],"action":"SCMP_ACT_ERRNO","errnoRet":2},` +
				`{"names":["write","read"],"action":"SCMP_ACT_ERRNO","errnoRet":3}`), "syscalls[1]",
		},
	}
}

func TestPlanRefuses(t *testing.T) {
	for _, tt := range refusals() {
		t.Run(tt.name, func(t *testing.T) {
			_, err := plan(parse(t, tt.profile), "amd64", libraryKnows)
			if !errors.Is(err, ErrProfile) || !strings.Contains(err.Error(), ": "+tt.field+": ") {
				t.Errorf("plan = %v, want ErrProfile that names %s", err, tt.field)
			}
		})
	}
	if _, err := plan(parse(t, `{"defaultAction":"SCMP_ACT_ERRNO"}`), "riscv64", libraryKnows); !errors.Is(
		err, errors.ErrUnsupported) {
		t.Errorf("plan for riscv64 = %v, want ErrUnsupported", err)
	}
}

func TestPlanDropsNamesThatCanNotHappen(t *testing.T) {
	p, err := plan(parse(t, `{"defaultAction":"SCMP_ACT_ERRNO","defaultErrnoRet":38,"architectures":["SCMP_ARCH_X86_64"],
		"syscalls":[
		{"names":["read","chown32","socketcall","chown32","setxattrat"],"action":"SCMP_ACT_ALLOW"},
		{"names":["clone3"],"action":"SCMP_ACT_ERRNO","errnoRet":38}]}`), "amd64", libraryKnows)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"chown32", "socketcall"}, p.dropped); diff != "" {
		t.Error(diff)
	}
	var names []string
	for _, r := range p.rules {
		names = append(names, r.name)
	}
	// setxattrat is newer than libseccomp 2.5.4; clone3 gets the default action.
	if diff := cmp.Diff([]string{"read", "setxattrat"}, names); diff != "" {
		t.Error(diff)
	}
	if p.fallback != seccomp.Errno(38) {
		t.Errorf("default = %v, want ENOSYS", p.fallback)
	}
	deny := `{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"names":["socketcall","ptrace"],"action":"SCMP_ACT_ERRNO"}]}`
	p, err = plan(parse(t, deny), "amd64", libraryKnows)
	if err != nil || len(p.rules) != 1 || len(p.dropped) != 1 {
		t.Errorf("plan = %+v, %v; want socketcall dropped: it does not exist on amd64", p, err)
	}
}

func TestDisjoint(t *testing.T) {
	arg := func(index uint, op specs.LinuxSeccompOperator, v, two uint64) []specs.LinuxSeccompArg {
		return []specs.LinuxSeccompArg{{Index: index, Op: op, Value: v, ValueTwo: two}}
	}
	const (
		eq, ne, lt, le = specs.OpEqualTo, specs.OpNotEqual, specs.OpLessThan, specs.OpLessEqual
		ge, gt, masked = specs.OpGreaterEqual, specs.OpGreaterThan, specs.OpMaskedEqual
	)
	tests := []struct {
		name string
		a, b []specs.LinuxSeccompArg
		want bool
	}{
		{"no conditions", nil, nil, false},
		{"one side without conditions", arg(0, eq, 1, 0), nil, false},
		{"different arguments", arg(0, eq, 1, 0), arg(1, eq, 2, 0), false},
		{"the same value", arg(0, eq, 1, 0), arg(0, eq, 1, 0), false},
		{"different values", arg(0, eq, 1, 0), arg(0, eq, 2, 0), true},
		{"a value and all others", arg(0, eq, 1, 0), arg(0, ne, 1, 0), true},
		{"a value and all but another", arg(0, eq, 1, 0), arg(0, ne, 2, 0), false},
		{"ranges that meet", arg(0, le, 3, 0), arg(0, ge, 3, 0), false},
		{"ranges that do not", arg(0, lt, 3, 0), arg(0, ge, 3, 0), true},
		{"ranges with a gap", arg(0, le, 3, 0), arg(0, gt, 3, 0), true},
		{"a bit set and clear", arg(0, masked, 4, 4), arg(0, masked, 6, 0), true},
		{"different bits", arg(0, masked, 4, 4), arg(0, masked, 2, 0), false},
		{"a value and its mask", arg(0, eq, 5, 0), arg(0, masked, 4, 0), true},
		{"a range and a mask, which is not looked into", arg(0, lt, 4, 0), arg(0, masked, 4, 4), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := disjoint(tt.a, tt.b); got != tt.want {
				t.Errorf("disjoint = %v, want %v", got, tt.want)
			}
			if got := disjoint(tt.b, tt.a); got != tt.want {
				t.Errorf("disjoint, turned round = %v, want %v", got, tt.want)
			}
		})
	}
}

func FuzzDisjoint(f *testing.F) {
	ops := []specs.LinuxSeccompOperator{
		specs.OpEqualTo, specs.OpNotEqual, specs.OpLessThan, specs.OpLessEqual,
		specs.OpGreaterEqual, specs.OpGreaterThan, specs.OpMaskedEqual,
	}
	f.Add(uint8(0), uint8(6), uint64(5), uint64(4), uint64(4), uint64(5))
	f.Add(uint8(2), uint8(4), uint64(0), uint64(0), uint64(3), uint64(3))
	f.Fuzz(func(t *testing.T, op1, op2 uint8, v1, v2, two, value uint64) {
		a := specs.LinuxSeccompArg{Op: ops[int(op1)%len(ops)], Value: v1, ValueTwo: two & v1}
		b := specs.LinuxSeccompArg{Op: ops[int(op2)%len(ops)], Value: v2, ValueTwo: two & v2}
		apart := disjoint([]specs.LinuxSeccompArg{a}, []specs.LinuxSeccompArg{b})
		for _, v := range [...]uint64{value, v1, v2, v1 - 1, v1 + 1, v2 - 1, v2 + 1, 0, 1<<64 - 1, a.ValueTwo, b.ValueTwo} {
			if apart && holds(a, v) && holds(b, v) {
				t.Fatalf("%+v and %+v both hold for %#x", a, b, v)
			}
		}
	})
}
