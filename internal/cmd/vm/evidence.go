package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"brainbox/internal/vmjob"
)

// judged is one machine's run.
type judged struct {
	record Record
	log    strings.Builder
	wrong  []string
	sum    tally
}

func (j *judged) fail(format string, args ...any) {
	j.wrong = append(j.wrong, fmt.Sprintf(format, args...))
}

// judge says what became of every job, writes it down, and fails unless all of them ran and
// nothing failed.
func (o *options) judge(name string, k *kernel, jobs []vmjob.Job, report vmjob.Report, outputs map[string]string, w io.Writer) error {
	j := &judged{record: Record{
		Suite: name, Arch: o.arch, Release: report.Release, Package: k.version,
		Date: time.Now().UTC().Format(time.DateOnly), Starts: map[string]string{},
	}}
	if report.Release != k.release {
		j.fail("the machine ran Linux %s, not %s", report.Release, k.release)
	}
	results := map[string]vmjob.Result{}
	for _, r := range report.Results {
		results[r.Name] = r
	}
	j.head(o)
	for _, job := range jobs {
		r, ok := results[job.Name]
		if !ok {
			j.fail("%s: no result", job.Name)
			continue
		}
		j.one(job, r, outputs[job.Name])
	}
	j.end()
	fmt.Fprint(w, j.log.String())
	if err := o.write(j, outputs); err != nil {
		return err
	}
	if len(j.wrong) > 0 {
		return errors.New(strings.Join(j.wrong, "\n"))
	}
	return nil
}

// head says what ran. There is nothing in it of the machine that it ran on.
func (j *judged) head(o *options) {
	r := &j.record
	flags := ""
	if o.only != "" {
		flags = " VM_FLAGS='-only " + o.only + "'"
	}
	fmt.Fprintf(&j.log, "make vm VM_SUITES=%s VM_ARCH=%s%s\n", r.Suite, r.Arch, flags)
	fmt.Fprintf(&j.log, "date: %s\n", r.Date)
	fmt.Fprintf(&j.log, "kernel: Linux %s, Debian's package %s of %s\n", r.Release, r.Package, r.Suite)
	fmt.Fprintf(&j.log, "machine: qemu, %s, %d processors, %d MiB\n", here(o.arch), o.cpus, o.megabytes)
	fmt.Fprintf(&j.log, "programs: Debian %s\n\n", o.userland)
}

// one judges one job.
func (j *judged) one(job vmjob.Job, r vmjob.Result, out string) {
	if r.Error != "" {
		j.fail("%s: %s", job.Name, r.Error)
	}
	kind, rest, _ := strings.Cut(job.Name, "-")
	switch _, isTest := packageOf(job); {
	case isTest:
		j.tests(job, r, out)
	case kind == "probe":
		j.probe(job, out)
	case kind == "start":
		j.start(rest, r, out)
	case kind == "limit":
		j.limit(rest, r, out)
	}
}

func (j *judged) probe(job vmjob.Job, out string) {
	answers, err := probed(out)
	if err != nil {
		j.fail("%s: %v: %q", job.Name, err, out)
		return
	}
	if !job.Root {
		j.record.Probe = answers
	}
	fmt.Fprintf(&j.log, "%s\n", job.Name)
	var names []string
	for name := range answers {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		word := "yes"
		if !answers[name].Available {
			word = "no"
		}
		fmt.Fprintf(&j.log, "  %-17s %-3s %s\n", name, word, answers[name].Detail)
	}
}

// start judges a start: both users' end alike.
func (j *judged) start(name string, r vmjob.Result, out string) {
	got := outcome(r.Status, out)
	kind, who, _ := strings.Cut(name, "-")
	if got == "neither" {
		j.fail("start %s: status %d, %q", name, r.Status, out)
	}
	if who == "user" {
		j.record.Starts[kind] = got
	} else if before := j.record.Starts[kind]; before != got {
		j.fail("start %s: %s; as the ordinary user: %s", name, got, before)
	}
	fmt.Fprintf(&j.log, "start-%s: %s\n", name, got)
	if got != "starts" {
		for line := range strings.Lines(out) {
			fmt.Fprintf(&j.log, "  %s\n", strings.TrimSpace(line))
		}
	}
}

// tests judges a test binary: it ended with 0, at least one test passed, and none failed.
func (j *judged) tests(job vmjob.Job, r vmjob.Result, out string) {
	list, sum := verdicts(out)
	j.sum.add(sum)
	word := "ok"
	switch {
	case r.Status != 0 || sum.failed > 0:
		word = "FAILED"
		j.fail("%s: status %d, %d failed", job.Name, r.Status, sum.failed)
	case sum.passed == 0:
		word = "NOTHING RAN"
		j.fail("%s: no test passed", job.Name)
	}
	fmt.Fprintf(&j.log, "%s: %s, status %d, %d passed, %d skipped, %d failed, %d s\n",
		job.Name, word, r.Status, sum.passed, sum.skipped, sum.failed, r.Seconds)
	for _, v := range list {
		line := fmt.Sprintf("  %s %s", v.word, v.name)
		if v.below > 0 {
			line += fmt.Sprintf(" (%d below)", v.below)
		}
		if v.word != "PASS" && v.reason != "" {
			line += ": " + v.reason
		}
		j.log.WriteString(line + "\n")
	}
}

func (j *judged) end() {
	fmt.Fprintf(&j.log, "total: %d passed, %d skipped, %d failed\n", j.sum.passed, j.sum.skipped, j.sum.failed)
	for _, s := range j.wrong {
		fmt.Fprintf(&j.log, "WRONG: %s\n", s)
	}
}

// write keeps the log and the record, where that was asked for, and what every job printed.
func (o *options) write(j *judged, outputs map[string]string) error {
	kept := filepath.Join(o.cache, "last", j.record.Suite+"-"+j.record.Arch)
	errs := []error{os.RemoveAll(kept), os.MkdirAll(kept, 0o755)}
	for name, text := range outputs {
		errs = append(errs, os.WriteFile(filepath.Join(kept, name), []byte(text), 0o644))
	}
	if o.out == "" {
		return errors.Join(errs...)
	}
	base := filepath.Join(o.out, j.record.Suite+"-"+j.record.Arch)
	errs = append(errs, os.MkdirAll(o.out, 0o755))
	if o.only != "" { // not the record: it would say of what did not run that it was not found
		base = filepath.Join(o.out, strings.ReplaceAll(o.only, ",", "+")+"-"+j.record.Suite+"-"+j.record.Arch)
		return errors.Join(append(errs, os.WriteFile(base+".txt", []byte(j.log.String()), 0o644))...)
	}
	text, err := json.MarshalIndent(j.record, "", "  ")
	return errors.Join(append(errs, err,
		os.WriteFile(base+".json", append(text, '\n'), 0o644),
		os.WriteFile(base+".txt", []byte(j.log.String()), 0o644))...)
}
