package main

import (
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

// user is who the tests run as, and where.
type user struct {
	uid, gid uint32
	mustRun  string
	base     string // 0755; holds bin, src, and what is the user's own: home, tmp
}

// testAll builds, copies and runs. Everything it made is removed at the end.
func testAll(ctx context.Context, opts options, stdout io.Writer) (err error) {
	module, pkgs, err := list(ctx, opts.goarch, opts.packages)
	if err != nil {
		return err
	}
	base, err := os.MkdirTemp("/tmp", fmt.Sprintf("brainbox-testas-%d-", os.Getpid()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(base)) }()
	u := user{uint32(opts.uid), uint32(opts.gid), opts.mustRun, base}
	if err := u.prepare(module); err != nil {
		return err
	}
	if err := u.modules(ctx); err != nil {
		return err
	}
	if err := u.assert(ctx); err != nil {
		return fmt.Errorf("the tests would not run as uid %d: %w", u.uid, err)
	}
	return u.all(ctx, opts, pkgs, stdout)
}

// atOnce is how many packages are built and tested at a time. Tests wait half of their time.
const atOnce = 3

// all tests the packages. What one prints is not mixed with another's.
func (u user) all(ctx context.Context, opts options, pkgs []pkg, stdout io.Writer) error {
	results := make([]chan result, len(pkgs))
	next := make(chan int, len(pkgs))
	for i := range pkgs {
		results[i] = make(chan result, 1)
		next <- i
	}
	close(next)
	for range atOnce {
		go func() {
			for i := range next {
				results[i] <- u.one(ctx, opts, pkgs[i], filepath.Join(u.base, "bin", strconv.Itoa(i)+".test"))
			}
		}()
	}
	failed := 0
	var broken error
	var report strings.Builder
	for i := range pkgs {
		r := <-results[i]
		_, _ = stdout.Write(r.text)
		report.WriteString(r.report)
		broken = errors.Join(broken, r.broken)
		if r.failed != nil {
			fmt.Fprintf(stdout, "FAIL\t%s\t%v\n", pkgs[i].path, r.failed)
			failed++
		}
	}
	if opts.report != "" {
		broken = errors.Join(broken, appendTo(opts.report, report.String()))
	}
	if broken == nil && failed > 0 {
		return fmt.Errorf("%d of %d packages failed", failed, len(pkgs))
	}
	return broken
}

// result is what became of a package: what it printed, and why it failed or was not tested.
type result struct {
	text           []byte
	report         string
	failed, broken error
}

// one builds and tests a package.
func (u user) one(ctx context.Context, opts options, p pkg, binary string) (r result) {
	var out bytes.Buffer
	defer func() { r.text = out.Bytes() }()
	if p.tests == 0 {
		fmt.Fprintf(&out, "-\t%s\tno test files\n", p.path)
		r.report = "\n" + p.path + "\n    no tests here\n"
		return r
	}
	if _, r.broken = goFor(ctx, opts.goarch, "test", "-c", "-o", binary, p.path); r.broken != nil {
		return r
	}
	if r.broken = os.Chmod(binary, 0o755); r.broken == nil {
		r.report, r.failed = u.test(ctx, opts, p, binary, &out)
	}
	return r
}

// prepare fills the base folder.
func (u user) prepare(module string) error {
	if err := os.Chmod(u.base, 0o755); err != nil {
		return err
	}
	if err := mkdir(filepath.Join(u.base, "bin"), 0o755); err != nil {
		return err
	}
	for _, own := range []string{"home", "tmp"} {
		dir := filepath.Join(u.base, own)
		if err := mkdir(dir, 0o700); err != nil {
			return err
		}
		if err := os.Chown(dir, int(u.uid), int(u.gid)); err != nil {
			return err
		}
	}
	return copyTree(module, filepath.Join(u.base, "src"))
}

// assert runs this program under the uid, as the tests will run.
func (u user) assert(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	probe := filepath.Join(u.base, "bin", "testas")
	if err := copyFile(self, probe); err != nil {
		return err
	}
	out, err := u.command(ctx, u.base, probe, "-assert",
		fmt.Sprintf("-uid=%d", u.uid), fmt.Sprintf("-gid=%d", u.gid)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// test runs one test binary and judges its output.
func (u user) test(ctx context.Context, opts options, p pkg, binary string, stdout io.Writer) (report string, _ error) {
	// The binary's own limit comes first, and says which test it was in.
	ctx, cancel := context.WithTimeout(ctx, opts.timeout+time.Minute)
	defer cancel()
	args := []string{"-test.v=test2json", "-test.timeout=" + opts.timeout.String()}
	if opts.run != "" {
		args = append(args, "-test.run="+opts.run)
	}
	dir := filepath.Join(u.base, "src", p.dir)
	out, err := u.command(ctx, dir, binary, args...).CombinedOutput()
	n := count(string(out))
	report = describe(p.path, string(out), err)
	if err == nil && n.ran == 0 {
		err = errors.New("no test ran")
	}
	var shaky []string
	if err != nil {
		_, _ = io.WriteString(stdout, failures(string(out)))
		if shaky = unsteady(string(out)); len(shaky) == 0 || ctx.Err() != nil {
			return report, err
		}
		out, failed := u.command(ctx, dir, binary, append(args, onlyThese(shaky)...)...).CombinedOutput()
		if failed != nil || count(string(out)).ran < again*len(shaky) {
			_, _ = io.WriteString(stdout, failures(string(out)))
			return report, err
		}
	}
	fmt.Fprintf(stdout, "ok\t%s\t%d tests", p.path, n.ran)
	if n.skipped > 0 {
		fmt.Fprintf(stdout, ", %d skipped", n.skipped)
	}
	if len(shaky) > 0 {
		fmt.Fprintf(stdout, ", UNSTEADY: %s", strings.Join(shaky, " "))
	}
	fmt.Fprintln(stdout)
	return report, nil
}

// command is a program under the uid, in an environment of its own.
func (u user) command(ctx context.Context, dir, program string, args ...string) *exec.Cmd {
	home, tmp := filepath.Join(u.base, "home"), filepath.Join(u.base, "tmp")
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.WaitDelay = 10 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: u.uid, Gid: u.gid}
	}
	cmd.Env = append(handedOver(os.Environ()),
		"PATH="+os.Getenv("PATH"), "LANG=C.UTF-8",
		"HOME="+home, "TMPDIR="+tmp, "PWD="+dir,
		"XDG_CACHE_HOME="+filepath.Join(home, ".cache"),
		"GOCACHE="+filepath.Join(home, ".cache", "go-build"),
		"GOMODCACHE="+u.modCache(), "GOFLAGS=-modcacherw -buildvcs=false", "GOTOOLCHAIN=local",
		testUID+"="+strconv.Itoa(int(u.uid)),
		mustRun+"="+u.mustRun)
	return cmd
}

const (
	// mustRun is the variable of package needs.
	mustRun = "BRAINBOX_TEST_MUST_RUN"
	// testUID is the variable that has the uid for tests that assert it.
	testUID = "BRAINBOX_TEST_UID"
	// marker is in front of what package testing writes for test2json.
	marker = "\x16"
)

// mustRunAs replaces the word for the other kind of user: one process cannot be
// both. Every other word stays.
func mustRunAs(value string, root bool) string {
	from, to := "root", "user"
	if root {
		from, to = "user", "root"
	}
	words := strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
	var out []string
	for _, word := range words {
		if word == from {
			word = to
		}
		out = append(out, word)
	}
	return strings.Join(out, ",")
}

// failures is a test binary's output without the lines of package testing that
// tell of no failure.
func failures(out string) string {
	var b strings.Builder
	for i, part := range strings.Split(out, marker) {
		line, after, _ := strings.Cut(part, "\n")
		if i > 0 && (strings.HasPrefix(line, "=== ") || strings.HasPrefix(strings.TrimLeft(line, " "), "--- PASS: ")) {
			part = after
		}
		b.WriteString(part)
	}
	return b.String()
}

// tally is how many tests a binary ran, subtests included, and how many of them
// skipped.
type tally struct{ ran, skipped int }

// count reads the verdicts in a test binary's output. Only what package testing
// wrote counts. A test that skipped did not run.
func count(out string) tally {
	var n tally
	_, rest, _ := strings.Cut(out, marker)
	for part := range strings.SplitSeq(rest, marker) {
		part = strings.TrimLeft(part, " ")
		switch {
		case strings.HasPrefix(part, "--- PASS: "), strings.HasPrefix(part, "--- FAIL: "):
			n.ran++
		case strings.HasPrefix(part, "--- SKIP: "):
			n.skipped++
		}
	}
	return n
}
