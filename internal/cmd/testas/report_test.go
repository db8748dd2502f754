package main

import (
	"errors"
	"testing"
)

func TestDescribe(t *testing.T) {
	out := "noise\n" + marker + "=== RUN   TestA\n" + marker + "--- PASS: TestA (0.00s)\n" +
		marker + "=== RUN   TestB\n    b_test.go:4: needs: landlock:1: function not implemented\n" + marker + "--- SKIP: TestB (0.00s)\n" +
		marker + "=== RUN   TestC\n" + marker + "=== RUN   TestC/part\n    c_test.go:9: got 1\n    c_test.go:10: got 2\n" +
		marker + "--- FAIL: TestC (0.00s)\n    " + marker + "--- FAIL: TestC/part (0.00s)\n"
	const want = `
m/p
    passed 1, not run 1, failed 2
    not run  TestB: needs: landlock:1: function not implemented
    failed   TestC: 
    failed   TestC/part: got 1
`
	if got := describe("m/p", out, errors.New("exit status 1")); got != want {
		t.Errorf("describe = %q, want %q", got, want)
	}
	const crashed = "\nm/p\n    passed 1, not run 0, failed 0, and the test binary failed: exit status 2\n"
	if got := describe("m/p", marker+"--- PASS: TestA (0.00s)\npanic: x\n", errors.New("exit status 2")); got != crashed {
		t.Errorf("describe = %q, want %q", got, crashed)
	}
}
