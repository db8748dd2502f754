package main

import (
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	seen "brainbox/internal/explain"
	"brainbox/launcher"
)

// reached lists the limits of a run that it ran into, as far as its end tells: it costs
// nothing. A descriptor that was refused (nofile), and the processor's time (cpu), do not show.
func reached(r *launcher.Result) []seen.Limit {
	var list []seen.Limit
	add := func(name, text, value string) {
		list = append(list, seen.Limit{
			Name: name, Text: text, Flag: "--" + flagOfLimit(name) + " " + value, Certainty: seen.Proven,
			Line: "[process]\n" + keyOfLimit(name) + " = " + tomlLimit(name, value),
		})
	}
	if r.TimedOut {
		add("time", "the run took "+r.Plan.Timeout.String()+" and was ended", (2 * r.Plan.Timeout).Round(time.Second).String())
	}
	if r.Truncated {
		add("output", "the run wrote "+strconv.FormatInt(r.Plan.OutputLimit, 10)+" bytes and was ended", twice(strconv.FormatInt(r.Plan.OutputLimit, 10)))
	}
	if r.Signal == unix.SIGXFSZ || r.Status == 128+int(unix.SIGXFSZ) {
		for _, l := range r.Plan.Limits {
			if l.Resource == unix.RLIMIT_FSIZE {
				size := strconv.FormatUint(l.Cur, 10)
				add("fsize", "a file reached "+size+" bytes, and SIGXFSZ ended the program", twice(size))
			}
		}
	}
	if r.OOMByLimit {
		limit := r.Plan.Cgroup["memory.max"]
		add("memory", "the run reached "+limit+" bytes, and the kernel ended it", twice(limit))
	}
	if r.PidsRefused > 0 {
		limit := r.Plan.Cgroup["pids.max"]
		add("pids", times(r.PidsRefused, "process or thread", "processes or threads")+" more than "+limit+" were refused", twice(limit))
	}
	return list
}

func flagOfLimit(name string) string {
	switch name {
	case "time":
		return "timeout"
	case "output":
		return "output-limit"
	}
	return name
}

func keyOfLimit(name string) string {
	if name == "output" {
		return "output_limit"
	}
	return flagOfLimit(name)
}

// tomlLimit is a value as a policy has it: numbers of things are numbers, the rest is text.
func tomlLimit(name, value string) string {
	if name == "pids" {
		return value
	}
	return strconv.Quote(value)
}

// twice is double a number.
func twice(text string) string {
	n, err := strconv.ParseInt(text, 10, 63)
	if err != nil {
		return text
	}
	return strconv.FormatInt(2*n, 10)
}

// times is a number with what it counts.
func times(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.FormatInt(n, 10) + " " + many
}
