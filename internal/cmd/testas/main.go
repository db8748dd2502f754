package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

// options are what the command line says.
type options struct {
	uid, gid uint
	run      string
	mustRun  string
	timeout  time.Duration
	assert   bool   // this process is the one that asserts its identity
	self     bool   // run as the caller
	flags    string // for go test, with self
	goarch   string // what the tests are built for
	report   string // file for what ran and what did not
	packages []string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := start(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "testas:", err)
		os.Exit(1)
	}
}

// start reads the command line and does what it says.
func start(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	opts, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if opts.assert {
		return assertIdentity(int(opts.uid), int(opts.gid))
	}
	if opts.self {
		return testSelf(ctx, opts, stdout)
	}
	return testAll(ctx, opts, stdout)
}

func parse(args []string, stderr io.Writer) (options, error) {
	var opts options
	flags := flag.NewFlagSet("testas", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.UintVar(&opts.uid, "uid", 61000, "user id that the tests run under")
	flags.UintVar(&opts.gid, "gid", 61000, "group id that the tests run under")
	flags.StringVar(&opts.run, "run", "", "run only the tests that match `PATTERN`")
	flags.StringVar(&opts.mustRun, "must-run", mustRunAs(os.Getenv(mustRun), false),
		"`WORDS` of BRAINBOX_TEST_MUST_RUN for the tests")
	flags.DurationVar(&opts.timeout, "timeout", 10*time.Minute, "time limit of one package")
	flags.BoolVar(&opts.assert, "assert", false, "only assert that this process has the uid and the gid")
	flags.BoolVar(&opts.self, "self", false, "run the tests as the caller, by go test, and only those that fail again")
	flags.StringVar(&opts.flags, "flags", "", "with -self: `FLAGS` for go test")
	flags.StringVar(&opts.goarch, "goarch", runtime.GOARCH, "`ARCHITECTURE` that the tests are built for, without cgo if it is another")
	flags.StringVar(&opts.report, "report", "", "`FILE` to append to: of each package what passed, and each test that did not, with its reason")
	if err := flags.Parse(args); err != nil {
		return opts, err
	}
	opts.packages = flags.Args()
	if opts.uid == 0 {
		opts.mustRun = mustRunAs(opts.mustRun, true)
	}
	switch {
	case opts.uid > 1<<31-1 || opts.gid > 1<<31-1:
		return opts, errors.New("uid or gid is too large")
	case opts.flags != "" && !opts.self:
		return opts, errors.New("-flags are for -self; -run chooses tests here")
	case !opts.assert && len(opts.packages) == 0:
		return opts, errors.New("no packages; usage: testas [-uid N] [-gid N] PACKAGES")
	}
	return opts, nil
}
