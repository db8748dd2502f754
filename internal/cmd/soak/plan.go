package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"
)

// step is what is done once. It follows from the seed and N alone.
type step struct {
	N         int
	Kind      string // run, bridge, wrapper, why, check, learn, host, worker
	User      bool   // as an ordinary user
	Isolation string
	Program   string   // of the table of programs
	Signal    int      // of program "signal"
	Features  []string // what is asked for besides
	Status    string   // how the status lines are read: soon, slow, closed, none
	Fault     string
	Target    string // of the disturbance: supervisor, host, operator; empty: none
	Kill      syscall.Signal
	After     time.Duration
	Operator  string // allow, session, deny, wait, hangup; empty: none
	Number    int    // whatever needs one
}

// id is in the words of every process of the step that stays: a number that sleep(1) takes. Steps
// with a negative number are those of the sweeps.
func (s step) id() string {
	n := s.N
	if n < 0 {
		n = 500_000_000 - n
	}
	return fmt.Sprintf("77%09d77", n)
}

// weighted is a choice.
type weighted struct {
	name   string
	weight int
}

func pick(r *rand.Rand, from []weighted) string {
	sum := 0
	for _, w := range from {
		sum += w.weight
	}
	at := r.IntN(sum)
	for _, w := range from {
		if at -= w.weight; at < 0 {
			return w.name
		}
	}
	return ""
}

var (
	kinds = []weighted{
		{"run", 52}, {"bridge", 12}, {"wrapper", 8}, {"why", 4}, {"check", 2}, {"learn", 2}, {"host", 12}, {"worker", 6}, {"shared", 2},
	}
	features = []weighted{
		{"explain", 4},
		{"proxy", 4},
		{"publish", 1},
		{"unix", 4},
		{"keep", 2},
		{"homedir", 2},
		{"protect", 2},
		{"deny", 2},
		{"nofile", 2},
		{"fsize", 2},
		{"output", 2},
		{"sanitize", 1},
		{"verbose", 1},
		{"pids", 1},
		{"passfd", 1},
		{"ports", 1},
		{"debug", 1},
	}
	faults = []weighted{
		{"full", 3}, {"nofile", 3}, {"memory", 2}, {"sibling", 2}, {"policy", 2}, {"cwd", 2}, {"tmp", 1}, {"nproc", 2}, {"stdio", 2},
	}
	signals = []syscall.Signal{
		syscall.SIGKILL, syscall.SIGKILL, syscall.SIGTERM, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGSTOP,
	}
	deadly = []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 24, 25, 26, 27, 29, 30, 31, 34, 50, 64}
)

// planStep is the step with number n of a seed. mayUser says whether there is an ordinary
// user besides root.
func planStep(seed uint64, n int, root bool) step {
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	s := step{N: n, Kind: pick(r, kinds), Number: r.IntN(1 << 30)}
	s.User = r.IntN(5) < 3 || !root
	s.Isolation = [...]string{"landlock", "namespaces", "auto"}[r.IntN(3)]
	s.Program = pick(r, programWeights())
	s.Signal = deadly[r.IntN(len(deadly))]
	s.Status = pick(r, []weighted{{"soon", 8}, {"slow", 2}, {"closed", 1}, {"none", 1}})
	for range r.IntN(4) {
		if f := pick(r, features); !slices.Contains(s.Features, f) { // --pass-fd takes each once
			s.Features = append(s.Features, f)
		}
	}
	switch r.IntN(3) {
	case 0:
		s.Target, s.Kill = "supervisor", signals[r.IntN(len(signals))]
		s.After = time.Duration(r.IntN(1500)) * time.Millisecond
		if r.IntN(3) == 0 {
			s.Program = "long"
		}
	case 1:
		if r.IntN(2) == 0 {
			s.Fault = pick(r, faults)
		}
	}
	return s.refine(r)
}

// refine takes out what does not go together.
func (s step) refine(r *rand.Rand) step {
	switch s.Kind {
	case "bridge":
		s.Operator = pick(r, []weighted{{"allow", 3}, {"session", 2}, {"deny", 3}, {"wait", 2}, {"hangup", 2}, {"none", 2}})
		s.Program, s.Fault = pick(r, []weighted{{"calls", 5}, {"crowd", 1}, {"cancel", 2}}), ""
		if s.Target != "" {
			s.Target = pick(r, []weighted{{"supervisor", 2}, {"host", 2}, {"operator", 2}})
		}
		s.Features = nil
	case "wrapper":
		// The wrapper has no supervisor: what is started is ended by brainbox-kill. It takes
		// Landlock alone, and reads root's policy from one place only.
		s.User, s.Isolation, s.Features, s.Fault, s.Target, s.Status = true, "landlock", nil, "", "", "none"
		s.Program = pick(r, []weighted{{"quiet", 2}, {"exit", 2}, {"signal", 2}, {"denied", 3}, {"long", 3}, {"stubborn", 2}, {"daemon", 2}, {"notfound", 1}})
	case "why", "check", "learn", "shared":
		s.Features, s.Fault, s.Target, s.Status = nil, "", "", "none"
		if s.Kind == "shared" {
			s.Kind, s.Features = "run", []string{"shared"}
			s.Program = pick(r, []weighted{{"denied", 1}, {"daemon", 1}, {"long", 1}})
		}
	case "host", "worker":
		s.Fault, s.Status = "", "none"
		if s.Isolation == "auto" || s.Kind == "worker" {
			s.Isolation = "namespaces"
		}
		s.Features = only(s.Features, "nofile", "keep", "unix", "fsize", "bridge")
		if s.Kind == "host" && r.IntN(3) == 0 {
			s.Operator = pick(r, []weighted{{"allow", 2}, {"deny", 2}, {"wait", 1}, {"hangup", 1}})
			s.Program = "calls"
		}
		if s.Target == "supervisor" {
			s.Target = "program" // by the library
		}
		if s.Kind == "worker" && s.Program == "calls" {
			s.Program = "exit"
		}
	}
	if s.has("proxy") || s.has("publish") {
		s.Features = slices.DeleteFunc(s.Features, func(f string) bool { return f == "ports" })
		s.Isolation = "namespaces"
	}
	switch {
	case s.has("proxy") && s.Kind == "run" && r.IntN(2) == 0:
		s.Program = "web"
	case s.has("unix") && s.Kind == "run" && r.IntN(2) == 0:
		s.Program = "sockets"
	}
	return s
}

func only(list []string, words ...string) []string {
	var kept []string
	for _, l := range list {
		for _, w := range words {
			if l == w {
				kept = append(kept, l)
			}
		}
	}
	return kept
}

// has reports whether a feature is asked for.
func (s step) has(feature string) bool { return len(only(s.Features, feature)) > 0 }
