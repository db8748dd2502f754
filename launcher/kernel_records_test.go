package launcher_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
	"brainbox/landlock"
	"brainbox/launcher"
)

// records is where "make vm" writes what a kernel was found to do (internal/cmd/vm, Record).
const records = "../docs/evidence/vm/*.json"

// record is one machine.
type record struct {
	Suite, Arch, Release, Date string
	Probe                      map[string]struct {
		Available bool
		Detail    string
	}
	Starts map[string]string
}

// readRecords reads every record, oldest kernel first.
func readRecords(t *testing.T) []record {
	t.Helper()
	names, err := filepath.Glob(records)
	if err != nil || len(names) == 0 {
		t.Fatalf("no record in %s: %v", records, err)
	}
	var list []record
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var r record
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		list = append(list, r)
	}
	slices.SortStableFunc(list, func(a, b record) int {
		return slices.Compare(version(a.Release), version(b.Release))
	})
	return list
}

// version is the numbers that a release begins with.
func version(release string) []int {
	n := make([]int, 3)
	_, _ = fmt.Sscanf(release, "%d.%d.%d", &n[0], &n[1], &n[2]) // "7.3-rc1" has two
	return n
}

// place is the machine as the table has it.
func (r record) place(t *testing.T) place {
	t.Helper()
	p := place{
		name:  fmt.Sprintf("Debian %s's kernel, %s", r.Suite, r.Arch),
		linux: r.Release, namespaces: "no", facts: "recorded " + r.Date,
	}
	if r.Probe["namespaces"].Available {
		p.namespaces = "yes"
	}
	switch l := r.Probe["landlock"]; {
	case !l.Available:
		p.err = blocked(landlock.NotBuilt, unix.ENOSYS)
	default:
		if _, err := fmt.Sscanf(l.Detail, "landlock abi %d", &p.abi); err != nil {
			t.Fatalf("%s: %q: %v", r.Suite, l.Detail, err)
		}
	}
	return p
}

// TestRecordsAreWhatIsDecided: what every recorded kernel did is what NewPlan decides for its
// facts. So the table, which is made of the decisions, says what happened.
func TestRecordsAreWhatIsDecided(t *testing.T) {
	for _, r := range readRecords(t) {
		want := r.place(t).starts(t)
		for name, decided := range want {
			if got := r.Starts[name]; got != decided {
				t.Errorf("%s %s, %s: it was %q, decided is %q", r.Suite, r.Arch, name, got, decided)
			}
		}
		if len(r.Starts) != len(want) {
			t.Errorf("%s %s: %d starts, want %d", r.Suite, r.Arch, len(r.Starts), len(want))
		}
	}
}

// starts are the decisions on the starts that are recorded.
func (p place) starts(t *testing.T) map[string]string {
	t.Helper()
	m := map[string]string{
		"landlock": verdict(decide(t, p.abi, p.err)), "ports": verdict(decide(t, p.abi, p.err, tcpPorts()...)),
		"namespaces": p.inside(t),
	}
	if m["auto"] = m["namespaces"]; strings.HasPrefix(p.namespaces, "no") {
		m["auto"] = m["landlock"]
	}
	return m
}

// TestStartsAreWhatIsDecided is the same for the kernel that the test runs on.
func TestStartsAreWhatIsDecided(t *testing.T) {
	needs.Seccomp(t)
	dir, err := launcher.BuiltHost()
	if err != nil {
		t.Fatal(err)
	}
	here := place{namespaces: "yes"}
	sup, err := landlock.Probe()
	here.abi, here.err = sup.Used(), err
	for name, want := range here.starts(t) {
		t.Run(name, func(t *testing.T) {
			if name == "namespaces" || name == "auto" {
				needs.Userns(t)
			}
			args := append([]string{"run"}, startFlags()[name]...)
			cmd := exec.Command(dir+"/brainbox", append(args, "--", "/bin/sh", "-c", "echo started")...)
			cmd.Dir = t.TempDir()
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			got := fmt.Sprintf("status %d, %s", cmd.ProcessState.ExitCode(), out)
			if clause, refused := strings.CutPrefix(want, "refused: "); refused {
				if !strings.HasPrefix(got, "status 125, ") || !strings.Contains(got, "brainbox: "+clause+":") {
					t.Errorf("%s\nwant %s", got, want)
				}
			} else if err != nil || !strings.HasSuffix(got, "started\n") {
				t.Errorf("%s\nwant it to start", got)
			}
		})
	}
}

// startFlags are what the starts are asked for with.
func startFlags() map[string][]string {
	return map[string][]string{
		"landlock":   {"--isolation", "landlock"},
		"ports":      {"--isolation", "landlock", "--net", "ports", "--connect-tcp", "443"},
		"namespaces": {"--isolation", "namespaces"},
		"auto":       nil,
	}
}
