package main

import (
	"encoding/json"
	"strings"

	"brainbox/internal/vmjob"
)

// started is what a started program prints.
const started = "started"

// starts are the starts whose outcome is recorded: what docs/kernel-features.md says of them
// is what launcher.NewPlan decides.
var starts = []struct {
	name string
	args []string
}{
	{"landlock", []string{"--isolation", "landlock"}},
	{"ports", []string{"--isolation", "landlock", "--net", "ports", "--connect-tcp", "443"}},
	{"namespaces", []string{"--isolation", "namespaces"}},
	{"auto", nil},
}

// startJobs make those starts.
func startJobs(root bool, who string) []vmjob.Job {
	var jobs []vmjob.Job
	for _, s := range starts {
		args := append([]string{vmjob.Payload + "/bin/brainbox", "run"}, s.args...)
		args = append(args, "--", "/bin/sh", "-c", "echo "+started)
		jobs = append(jobs, vmjob.Job{
			Name: "start-" + s.name + "-" + who, Root: root, Dir: "/srv/checkout-" + who, Args: args, Cgroup: vmjob.Own, Seconds: 300,
		})
	}
	return jobs
}

// Record is what one machine was found to do, as it is kept in docs/evidence/vm.
type Record struct {
	Suite   string            `json:"suite"`
	Arch    string            `json:"arch"`
	Release string            `json:"release"` // uname(2)
	Package string            `json:"package"` // its version
	Date    string            `json:"date"`
	Probe   map[string]Answer `json:"probe"`  // by the ordinary user
	Starts  map[string]string `json:"starts"` // "starts", or "refused: CLAUSE"; by both users
}

// Answer is one of "brainbox probe --json".
type Answer struct {
	Available bool   `json:"available"`
	Detail    string `json:"detail"`
}

// probed reads what "brainbox probe --json" has printed.
func probed(out string) (map[string]Answer, error) {
	var p struct {
		Answers []struct {
			Name string `json:"name"`
			Answer
		} `json:"answers"`
	}
	if err := json.Unmarshal([]byte(out), &p); err != nil {
		return nil, err
	}
	m := map[string]Answer{}
	for _, a := range p.Answers {
		m[a.Name] = a.Answer
	}
	return m, nil
}

// outcome says what became of a start: the program's own word for it, or brainbox's clause.
// Anything else is "neither", and a failure.
func outcome(status int, out string) string {
	if status == 0 && strings.TrimSpace(out) == started {
		return "starts"
	}
	for line := range strings.Lines(out) {
		rest, ok := strings.CutPrefix(line, "brainbox: ")
		clause, _, found := strings.Cut(rest, ":")
		if ok && found && status == 125 && clause != "note" && clause != "hint" && clause != "warning" {
			return "refused: " + clause
		}
	}
	return "neither"
}
