package seccomp

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestInsnHasTheMemoryOfASockFilter(t *testing.T) {
	var in Insn
	var want unix.SockFilter
	if unsafe.Sizeof(in) != unsafe.Sizeof(want) || unsafe.Sizeof(in) != insnSize {
		t.Errorf("size of Insn = %d, want %d", unsafe.Sizeof(in), unsafe.Sizeof(want))
	}
	if unsafe.Offsetof(in.Jt) != unsafe.Offsetof(want.Jt) || unsafe.Offsetof(in.Jf) != unsafe.Offsetof(want.Jf) ||
		unsafe.Offsetof(in.K) != unsafe.Offsetof(want.K) {
		t.Error("the fields of Insn lie elsewhere than those of struct sock_filter")
	}
}

// ret is the shortest valid end of a program.
var ret = Insn{Code: opRetK, K: uint32(Allow)}

func TestValidate(t *testing.T) {
	long := make(Program, MaxInsns)
	for i := range long {
		long[i] = ret
	}
	tests := []struct {
		name string
		p    Program
		ok   bool
	}{
		{"nothing", nil, false},
		{"too long", append(long, ret), false},
		{"as long as may be", long, true},
		{"no return at the end", Program{{Code: opLdImm}}, false},
		{"a jump at the end", Program{ret, {Code: opJa}}, false},
		{"a return of the accumulator", Program{{Code: opRetA}}, true},
		{"a load of the last word", Program{{Code: opLdAbs, K: 60}, ret}, true},
		{"a load behind the structure", Program{{Code: opLdAbs, K: 64}, ret}, false},
		{"a load across words", Program{{Code: opLdAbs, K: 2}, ret}, false},
		{"a load of half a word", Program{{Code: 0x28}, ret}, false},
		{"a load of a byte", Program{{Code: 0x30}, ret}, false},
		{"an indirect load", Program{{Code: 0x40}, ret}, false},
		{"an IP header load", Program{{Code: 0xb1}, ret}, false},
		{"a remainder", Program{{Code: 0x94, K: 3}, ret}, false},
		{"an unknown jump", Program{{Code: 0xa5}, ret}, false},
		{"a code above 0xff", Program{{Code: 0x106}, ret}, false},
		{"a division by zero", Program{{Code: classAlu | aluDiv}, ret}, false},
		{"a division by X", Program{{Code: classAlu | aluDiv | srcX}, ret}, true},
		{"a shift of 32", Program{{Code: classAlu | aluLsh, K: 32}, ret}, false},
		{"a shift of 31", Program{{Code: classAlu | aluRsh, K: 31}, ret}, true},
		{"a jump behind the end", Program{{Code: opJa, K: 1}, ret}, false},
		{"a jump that wraps", Program{{Code: opJa, K: 1<<32 - 1}, ret}, false},
		{"a branch behind the end", Program{{Code: classJmp | jmpEq, Jt: 1}, ret}, false},
		{"a branch to the end", Program{{Code: classJmp | jmpEq, Jt: 1}, ret, ret}, true},
		{"a false branch behind the end", Program{{Code: classJmp | jmpGe, Jf: 2}, ret, ret}, false},
		{"scratch word 16", Program{{Code: opSt, K: 16}, ret}, false},
		{"a scratch word read first", Program{{Code: opLdMem, K: 3}, ret}, false},
		{"a scratch word written first", Program{{Code: opSt, K: 3}, {Code: opLdMem, K: 3}, ret}, true},
		{"a scratch word written on one path only", Program{
			{Code: classJmp | jmpEq, Jt: 1}, {Code: opStx, K: 0}, {Code: opLdxMem, K: 0}, ret,
		}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.p.Validate()
			if tt.ok != (err == nil) || err != nil && !errors.Is(err, ErrInvalid) {
				t.Errorf("Validate() = %v, want ok %v", err, tt.ok)
			}
		})
	}
}

func TestDecode(t *testing.T) {
	p := Program{{Code: opLdAbs, K: 4}, {Code: 0x15, Jt: 1, Jf: 0, K: 0xc000003e}, ret, {Code: opRetK, K: 0x80000000}}
	got, err := Decode(p.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, got); diff != "" {
		t.Error(diff)
	}
	want := []byte{0x20, 0, 0, 0, 4, 0, 0, 0, 0x15, 0, 1, 0, 0x3e, 0, 0, 0xc0}
	if diff := cmp.Diff(want, p.Bytes()[:16]); diff != "" {
		t.Errorf("the bytes are not struct sock_filter in little-endian form: %s", diff)
	}
	for name, b := range map[string][]byte{
		"nothing": {}, "half an instruction": p.Bytes()[:12], "a program without its end": p.Bytes()[:16],
		"too many": make([]byte, 8*(MaxInsns+1)),
	} {
		if _, err := Decode(b); !errors.Is(err, ErrInvalid) {
			t.Errorf("Decode(%s) = %v, want ErrInvalid", name, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, o := range []Options{{}, {Network: NetHost, KeepsRoot: true}} {
		p, err := Default(o)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(p.Bytes())
	}
	f.Add([]byte{6, 0, 0, 0, 0, 0, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Decode(b)
		if err != nil {
			return
		}
		if diff := cmp.Diff(b, p.Bytes()); diff != "" {
			t.Errorf("what was read is not what is written: %s", diff)
		}
		_ = p.String()
		_ = check(p, "amd64")
		_ = p.verdict(41, auditAMD64, 1000)
	})
}
