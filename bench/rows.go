package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// row is one line of the page.
type row struct {
	what, figure, interval, bound, verdict string
}

// bounded is a row that is judged.
func bounded(what string, e estimate, bound float64) row {
	const format = "%.2f"
	return row{
		what, fmt.Sprintf(format, e.median), fmt.Sprintf(format+" … "+format, e.low, e.high),
		"≤ " + fmt.Sprintf(format, bound), e.verdict(bound),
	}
}

// plain is a row that is there to compare with.
func plain(what string, e estimate, format string) row {
	return row{what, fmt.Sprintf(format, e.median), fmt.Sprintf(format+" … "+format, e.low, e.high), "", ""}
}

// The commands of the group "starts".
const (
	direct  = "/bin/true, nothing else"
	bwrap   = "bwrap"
	become  = "brainbox-exec /bin/true"
	run     = "brainbox run --isolation landlock --policy P -- /bin/true"
	run100  = "the same with 100 more paths in P"
	byRules = "brainbox run --isolation landlock -- /bin/true in a checkout, the default policy"
)

// Those of the group "starts in namespaces".
const (
	bwrapAll    = "bwrap, all namespaces, the binds of P"
	inside      = "brainbox run --isolation namespaces --policy P -- /bin/true"
	insideBwrap = "bwrap, the same namespaces and mounts as with P"
	insideRules = "brainbox run --isolation namespaces -- /bin/true in a checkout, the default policy"
	rulesBwrap  = "bwrap, the same namespaces and mounts as with the default policy"
	unguarded   = "P with a folder of 100 folders"
	guarded100  = "and each of them protected"
)

func (p *place) run(policy string, argv ...string) []string {
	return append([]string{
		filepath.Join(p.bin, "brainbox"), "run", "-q", "--isolation", "landlock", "--policy", policy, "--",
	}, argv...)
}

// starts are the commands that end at once.
func (p *place) starts() ([]string, map[string]command) {
	w := p.work
	names := []string{direct, bwrap, run, run100, byRules}
	commands := map[string]command{
		direct:  {w, []string{"/bin/true"}},
		bwrap:   {w, sixBinds(w, "--unshare-net")},
		run:     {w, p.run(p.policy, "/bin/true")},
		run100:  {w, p.run(p.policy100, "/bin/true")},
		byRules: {p.checkout, []string{filepath.Join(p.bin, "brainbox"), "run", "-q", "--isolation", "landlock", "--", "/bin/true"}},
	}
	if p.execPolicy != "" {
		names = append(names, become)
		commands[become] = command{w, []string{filepath.Join(p.bin, "brainbox-exec"), "/bin/true"}}
	}
	return names, commands
}

// sixBinds is bwrap with the binds of P.
func sixBinds(folder string, more ...string) []string {
	argv := []string{
		"/usr/bin/bwrap", "--ro-bind", "/usr", "/usr", "--ro-bind", "/bin", "/bin", "--ro-bind", "/lib", "/lib",
		"--ro-bind", "/lib64", "/lib64", "--ro-bind", "/etc", "/etc", "--bind", folder, folder, "--dev", "/dev",
		"--proc", "/proc",
	}
	return append(append(argv, more...), "--", "/bin/true")
}

// insideStarts are the commands that end at once in namespaces.
func (p *place) insideStarts(env []string) ([]string, map[string]command, error) {
	same, err := p.sameBinds(env, p.quiet, p.inside)
	if err != nil {
		return nil, nil, err
	}
	sameRules, err := p.sameBinds(env, p.checkout, "")
	if err != nil {
		return nil, nil, err
	}
	run := func(dir string, more ...string) command {
		argv := append([]string{filepath.Join(p.bin, "brainbox"), "run", "-q", "--isolation", "namespaces"}, more...)
		return command{dir, append(argv, "--", "/bin/true")}
	}
	names := []string{bwrapAll, inside, insideBwrap, insideRules, rulesBwrap, unguarded, guarded100}
	return names, map[string]command{
		bwrapAll:    {p.quiet, sixBinds(p.quiet, "--unshare-all")},
		inside:      run(p.quiet, "--policy", p.inside),
		insideBwrap: {p.quiet, same},
		insideRules: run(p.checkout),
		rulesBwrap:  {p.checkout, sameRules},
		unguarded:   run(p.guarded, "--policy", p.open),
		guarded100:  run(p.guarded, "--policy", p.protect100),
	}, nil
}

