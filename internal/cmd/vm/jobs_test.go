package main

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"brainbox/internal/vmjob"
)

// TestPlanFollowsTheKernel: what can pass nowhere on a kernel is no job, and all else is.
func TestPlanFollowsTheKernel(t *testing.T) {
	has := func(jobs []vmjob.Job, name string) bool {
		return slices.ContainsFunc(jobs, func(j vmjob.Job) bool { return j.Name == name })
	}
	for _, suite := range []string{"bullseye", "bookworm", "sid"} {
		jobs, abi := plan("", mustRun(suite)), landlockOf(mustRun(suite))
		if want := map[string]int{"bullseye": 0, "bookworm": 2, "sid": 11}[suite]; abi != want {
			t.Errorf("%s: ABI %d, want %d", suite, abi, want)
		}
		if has(jobs, "spawn-user") != (abi > 0) || has(jobs, "agree-user") != (abi > 2) || has(jobs, "agree-root") || !has(jobs, "integration-landlock-root") {
			t.Errorf("%s: %+v", suite, jobs)
		}
	}
}

// TestPlanOfSomeParts: only what was asked for runs, and nothing that it needs is left out.
func TestPlanOfSomeParts(t *testing.T) {
	names := func(only, suite string) string {
		var list []string
		for _, j := range plan(only, mustRun(suite)) {
			if kind, _, _ := strings.Cut(j.Name, "-"); strings.HasSuffix(j.Name, "-root") && !slices.Contains(list, kind) {
				list = append(list, kind)
			}
		}
		return strings.Join(list, " ")
	}
	for only, want := range map[string]string{
		"setuid": "probe setuid", "setuid-exec": "probe setuid", "start": "probe start", "limit": "probe start limit",
		"landlock,seccomp": "probe landlock seccomp", "set": "probe",
	} {
		if got := names(only, "sid"); got != want {
			t.Errorf("-only %s: %q, want %q", only, got, want)
		}
	}
	if got := names("setuid-exec", "bookworm"); got != "probe" {
		t.Errorf("-only setuid-exec on a kernel that refuses every start of it: %q", got)
	}
}

// TestSomePartsWriteNoRecord: what a whole run has written stays.
func TestSomePartsWriteNoRecord(t *testing.T) {
	jobs := plan("landlock,seccomp", "landlock:11")
	report, outputs := machineSays(jobs)
	o := &options{arch: "amd64", only: "landlock,seccomp", cache: t.TempDir(), out: t.TempDir()}
	var out bytes.Buffer
	if err := o.judge("sid", &kernel{release: "7.3.4", version: "7.3.4-1"}, jobs, report, outputs, &out); err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadDir(o.out)
	if err != nil || len(list) != 1 || list[0].Name() != "landlock+seccomp-sid-amd64.txt" {
		t.Errorf("%v, %v; want the log alone", list, err)
	}
	if !strings.Contains(out.String(), "VM_FLAGS='-only landlock,seccomp'") {
		t.Errorf("%s does not say what ran", out.String())
	}
}

func TestPlanNamesAreUnlike(t *testing.T) {
	seen := map[string]bool{}
	for _, j := range plan("", "seccomp") {
		if seen[j.Name] {
			t.Errorf("two jobs are %q", j.Name)
		}
		seen[j.Name] = true
		if j.Seconds <= 0 {
			t.Errorf("%s has no limit", j.Name)
		}
	}
}
