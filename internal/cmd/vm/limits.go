package main

import (
	"fmt"
	"strings"

	"brainbox/internal/vmjob"
)

// limits are runs in a group that was delegated to brainbox alone, which it has to leave before
// one below can have controllers. Package integration's tests run in one that was left before.
var limits = []struct {
	name, flag, script string
	status             int
	says               string // in what is printed; after "!" what is not
}{
	{"memory", "--memory=32MiB", "head -c 100663296 /dev/zero | tail -c 100663296 | wc -c", 137, "brainbox: out of memory: the run reached its limit"},
	{"control", "--memory=1GiB", "head -c 100663296 /dev/zero | tail -c 100663296 | wc -c", 0, "100663296"},
	{"killed", "--memory=32MiB", "kill -KILL $$", 137, "!out of memory"},
	{"pids", "--pids=20", "i=0; while [ $i -lt 60 ]; do sleep 5 & i=$((i+1)); done; echo all", 2, "!all"},
	{"cpu", "--cpu=0.5", "echo it ran", 0, "it ran"},
}

// limitJobs make those runs, in both isolations.
func limitJobs(root bool, who string) []vmjob.Job {
	var jobs []vmjob.Job
	for _, isolation := range []string{"landlock", "namespaces"} {
		for _, l := range limits {
			jobs = append(jobs, vmjob.Job{
				Name: "limit-" + l.name + "-" + isolation + "-" + who, Root: root, Dir: "/srv/checkout-" + who,
				Args: []string{
					vmjob.Payload + "/bin/brainbox", "run", "--isolation", isolation, l.flag, "--", "/bin/sh", "-c", l.script,
				},
				Cgroup: vmjob.Own, Seconds: 300,
			})
		}
	}
	return jobs
}

// limit judges one of them. It was held, or it was refused with the clause that refuses every
// start in this isolation here.
func (j *judged) limit(name string, r vmjob.Result, out string) {
	kind, rest, _ := strings.Cut(name, "-")
	isolation, who, _ := strings.Cut(rest, "-")
	got := fmt.Sprintf("status %d", r.Status)
	if refused := j.record.Starts[isolation]; refused != "starts" {
		if got = outcome(r.Status, out); got != refused {
			j.fail("limit %s: %s, want %s", name, got, refused)
		}
		fmt.Fprintf(&j.log, "limit-%s: %s\n", name, got)
		return
	}
	for _, l := range limits {
		if l.name != kind {
			continue
		}
		text, not := strings.CutPrefix(l.says, "!")
		if r.Status != l.status || strings.Contains(out, text) == not {
			j.fail("limit %s (%s): status %d, want %d and %q in %q", name, who, r.Status, l.status, l.says, out)
		}
	}
	fmt.Fprintf(&j.log, "limit-%s: %s\n", name, got)
	for line := range strings.Lines(out) {
		fmt.Fprintf(&j.log, "  %s\n", strings.TrimSpace(line))
	}
}