// insideRows judges them.
func insideRows(s samples) []row {
	return []row{
		plain("ms, "+bwrapAll, s.time(bwrapAll), "%.2f"),
		plain("ms, "+insideBwrap, s.time(insideBwrap), "%.2f"),
		plain("ms, "+inside, s.time(inside), "%.2f"),
		plain(inside+", × bwrap with the binds of P alone", s.ratio(inside, bwrapAll), "%.2f"),
		bounded(inside+", × bwrap with the same", s.ratio(inside, insideBwrap), 0.95),
		plain("ms, "+rulesBwrap, s.time(rulesBwrap), "%.2f"),
		plain("ms, "+insideRules, s.time(insideRules), "%.2f"),
		bounded(insideRules+", × bwrap with the same", s.ratio(insideRules, rulesBwrap), 0.95),
		bounded("ms more, 100 protected paths", s.difference(guarded100, unguarded), 3),
		atMost("MiB, peak memory of the supervisor, the largest of all rounds", max(s.peak(inside), s.peak(insideRules)), 8),
	}
}

// startRows judges the starts.
func startRows(s samples) []row {
	rows := []row{plain("ms, "+direct, s.time(direct), "%.2f"), plain("ms, bwrap … -- /bin/true", s.time(bwrap), "%.2f")}
	if s[become] != nil {
		rows = append(rows, plain("ms, "+become, s.time(become), "%.2f"),
			bounded(become+", × bwrap", s.ratio(become, bwrap), 0.60))
	} else {
		rows = append(rows, row{what: become + ", × bwrap", bound: "≤ 0.60", verdict: "not measured: no place for its policy"})
	}
	return append(rows,
		plain("ms, "+run, s.time(run), "%.2f"),
		bounded(run+", × bwrap", s.ratio(run, bwrap), 0.78),
		bounded("ms more, 100 more paths in P", s.difference(run100, run), 0.8),
		plain("ms, "+byRules, s.time(byRules), "%.2f"),
		bounded(byRules+", × bwrap", s.ratio(byRules, bwrap), 1.30),
		atMost("MiB, peak memory of the supervisor, the largest of all rounds", max(s.peak(run), s.peak(byRules)), 8),
	)
}

// atMost is a row of a size: it has no interval.
func atMost(what string, value, bound float64) row {
	verdict := "holds"
	if value > bound {
		verdict = "does not hold"
	}
	return row{what, fmt.Sprintf("%.1f", value), "", fmt.Sprintf("≤ %.0f", bound), verdict}
}

// sizeRows judges what is installed.
func (p *place) sizeRows() ([]row, error) {
	names, err := filepath.Glob(filepath.Join(p.bin, "brainbox*"))
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		rows = append(rows, atMost("MiB, the file "+filepath.Base(name), float64(info.Size())/(1<<20), 8))
	}
	return rows, nil
}

// work is one program whose running time is compared.
type work struct {
	what  string
	bound float64
	long  bool
	cmd   command
}

func (p *place) works() []work {
	env := func(argv ...string) []string {
		w := p.work
		return append([]string{
			"/usr/bin/env", "PATH=" + os.Getenv("PATH"), "HOME=" + w, "GIT_CONFIG_GLOBAL=/dev/null", "GOCACHE=" + w + "/cache",
			"GOPATH=" + w + "/go", "GOFLAGS=-buildvcs=false", "GOTOOLCHAIN=local", "GOTELEMETRY=off", "TMPDIR=" + w,
		}, argv...)
	}
	return []work{
		{"git status, 20 000 files", 1.10, false, command{filepath.Join(p.work, "tree"), env("git", "status")}},
		{"tar of 6 000 small files", 1.20, false, command{p.work, env("tar", "-cf", "small.tar", "small")}},
		{
			"go build -a of a small program", 1.05, true,
			command{filepath.Join(p.work, "program"), env("go", "build", "-a", "-o", "program", ".")},
		},
	}
}

// The commands of a group that compares a running time.
const (
	bare, confined           = "bare", "confined"
	bareStart, confinedStart = "bare start", "confined start"
)

func (p *place) group(c command) ([]string, map[string]command) {
	return []string{bare, confined, bareStart, confinedStart}, map[string]command{
		bare:          c,
		confined:      {c.dir, p.run(p.policy, c.argv...)},
		bareStart:     {c.dir, []string{"/bin/true"}},
		confinedStart: {c.dir, p.run(p.policy, "/bin/true")},
	}
}

func workRows(w work, s samples) []row {
	return []row{
		plain("ms, "+w.what+", nothing else", s.time(bare), "%.1f"),
		plain("ms, "+w.what+", brainbox run", s.time(confined), "%.1f"),
		bounded(w.what+", net of the start, ×", s.net(confined, bare, confinedStart, bareStart), w.bound),
	}
}
