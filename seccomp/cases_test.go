package seccomp

import (
	"slices"
	"testing"
)

func TestCases(t *testing.T) {
	const nr = 16
	narrow := Program{ // allow when the low half of argument 1 is 5 and the high one 0, else errno 1
		{opLdAbs, 0, 0, offArgs + 12},
		{classJmp | jmpEq, 0, 3, 0},
		{opLdAbs, 0, 0, offArgs + 8},
		{classJmp | jmpEq, 0, 1, 5},
		{opRetK, 0, 0, uint32(Allow)},
		{opRetK, 0, 0, uint32(Errno(1))},
	}
	wide := Program{ // allow when the low half of argument 0 is 7
		{opLdAbs, 0, 0, offArgs},
		{classJmp | jmpEq, 0, 1, 7},
		{opRetK, 0, 0, uint32(Allow)},
		{opRetK, 0, 0, uint32(Errno(1))},
	}
	seen := map[[2]Action]bool{}
	tried := 0
	try := func(d Data) {
		tried++
		seen[[2]Action{narrow.Eval(d), wide.Eval(d)}] = true
	}
	if !Cases(nr, auditAMD64, 1000, try, narrow, wide) || len(seen) != 4 {
		t.Errorf("%d cases show %v, want all four pairs", tried, seen)
	}
	if all := tried; Cases(nr, auditAMD64, all-1, try, narrow, wide) || tried != 2*all-1 {
		t.Errorf("%d cases tried, of at most %d", tried-all, all-1)
	}
	var looks []bool
	for arg := range 6 {
		looks = append(looks, narrow.Looks(nr, auditAMD64, arg), wide.Looks(nr, auditAMD64, arg))
	}
	if i := slices.Index(looks, true); i != 2 || slices.Contains(looks[3:], true) {
		t.Errorf("Looks = %v, want the first program at argument 1 only", looks)
	}
}
