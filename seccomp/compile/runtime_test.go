//go:build cgo

package compile

import (
	"runtime"
	"testing"

	"brainbox/seccomp"

	"github.com/opencontainers/runtime-spec/specs-go"
)

func TestRuntimeTakesWhatCompileRefuses(t *testing.T) {
	arch, err := seccomp.AuditArch(runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	const profile = `{"defaultAction":"SCMP_ACT_ERRNO","architectures":["%"],"syscalls":[
		{"names":["read"],"action":"SCMP_ACT_NOTIFY"},
		{"names":["acct","noSuchCall"],"action":"SCMP_ACT_TRACE"},
		{"names":["kill"],"action":"SCMP_ACT_ALLOW","args":[{"index":1,"value":3,"op":"SCMP_CMP_EQ"},{"index":1,"value":9,"op":"SCMP_CMP_EQ"}]},
		{"names":["vhangup"],"action":"SCMP_ACT_ERRNO","errnoRet":0}]}`
	p := parse(t, profile)
	p.Architectures[0] = archName(runtime.GOARCH)
	if _, err := Compile(p); err == nil {
		t.Error("Compile took it")
	}
	got, err := Runtime(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		args [6]uint64
		want seccomp.Action
	}{
		{"read", [6]uint64{}, seccomp.Notify},
		{"acct", [6]uint64{}, seccomp.Trace | 1},
		{"kill", [6]uint64{1, 9}, seccomp.Allow},
		{"kill", [6]uint64{1, 3}, seccomp.Allow},
		{"kill", [6]uint64{1, 4}, seccomp.Errno(1)},
		{"vhangup", [6]uint64{}, seccomp.Errno(0)},
		{"write", [6]uint64{}, seccomp.Errno(1)},
	} {
		nr, _ := seccomp.Number(runtime.GOARCH, tt.name)
		if a := got.Eval(seccomp.Data{Nr: nr, Arch: arch, Args: tt.args}); a != tt.want {
			t.Errorf("%s%v = %v, want %v", tt.name, tt.args, a, tt.want)
		}
	}
	if runtime.GOARCH != "amd64" {
		return
	}
	const read32, audit386 = 3, 0x40000003
	if a := got.Eval(seccomp.Data{Nr: read32, Arch: audit386}); a.Runs() {
		t.Errorf("read of i386 = %v though it is not listed", a)
	}
	p.Architectures = append(p.Architectures, specs.ArchX86)
	if got, err = Runtime(p); err != nil {
		t.Fatal(err)
	}
	if a := got.Eval(seccomp.Data{Nr: read32, Arch: audit386}); a != seccomp.Notify {
		t.Errorf("read of i386 = %v, want notify", a)
	}
}

func TestRuntimeRefusesWhatNobodyKnows(t *testing.T) {
	for _, text := range []string{
		`{}`, `{"defaultAction":"SCMP_ACT_ALLOW","architectures":["SCMP_ARCH_VAX"]}`,
		`{"defaultAction":"SCMP_ACT_ERRNO","syscalls":[{"names":["read"],"action":"SCMP_ACT_ALLOW","args":[{"index":7,"op":"SCMP_CMP_EQ"}]}]}`,
	} {
		if _, err := Runtime(parse(t, text)); err == nil {
			t.Errorf("Runtime took %s", text)
		}
	}
}
