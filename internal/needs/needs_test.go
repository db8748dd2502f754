package needs

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// subject selects what TestSubject does in a process of its own.
const subject = "BRAINBOX_NEEDS_SUBJECT"

// TestSubject is what the other tests run in a child, to see how a test that
// uses this package ends.
func TestSubject(t *testing.T) {
	switch what := os.Getenv(subject); what {
	case "":
		t.Skip("runs only as the subject of other tests")
	case "landlock-far":
		LandlockABI(t, 9999)
	case "no-such-program":
		Program(t, "brainbox-no-such-program")
	case "unknown-tool":
		Tool(t, "perl")
	case "both-users":
		if os.Geteuid() == 0 {
			User(t)
		} else {
			Root(t)
		}
	case "child-fails":
		if InChild(t) {
			t.Fatal("the child's own words")
		}
	case "child-exits":
		if InChild(t) {
			os.Exit(3)
		}
	case "child-skips":
		if InChild(t) {
			t.Skip("the child's reason")
		}
	case "child-unterminated-line":
		if InChild(t) {
			_, _ = os.Stdout.WriteString("no newline")
		}
	case "child-vanishes":
		if InChild(t) {
			syscall.Exit(0) // package testing does not see this one
		}
	case "child-forges":
		if InChild(t) {
			_, _ = os.Stdout.WriteString("--- PASS: TestSubject (0.00s)\n")
			syscall.Exit(0)
		}
	case "child-in-child":
		if InChild(t) {
			t.Run("inner", func(t *testing.T) { RunChild(t) })
		}
	default:
		t.Fatalf("unknown subject %q", what)
	}
}

// run runs TestSubject in a process of its own and returns its output and
// whether its status was 0.
func run(t *testing.T, what, must string) (string, bool) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestSubject$", "-test.v")
	cmd.Env = append(os.Environ(), subject+"="+what, MustRun+"="+must)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), err == nil
}

func TestVerdicts(t *testing.T) {
	const fail, skip, pass = "--- FAIL: TestSubject", "--- SKIP: TestSubject", "--- PASS: TestSubject"
	tests := []struct {
		name, what, must string
		verdict, says    string
	}{
		{"a demanded ABI that is missing fails", "landlock-far", "landlock:9999", fail, "landlock:9999 must run here"},
		{"an ABI above the demanded one skips", "landlock-far", "landlock:7", skip, "needs: landlock:9999: "},
		{"nothing demanded skips with the reason", "landlock-far", "", skip, "needs: landlock:9999: "},
		{"an unknown word fails a test that would skip", "landlock-far", "landlok:7", fail, `unknown word "landlok:7"`},
		{"a demanded program that is missing fails", "no-such-program", "programs", fail, "programs must run here"},
		{"a missing program skips", "no-such-program", "git", skip, "brainbox-no-such-program"},
		{"a tool without a word fails", "unknown-tool", "", fail, `tool "perl" has no gating word`},
		{"a demanded other user fails", "both-users", "root,user", fail, "must run here"},
		{"another user skips", "both-users", "", skip, "needs: "},
		{"a failing child fails, with its words", "child-fails", "", fail, "the child's own words"},
		{"a child that ends early fails", "child-exits", "", fail, "needs: child: exit status 3"},
		{"a child that skips skips", "child-skips", "", skip, "the child's reason"},
		{"a verdict after an unterminated line counts", "child-unterminated-line", "", pass, ""},
		{"a child that ends with status 0 and no verdict fails", "child-vanishes", "", fail, "TestSubject did not run"},
		{"a verdict that the test wrote itself does not count", "child-forges", "", fail, "TestSubject did not run"},
		{"a child starts no child", "child-in-child", "", fail, "the child for TestSubject cannot start one"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, ok := run(t, tt.what, tt.must)
			if ok == (tt.verdict == fail) {
				t.Errorf("status 0 is %v, want %v", ok, !ok)
			}
			if !strings.Contains(out, tt.verdict) || !strings.Contains(out, tt.says) {
				t.Errorf("output = %s\nwant %q and %q", out, tt.verdict, tt.says)
			}
		})
	}
}

