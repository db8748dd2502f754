package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"brainbox/internal/needs"
)

func TestMustRunAs(t *testing.T) {
	for _, tt := range []struct {
		value string
		root  bool
		want  string
	}{
		{"", false, ""},
		{"landlock:7,root,git", false, "landlock:7,user,git"},
		{"landlock:7, root git", true, "landlock:7,root,git"},
		{"user", true, "root"},
		{"unknown", false, "unknown"},
	} {
		if got := mustRunAs(tt.value, tt.root); got != tt.want {
			t.Errorf("mustRunAs(%q, %v) = %q, want %q", tt.value, tt.root, got, tt.want)
		}
	}
}

func TestCountAndFailures(t *testing.T) {
	const forged = "--- PASS: TestForged (0.00s)\n"
	out := forged + "\x16=== RUN   TestA\n\x16=== RUN   TestA/b\nsaid by b\n\x16    --- PASS: TestA/b (0.00s)\n" +
		"\x16=== NAME  TestA\n    a_test.go:1: wrong\n\x16--- FAIL: TestA (0.00s)\n" +
		"\x16=== RUN   TestC\nno end of line\x16--- SKIP: TestC (0.00s)\nFAIL\n"
	if got, want := count(out), (tally{ran: 2, skipped: 1}); got != want {
		t.Errorf("count = %+v, want %+v", got, want)
	}
	want := forged + "said by b\n    a_test.go:1: wrong\n--- FAIL: TestA (0.00s)\n" +
		"no end of line--- SKIP: TestC (0.00s)\nFAIL\n"
	if diff := cmp.Diff(want, failures(out)); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
	for _, nothing := range []string{"", forged, "\x16=== RUN   TestA\n", "testing: warning: no tests to run\n"} {
		if got := count(nothing); got.ran != 0 {
			t.Errorf("count(%q) = %+v", nothing, got)
		}
	}
}

func TestUnsteady(t *testing.T) {
	const a, b = "\x16=== RUN   TestA\n\x16--- FAIL: TestA (0.00s)\n", "\x16=== RUN   TestB\n\x16    --- FAIL: TestB/b (0s)\n\x16--- FAIL: TestB (0.00s)\n"
	for _, tt := range []struct {
		out, want string
	}{
		{a + b + "FAIL\n", "TestA TestB"},
		{a, ""}, // ended by a signal
		{a + "\x16=== RUN   TestB\n\npanic: test timed out after 1s\nFAIL\n", ""},
		{a + "\x16=== RUN   TestMatrixFiles\n\x16--- FAIL: TestMatrixFiles (0.00s)\nFAIL\n", ""},
		{"said: --- FAIL: TestA\n\x16--- PASS: TestA (0.00s)\nFAIL\n", ""},
		{"", ""},
	} {
		if got := strings.Join(unsteady(tt.out), " "); got != tt.want {
			t.Errorf("unsteady(%q) = %q, want %q", tt.out, got, tt.want)
		}
	}
}

func TestFailedPackages(t *testing.T) {
	const bad = "--- FAIL: TestA (0.00s)\n    a_test.go:1: wrong\n    --- FAIL: TestA/b (0.00s)\nFAIL\nFAIL\tx/a\t0.01s\n"
	for _, tt := range []struct {
		out, want string
		ok        bool
	}{
		{"ok  \tx/b\t0.1s\n" + bad + "FAIL\n", "[{x/a [TestA]}]", true},
		{bad + "FAIL\tx/b [build failed]\nFAIL\n", "[]", false},
		{bad + "panic: test timed out\nFAIL\tx/b\t1s\nFAIL\n", "[]", false},
		{"--- FAIL: TestEscape (0.00s)\nFAIL\nFAIL\tx/a\t0.01s\nFAIL\n", "[]", false},
		{"", "[]", false},
	} {
		if got, ok := failedPackages(tt.out); fmt.Sprint(got) != tt.want || ok != tt.ok {
			t.Errorf("failedPackages(%q) = %v, %v, want %s, %v", tt.out, got, ok, tt.want, tt.ok)
		}
	}
}

