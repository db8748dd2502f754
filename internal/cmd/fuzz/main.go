package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// options are what the command line says.
type options struct {
	whole    time.Duration
	match    string
	parallel int
	state    string
	report   string
	reset    string
	corpus   bool
	list     bool
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	set := flag.NewFlagSet("fuzz", flag.ContinueOnError)
	set.SetOutput(stderr)
	set.DurationVar(&o.whole, "time", 30*time.Second, "how long each target is run, all runs together")
	set.StringVar(&o.match, "match", "", "only targets whose `DIR NAME` matches this regular expression")
	set.IntVar(&o.parallel, "parallel", runtime.NumCPU(), "workers of one target")
	set.StringVar(&o.state, "state", "", "state `FILE` (default: brainbox/fuzz.json in the user's cache folder)")
	set.StringVar(&o.report, "report", "", "write the summary to this `FILE`")
	set.StringVar(&o.reset, "reset", "", "forget the time of targets that match, and end")
	set.BoolVar(&o.corpus, "corpus", false, "keep the inputs that reach something new as testdata, and end")
	set.BoolVar(&o.list, "list", false, "print what would be run, and end")
	if err := set.Parse(args); err != nil {
		return o, err
	}
	if set.NArg() > 0 || o.whole <= 0 || o.parallel < 1 {
		return o, errors.New("usage: fuzz [-time D] [-match RE] [-parallel N] [-state FILE] [-report FILE]")
	}
	return o, nil
}

func main() {
	o, err := parse(os.Args[1:], os.Stderr)
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		err = run(ctx, o, os.Stderr)
		stop()
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(1)
	}
}

// newRunner finds the module, the caches and the state.
func newRunner(o options) (*runner, error) {
	r := &runner{goCommand: os.Getenv("GO"), parallel: o.parallel, path: o.state}
	if r.goCommand == "" {
		r.goCommand = "go"
	}
	mod, err := goEnv(r.goCommand, "GOMOD")
	if err != nil {
		return nil, err
	}
	r.root = filepath.Dir(mod)
	cache, err := goEnv(r.goCommand, "GOCACHE")
	if err != nil {
		return nil, err
	}
	r.cache = filepath.Join(cache, "fuzz", "brainbox")
	if r.path == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return nil, err
		}
		r.path = filepath.Join(dir, "brainbox", "fuzz.json")
	}
	r.state, err = readState(r.path)
	return r, err
}

func run(ctx context.Context, o options, stderr io.Writer) error {
	match, err := regexp.Compile(o.match)
	if err != nil {
		return err
	}
	r, err := newRunner(o)
	if err != nil {
		return err
	}
	all, err := find(r.root)
	if err != nil {
		return err
	}
	if r.bins, err = os.MkdirTemp("", "brainbox-fuzz-"); err != nil {
		return err
	}
	defer os.RemoveAll(r.bins)
	switch {
	case o.reset != "":
		return r.reset(all, o.reset)
	case o.corpus:
		return r.keepCorpora(ctx, all, match, stderr)
	}
	jobs := plan(all, r.state, match, o.whole)
	if o.list {
		for _, j := range jobs {
			fmt.Fprintf(stderr, "%s %s\n", j.target, j.For)
		}
		return nil
	}
	err = r.all(ctx, jobs, stderr)
	if o.report != "" {
		text := report(all, r.state, r.version(), runtime.Version())
		err = errors.Join(err, os.WriteFile(o.report, []byte(text), 0o644))
	}
	return err
}

// all runs the jobs in turn. A target that fails ends none of the others.
func (r *runner) all(ctx context.Context, jobs []job, stderr io.Writer) error {
	var errs []error
	for i, j := range jobs {
		fmt.Fprintf(stderr, "fuzz: %d of %d: %s for %s\n", i+1, len(jobs), j.target, j.For)
		err := r.fuzz(ctx, j, time.Now().Format(time.DateOnly))
		if ctx.Err() != nil {
			fmt.Fprintln(stderr, "fuzz: interrupted; the next call goes on here")
			return errors.Join(append(errs, ctx.Err())...)
		}
		if err != nil {
			fmt.Fprintln(stderr, "fuzz:", err)
			errs = append(errs, fmt.Errorf("%s failed", j.target))
		}
	}
	return errors.Join(errs...)
}

func (r *runner) reset(all []target, pattern string) error {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	for _, t := range all {
		if re.MatchString(t.String()) {
			delete(r.state, t.String())
		}
	}
	return r.state.write(r.path)
}

// version is what git says of the tree.
func (r *runner) version() string {
	cmd := exec.Command("git", "describe", "--tags", "--always")
	cmd.Dir = r.root
	out, err := cmd.Output()
	if err != nil {
		return "version unknown"
	}
	return "version " + strings.TrimSpace(string(out))
}