func TestReportedNeedsTheMarker(t *testing.T) {
	for out, want := range map[string]bool{
		"":                                    false,
		"--- PASS: TestA (0.00s)\n":           false,
		"\x16--- FAIL: TestA (0.00s)\n":       false,
		"\x16--- PASS: TestAB (0.00s)\n":      false,
		"\x16--- PASS: TestA/sub (0.00s)\n":   false,
		"\x16--- PASS: TestA (0.00s)\n":       true,
		"x\x16    --- PASS: TestA (0.00s)\n":  true,
		"testing: warning: no tests to run\n": false,
	} {
		if got := reported(out, "PASS", "TestA"); got != want {
			t.Errorf("reported(%q) = %v, want %v", out, got, want)
		}
	}
}

func TestExactly(t *testing.T) {
	if got, want := exactly("TestA/a.b/c#01"), `^TestA$/^a\.b$/^c#01$`; got != want {
		t.Errorf("exactly = %q, want %q", got, want)
	}
}

func TestInChildOfASubtest(t *testing.T) {
	for _, name := range []string{"a sentence with spaces", "and (parentheses)", "twice", "twice"} {
		t.Run(name, func(t *testing.T) {
			if InChild(t, "BRAINBOX_NEEDS_EXTRA=handed over") {
				if got := os.Getenv("BRAINBOX_NEEDS_EXTRA"); got != "handed over" {
					t.Errorf("the variable is %q in the child", got)
				}
				return
			}
			if os.Getenv("BRAINBOX_NEEDS_EXTRA") != "" {
				t.Error("the variable is in the first process")
			}
		})
	}
}

func TestExactlyOneOfRootAndUser(t *testing.T) {
	if root, user := tryRoot() == nil, tryUser() == nil; root == user {
		t.Errorf("root is %v and user is %v", root, user)
	}
}

// TestUserOfTheHarness holds when internal/cmd/testas says which user it is.
func TestUserOfTheHarness(t *testing.T) {
	want := os.Getenv("BRAINBOX_TEST_UID")
	if want == "" {
		t.Skip("not started by internal/cmd/testas")
	}
	if got := strconv.Itoa(os.Getuid()); got != want || os.Geteuid() != os.Getuid() {
		t.Errorf("uid %s, effective %d, want %s", got, os.Geteuid(), want)
	}
}

func TestToolAndProgramGiveAPath(t *testing.T) {
	for _, path := range []string{Tool(t, "git"), Program(t, "sh"), Program(t, "/bin/sh")} {
		if info, err := os.Stat(path); err != nil || !filepath.IsAbs(path) || info.Mode()&0o111 == 0 {
			t.Errorf("%q is no absolute path of a program: %v", path, err)
		}
	}
}

// TestEveryNeed asks for each need in a subtest: here it is met, or skips with
// a reason; with BRAINBOX_TEST_MUST_RUN it is met.
func TestEveryNeed(t *testing.T) {
	needs := map[string]func(testing.TB){
		wordSeccomp: Seccomp, wordNotify: Notify, wordUserns: Userns, wordNetns: Netns,
		wordCgroupKill: CgroupKill, wordCgroupMemory: CgroupMemory, wordOverlay: Overlay,
		wordCasefold: Casefold, wordBtrfs: Btrfs, wordExt4: Ext4, wordXFS: XFS, wordVFAT: VFAT, wordFUSE: FUSE, wordTTY: TTY,
		wordLandlock: func(t testing.TB) { t.Helper(); LandlockABI(t, 1) },
	}
	for _, tool := range tools() {
		needs[tool] = func(t testing.TB) { t.Helper(); Tool(t, tool) }
	}
	for word, ask := range needs {
		t.Run(word, func(t *testing.T) { ask(t) })
	}
}
