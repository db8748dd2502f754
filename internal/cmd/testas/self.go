package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// testSelf runs the tests as the caller, by go test, and those that failed again.
func testSelf(ctx context.Context, opts options, stdout io.Writer) error {
	_, pkgs, err := list(ctx, runtime.GOARCH, opts.packages)
	if err != nil {
		return err
	}
	args := []string{"-count=1", fmt.Sprintf("-p=%d", atOnce)}
	for _, p := range pkgs {
		args = append(args, p.path)
	}
	out, err := goTest(ctx, opts, stdout, args...)
	if err == nil {
		return nil
	}
	failed, ok := failedPackages(out)
	if !ok || ctx.Err() != nil {
		return err
	}
	for _, p := range failed {
		fmt.Fprintf(stdout, "testas: once more, alone: %s: %s\n", p.path, strings.Join(p.tests, " "))
		args := []string{"-count=" + fmt.Sprint(again), "-run=^(" + strings.Join(p.tests, "|") + ")$", p.path}
		out, failed := goTest(ctx, opts, stdout, args...)
		if failed != nil || strings.Contains(out, "no tests to run") {
			return errors.Join(err, failed)
		}
	}
	for _, p := range failed {
		fmt.Fprintf(stdout, "ok\t%s\tUNSTEADY: %s\n", p.path, strings.Join(p.tests, " "))
	}
	return nil
}

// goTest runs go test, and shows and returns what it prints.
func goTest(ctx context.Context, opts options, stdout io.Writer, args ...string) (string, error) {
	var kept bytes.Buffer
	all := append([]string{"test", "-timeout=" + opts.timeout.String()}, strings.Fields(opts.flags)...)
	cmd := exec.CommandContext(ctx, "go", append(all, args...)...)
	cmd.Stdout, cmd.Stderr = io.MultiWriter(stdout, &kept), os.Stderr
	err := cmd.Run()
	return kept.String(), err
}

// failedPackage is a package of which only tests failed that may be run again.
type failedPackage struct {
	path  string
	tests []string
}

// failedPackages reads what go test prints. It is not ok if anything else went wrong than
// that tests failed, or the first failure of one counts.
func failedPackages(out string) (list []failedPackage, ok bool) {
	var tests []string
	crashed := false
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		fields := strings.Split(line, "\t")
		name, isTest := strings.CutPrefix(line, "--- FAIL: ")
		switch {
		case isTest:
			name, _, _ = strings.Cut(name, " ")
			tests = append(tests, name)
			crashed = crashed || attacks.MatchString(name)
		case strings.HasPrefix(line, "panic: "), strings.HasPrefix(line, "fatal error: "):
			crashed = true
		case len(fields) > 1 && fields[0] == "FAIL":
			if crashed || len(tests) == 0 {
				return nil, false
			}
			list = append(list, failedPackage{fields[1], tests})
			tests = nil
		case len(fields) > 1 && strings.HasPrefix(line, "ok"):
			tests, crashed = nil, false
		}
	}
	return list, len(list) > 0
}
