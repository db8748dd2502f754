package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// runner runs targets and writes down what became of them.
type runner struct {
	root, goCommand string
	parallel        int
	path            string // of the state file
	state           state
	cache           string // the fuzz folder of the build cache, with the module's name
	bins            string // folder of test binaries
}

// goEnv is one value of go env.
func goEnv(goCommand, name string) (string, error) {
	out, err := exec.Command(goCommand, "env", name).Output()
	return strings.TrimSpace(string(out)), err
}

// build makes the test binary of a package, with the fuzzer's counters or with blocks of
// coverage, once.
func (r *runner) build(ctx context.Context, dir, flag string) (string, error) {
	bin := filepath.Join(r.bins, strings.ReplaceAll(dir, "/", "_")+strings.ReplaceAll(flag, "/", "_"))
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	args := []string{"test", "-c", "-o", bin, flag, "./" + dir}
	if flag == coverFlag {
		args = []string{"test", "-c", "-o", bin, flag, "-covermode=count", "./" + dir}
	}
	cmd := exec.CommandContext(ctx, r.goCommand, args...)
	cmd.Dir = r.root
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", dir, err, out)
	}
	return bin, nil
}

const (
	fuzzFlag  = "-fuzz=Fuzz" // instruments; which target is said when it runs
	coverFlag = "-cover"
)

// fuzz runs one target for its time. The error says that the target failed, or was interrupted.
func (r *runner) fuzz(ctx context.Context, j job, day string) error {
	bin, err := r.build(ctx, j.Dir, fuzzFlag)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, bin, "-test.run=^$", "-test.fuzz=^"+j.Func+"$", "-test.fuzztime="+j.For.String(),
		"-test.fuzzcachedir="+filepath.Join(r.cache, j.Dir), "-test.parallel="+strconv.Itoa(r.parallel))
	cmd.Dir = filepath.Join(r.root, j.Dir)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = 10 * time.Second
	out, in := io.Pipe()
	cmd.Stdout, cmd.Stderr = in, in
	before := r.state[j.String()]
	ended := make(chan error, 1)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		err := cmd.Wait()
		_ = in.Close()
		ended <- err
	}()
	said, failed := r.follow(out, j, before, day)
	err = <-ended
	if err == nil || ctx.Err() != nil && !failed {
		return ctx.Err()
	}
	d := r.state[j.String()]
	d.Failed, d.Last = firstReason(said), day
	r.state[j.String()] = d
	return errors.Join(fmt.Errorf("%s: %w\n%s", j, err, said), r.state.write(r.path))
}

// follow reads what the fuzzer says and keeps the state up to date. It returns the other lines,
// and whether one said that the target failed.
func (r *runner) follow(out io.Reader, j job, before done, day string) (string, bool) {
	var said bytes.Buffer
	failed := false
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		p, ok := parseLine(lines.Text())
		if !ok {
			failed = failed || strings.HasPrefix(lines.Text(), "--- FAIL")
			if said.Len() < 16<<10 {
				fmt.Fprintln(&said, lines.Text())
			}
			continue
		}
		now := before.plus(p, day)
		now.Failed = ""
		r.state[j.String()] = now
		if err := r.state.write(r.path); err != nil {
			fmt.Fprintln(os.Stderr, "fuzz:", err)
		}
	}
	_, _ = io.Copy(io.Discard, out) // after a line too long
	return said.String(), failed
}

// firstReason is the line that says why, of what a failed target printed.
func firstReason(said string) string {
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "---") && !strings.HasPrefix(line, "fuzz:") {
			return line
		}
	}
	return "failed"
}
