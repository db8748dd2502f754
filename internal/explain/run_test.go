package explain

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
	"brainbox/launcher"
	"brainbox/policy"
)

// planned is a plan for a script in dir, which alone it may change, and what else it may read.
func planned(t testing.TB, isolation, dir, script string, read ...string) (*launcher.Facts, *launcher.Plan) {
	t.Helper()
	place, err := launcher.Look([]string{"PATH=/usr/bin:/bin"})
	if err != nil {
		t.Fatal(err)
	}
	place.Cwd = dir
	flags := policy.NewFlagLayer()
	if err := flags.AddGrant("--rwx", dir, policy.RightWriteExec); err != nil {
		t.Fatal(err)
	}
	for _, path := range read {
		if err := flags.AddGrant("--ro", path, policy.RightRead); err != nil {
			t.Fatal(err)
		}
	}
	if err := flags.Set("sandbox.isolation", "--isolation "+isolation, isolation); err != nil {
		t.Fatal(err)
	}
	layers, err := policy.Layers("minimal", nil, flags)
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.Resolve(policy.Input{Vars: place.Vars()}, layers...)
	if err != nil {
		t.Fatal(err)
	}
	f, err := launcher.Observe(p, place, launcher.Request{Command: []string{"/bin/sh", "-c", script}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f, launcher.NewPlan(p, f)
}

// run runs a script, and returns what was seen.
func run(t testing.TB, isolation, dir, script string, read ...string) []*Seen {
	t.Helper()
	needs.Notify(t)
	if isolation == "namespaces" {
		needs.Userns(t)
	}
	f, p := planned(t, isolation, dir, script, read...)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	var sink log
	var e *Engine
	o := launcher.Options{Stdio: [3]int{int(null.Fd()), 2, 2}, Observe: func(p *launcher.Plan, f *launcher.Facts) (launcher.Observer, error) {
		cfg, err := For(p, f)
		if err != nil {
			return nil, err
		}
		cfg.Judge, cfg.Sink = launcher.NewJudge(p, f), &sink
		e, err = New(cfg)
		return e, err
	}}
	res, err := p.Run(f, o)
	if err != nil {
		t.Fatal(err)
	}
	e.Close()
	if res.Status != 0 {
		t.Fatalf("status %d", res.Status)
	}
	return sink.take()
}

// A confined script: each denial is told once, with its name, its error and what would allow
// it, and nothing else is. In namespaces ls(1) finds no folder and opens none.
func TestRun(t *testing.T) {
	script := []string{
		"exec 2>/dev/null", "cat OUT/f", "cat l", "echo x >OUT/d/n", "mkdir OUT/m", "(cd / && sh -c 'rm -f OUT/d/f')", "mv in OUT/in",
		"cat in >copy", "cat none OUT/none", "ls OUT/d", "cat <OUT/d/f", "cat </dev/null", "ls . /usr/bin >ls", "true",
	}
	for isolation, want := range map[string][]string{
		"landlock": {
			"read OUT/f regular refused EACCES --ro OUT/f",
			"read OUT/f regular refused EACCES --ro OUT/f",
			"create OUT/d/n regular refused EACCES --rw OUT/d",
			"create OUT/m folder refused EACCES --rw OUT",
			"remove OUT/d/f regular refused EACCES --rw OUT/d",
			"rename in OUT/in regular refused EACCES --rw OUT",
			"read OUT/d folder refused EACCES --ro OUT/d",
			"read OUT/d/f regular refused EACCES --ro OUT/d/f",
		},
		"namespaces": {
			"read OUT/f regular refused ENOENT --ro OUT/f",
			"read OUT/f regular refused ENOENT --ro OUT/f",
			"create OUT/d/n regular refused ENOENT --rw OUT/d",
			"create OUT/m folder refused ENOENT --rw OUT",
			"remove OUT/d/f regular refused ENOENT --rw OUT/d",
			"create OUT/in regular refused ENOENT --rw OUT",
			"read OUT/d/f regular refused ENOENT --ro OUT/d/f",
		},
	} {
		t.Run(isolation, func(t *testing.T) {
			dir, out := realTemp(t), realTemp(t)
			put(t, out, "f", "d/", "d/f")
			put(t, dir, "in", "l -> "+out+"/f")
			got := denials(run(t, isolation, dir, strings.ReplaceAll(strings.Join(script, "\n"), "OUT", out)), dir, out)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// In isolation namespaces a folder around a grant is the run's own. What the host's does not
// let its user make is no denial, and what the host has is to be granted, not its folder.
func TestRunBesideTheHost(t *testing.T) {
	dir := realTemp(t)
	out, err := os.MkdirTemp("/var/tmp", "brainbox-explain-") //nolint:usetesting // /tmp is the run's own, and writable
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(os.Chmod(out+"/shut", 0o755), os.RemoveAll(out)) })
	put(t, out, "shut/", "shut/in/", "open/", "open/in/", "open/has/")
	if err := os.Chmod(out+"/shut", 0o555); err != nil { // root's program has no capability either
		t.Fatal(err)
	}
	script := strings.ReplaceAll("exec 2>/dev/null\n(ls >OUT/open/n)\n(ls >OUT/open/has)\n(ls >OUT/shut/n)\nmkdir OUT/shut/m\ntrue", "OUT", out)
	want := []string{
		"create OUT/open/n regular refused EROFS --rw OUT/open",
		"create OUT/open/has regular refused EROFS --rw OUT/open/has",
	}
	got := denials(run(t, "namespaces", dir, script, out+"/open/in", out+"/shut/in"), dir, out)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// denials are what was refused for the plan alone, and what is not known, in words.
func denials(seen []*Seen, dir, out string) []string {
	var all []string
	for _, s := range seen {
		if s.Certainty == Unknown || !s.Moot && s.Judgement.Verdict == launcher.Refused {
			all = append(all, strings.ReplaceAll(words([]*Seen{s}, dir)+" "+
				unix.ErrnoName(s.Judgement.Errno)+" "+s.Judgement.Remedy.Flag, out, "OUT"))
		}
	}
	return all
}