func TestSelf(t *testing.T) {
	cache, err := exec.Command(needs.Program(t, "go"), "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", strings.TrimSpace(string(cache)))
	t.Setenv("HOME", t.TempDir())
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Chdir(module(t))
	for _, tt := range []struct {
		pkg, want string
		ok        bool
	}{
		{"./shaky", "\tUNSTEADY: TestOnce\n", true},
		{"./bad", "it is bad", false},
		{"./raced", "got out", false},
	} {
		var out bytes.Buffer
		err := testSelf(t.Context(), options{timeout: time.Minute, flags: "-short", packages: []string{tt.pkg}}, &out)
		if (err == nil) != tt.ok || !strings.Contains(out.String(), tt.want) {
			t.Errorf("%s: %v, want ok %v and %q:\n%s", tt.pkg, err, tt.ok, tt.want, out.String())
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, args := range [][]string{{}, {"-uid=-1", "."}, {"-uid=4294967295", "."}, {"-nonsense", "."}, {"-flags=-run=x", "."}} {
		if opts, err := parse(args, &bytes.Buffer{}); err == nil {
			t.Errorf("parse(%q) = %+v", args, opts)
		}
	}
}

func TestAssertIdentityRefusesAnother(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	if err := assertIdentity(os.Getuid()+1, os.Getgid()); err == nil {
		t.Error("another uid passes")
	}
	if err := assertIdentity(os.Getuid(), os.Getgid()+1); err == nil {
		t.Error("another gid passes")
	}
}

// module writes a module with one package of each kind, and returns its folder.
func module(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.test\n\ngo 1.26\n",
		"good/good_test.go": `package good
import ("os"; "strconv"; "testing")
func TestUser(t *testing.T) {
	if strconv.Itoa(os.Getuid()) != os.Getenv("BRAINBOX_TEST_UID") { t.Fatalf("uid %d", os.Getuid()) }
	if _, err := os.ReadFile("testdata/x"); err != nil { t.Fatal(err) }
	if _, err := os.ReadDir("/root"); os.Getuid() != 0 && err == nil { t.Fatal("/root can be read") }
	if err := os.WriteFile(os.Getenv("HOME")+"/x", nil, 0o600); err != nil { t.Fatal(err) }
	if os.Getenv("BRAINBOX_TEST_HANDED") != "over" { t.Fatal("BRAINBOX_TEST_HANDED is not handed over") }
	if err := os.WriteFile(os.Getenv("GOMODCACHE")+"/x", nil, 0o600); err != nil { t.Fatal(err) }
	if os.Getenv("BRAINBOX_SECRET") != "" { t.Fatal("the caller's environment is here") }
	t.Run("sub", func(*testing.T) {})
}
func TestSkips(t *testing.T) { t.Skip("why not") }
`,
		"good/testdata/x": "x",
		"bad/bad_test.go": "package bad\nimport \"testing\"\nfunc TestBad(t *testing.T) { t.Error(\"it is bad\") }\n",
		"shaky/s_test.go": `package shaky
import ("os"; "testing")
func TestOnce(t *testing.T) {
	if _, err := os.Stat(os.Getenv("HOME")+"/once"); err == nil { return }
	os.WriteFile(os.Getenv("HOME")+"/once", nil, 0o600)
	t.Error("this time")
}
func TestSteady(*testing.T) {}
`,
		"raced/r_test.go": `package raced
import ("os"; "testing")
func TestRace(t *testing.T) {
	if _, err := os.Stat(os.Getenv("HOME")+"/raced"); err == nil { return }
	os.WriteFile(os.Getenv("HOME")+"/raced", nil, 0o600)
	t.Error("got out")
}
`,
		"empty/e_test.go":   "package empty\n",
		"vanish/v_test.go":  "package vanish\nimport (\"syscall\"; \"testing\")\nfunc TestV(*testing.T) { syscall.Exit(0) }\n",
		"notests/notest.go": "package notests\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestRuns(t *testing.T) {
	goTool := needs.Program(t, "go")
	command := filepath.Join(t.TempDir(), "testas")
	if out, err := exec.Command(goTool, "build", "-o", command, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	uid, gid := os.Getuid(), os.Getgid()
	if uid == 0 {
		uid, gid = 61000, 61000
	}
	dir := module(t)
	for _, tt := range []struct {
		name, pkg string
		ok        bool
		want      string
	}{
		{"a failing test fails", "./bad", false, "it is bad"},
		{"no test at all fails", "./empty", false, "FAIL\texample.test/empty\tno test ran"},
		{"a binary that vanishes fails", "./vanish", false, "FAIL\texample.test/vanish\tno test ran"},
		{"a package that is not there fails", "./nowhere", false, ""},
		{"one failing package fails all", "./...", false, "ok\texample.test/good\t2 tests, 1 skipped\n"},
		{"a package without test files is named", "./notests", true, "-\texample.test/notests\tno test files\n"},
		{"what passes three times alone is unsteady", "./shaky", true, "ok\texample.test/shaky\t2 tests, UNSTEADY: TestOnce\n"},
		{"the failure of an unsteady test is printed", "./shaky", true, "this time"},
		{"an attack that succeeds once fails", "./raced", false, "got out"},
		{"passing tests pass", "./good", true, "ok\texample.test/good\t2 tests, 1 skipped\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := exec.Command(command, "-uid="+strconv.Itoa(uid), "-gid="+strconv.Itoa(gid), tt.pkg)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "BRAINBOX_SECRET=1", "BRAINBOX_TEST_HANDED=over", "GOFLAGS=")
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if (err == nil) != tt.ok || !strings.Contains(string(out), tt.want) {
				t.Errorf("status %v, want ok %v and %q:\n%s", err, tt.ok, tt.want, out)
			}
			if names := left(t, cmd.Process.Pid); len(names) > 0 {
				t.Errorf("left behind: %q", names)
			}
		})
	}
}

// left lists the folders that the command makes and removes.
func left(t *testing.T, pid int) []string {
	t.Helper()
	names, err := filepath.Glob(fmt.Sprintf("/tmp/brainbox-testas-%d-*", pid))
	if err != nil {
		t.Fatal(err)
	}
	return names
}
