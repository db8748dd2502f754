package integration

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"brainbox/internal/needs"
)

// isolationVariable names the isolation of a run of these tests, if it is not landlock.
const isolationVariable = "BRAINBOX_TEST_ISOLATION"

// wholeVariable has every test run in both isolations (make integration).
const wholeVariable = "BRAINBOX_TEST_WHOLE"

// isolation is what every start of this run asks for. TestMain sets it once.
var isolation = "landlock"

// inside reports whether this run is for isolation namespaces.
func inside() bool { return isolation == "namespaces" }

// notInside are the tests that are about one isolation alone.
func notInside(name string) bool {
	for _, prefix := range []string{
		"TestWorker", "TestRouted", "TestBootstrap", "TestLateLandlock", "TestForkWithoutExec", "TestInspector",
		"TestDocuments", "TestConsole", "TestExported",
	} {
		if strings.HasPrefix(name, prefix) { // a worker is in namespaces in any case, a client in none; a document says which
			return true
		}
	}
	return false
}

// TestInside runs the tests of this package again, in isolation namespaces.
func TestInside(t *testing.T) {
	needs.Userns(t)
	if inside() {
		return
	}
	out, err := exec.Command("/proc/self/exe", "-test.list=^Test").Output()
	must(t, err)
	for name := range strings.FieldsSeq(string(out)) {
		if !strings.HasPrefix(name, "Test") || name == "TestInside" || notInside(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each is a process of its own
			args := []string{"-test.run=^" + name + "$", "-test.count=1", "-test.v"}
			if testing.Short() {
				args = append(args, "-test.short")
			}
			cmd := exec.Command("/proc/self/exe", args...)
			cmd.Env = append(os.Environ(), isolationVariable+"=namespaces", binVariable+"="+bin)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, failures(string(out)))
			}
		})
	}
}

// byOneUser is for what builds and installs with real tools, in minutes for both isolations and
// both users: root runs it in landlock, an ordinary user in namespaces. With wholeVariable set
// each runs it in both.
func byOneUser(t *testing.T) {
	t.Helper()
	if inside() == (os.Geteuid() == 0) && os.Getenv(wholeVariable) == "" {
		t.Skip("the other user runs it in this isolation") // gating: no matter of the machine
	}
}

// failures leaves out what passed.
func failures(out string) string {
	lines := slices.DeleteFunc(strings.Split(out, "\n"), func(l string) bool {
		l = strings.TrimSpace(l)
		return strings.HasPrefix(l, "=== ") || strings.HasPrefix(l, "--- PASS")
	})
	return strings.Join(lines, "\n")
}

// adapt makes a case one of this run's isolation, and reports whether it is there at all.
func (c *compatCase) adapt() bool {
	if inside() {
		c.refused, c.flags = c.ns, append(c.flags, c.nsFlags...)
	}
	return !inside() || c.notNS == ""
}
