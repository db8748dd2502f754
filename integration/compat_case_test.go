package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"brainbox/internal/needs"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// compatCase is one script of a real program. It runs twice in a checkout of the same
// path: bare, which has to succeed (the positive control), and then confined, which
// has to print the same and to leave the same work tree.
type compatCase struct {
	name   string
	needs  []string // programs that are asked for by internal/needs
	maybe  []string // programs without which the case is left out
	slow   bool     // left out by -short
	named  bool     // left out if /etc/passwd does not name the user
	flags  []string // of brainbox run; none is the default policy
	setup  string   // script that prepares the checkout, bare
	dir    string   // where the script starts, below the checkout
	script string   // for sh -eu

	varies  string // pattern for what is printed, if that is not always the same
	differs bool   // the content of the written files is not always the same
	noisy   bool   // what standard error says is not compared

	// refused is the pattern for what the confined script prints instead where
	// isolation landlock cannot allow what it does; its status is then free.
	refused string
	ns      string   // the same for isolation namespaces
	nsFlags []string // further flags there
	notNS   string   // why the case is left out there
}

// compatLimit bounds one script.
const compatLimit = 4 * time.Minute

// outcome is what a script did.
type outcome struct {
	status         int
	stdout, stderr string
	tree           map[string]string
}

func runCompat(t *testing.T, cases []compatCase) {
	t.Helper()
	needs.LandlockABI(t, 6)
	needs.Seccomp(t)
	for _, c := range cases {
		if c.adapt() {
			t.Run(c.name, func(t *testing.T) { c.run(t) })
		}
	}
}

func (c compatCase) run(t *testing.T) {
	c.gate(t)
	dir := newPlace(t)
	control := c.outside(t, dir)
	before := topLevel(t)
	inside := c.inside(t, dir)
	if diff := cmp.Diff(before, topLevel(t)); diff != "" {
		t.Errorf("the top of / changed (-before +after):\n%s", diff)
	}
	dir.empty(t)
	c.judge(t, control, inside)
}

// gate leaves the case out where its programs are not.
func (c compatCase) gate(t *testing.T) {
	t.Helper()
	for _, name := range c.needs {
		needProgram(t, name)
	}
	for _, name := range c.maybe {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(err) // gating: nobody asks for this program, and internal/needs has no word for it
		}
	}
	if _, err := user.LookupId(strconv.Itoa(os.Geteuid())); c.named && err != nil {
		t.Skip(err) // gating: the program asks for the user's name
	}
	if c.slow && testing.Short() {
		t.Skip("slow") // gating: -short
	}
}

// outside runs the positive control.
func (c compatCase) outside(t *testing.T, dir place) outcome {
	t.Helper()
	dir.fresh(t, c.setup)
	got := execute(t, dir, c.dir, []string{"/bin/sh", "-euc", c.script})
	if got.status == 0 && got.stdout != "" && (c.varies == "" || matches(t, c.varies, got.stdout)) {
		return got
	}
	report := t.Skipf // gating: the bare program has to work, internal/needs has no word for it
	if os.Getenv(needs.MustRun) != "" {
		report = t.Fatalf
	}
	report("control: status %d\n%s\nstandard error: %s", got.status, got.stdout, got.stderr)
	return got
}

func (c compatCase) inside(t *testing.T, dir place) outcome {
	t.Helper()
	dir.fresh(t, c.setup)
	argv := append([]string{program("brainbox"), "run", "--isolation", isolation}, c.flags...)
	return execute(t, dir, c.dir, append(argv, "--", "/bin/sh", "-euc", c.script))
}

// judge compares what the confined script did with the control.
func (c compatCase) judge(t *testing.T, control, inside outcome) {
	t.Helper()
	if c.refused != "" {
		if !matches(t, c.refused, inside.stdout) {
			t.Errorf("printed %q, want %q\nstandard error: %s", inside.stdout, c.refused, inside.stderr)
		}
		return
	}
	if inside.status != 0 {
		t.Fatalf("status %d\n%s\nstandard error: %s", inside.status, inside.stdout, inside.stderr)
	}
	if c.varies != "" {
		if !matches(t, c.varies, inside.stdout) {
			t.Errorf("printed %q, want %q", inside.stdout, c.varies)
		}
	} else if diff := cmp.Diff(control.stdout, inside.stdout); diff != "" {
		t.Errorf("standard output (-bare +confined):\n%s", diff)
	}
	if !c.noisy {
		complaints(t, control.stderr, inside.stderr)
	}
	if c.differs {
		shapes(control.tree)
		shapes(inside.tree)
	}
	if diff := cmp.Diff(control.tree, inside.tree); diff != "" {
		t.Errorf("work tree (-bare +confined):\n%s", diff)
	}
}

// complaints reports lines of standard error that only the confined program wrote: a
// program may go on after a refusal, and still not do what it should.
func complaints(t *testing.T, bare, confined string) {
	t.Helper()
	known := strings.Split(bare, "\n")
	for line := range strings.SplitSeq(confined, "\n") {
		if line != "" && !slices.Contains(known, line) {
			t.Errorf("only the confined program said %q", line)
		}
	}
}

func matches(t *testing.T, pattern, text string) bool {
	t.Helper()
	re, err := regexp.Compile(`\A(?:` + pattern + `)\z`)
	must(t, err)
	return re.MatchString(text)
}

// needProgram asks for a program under the word that it has.
func needProgram(t *testing.T, name string) {
	t.Helper()
	switch name {
	case "git", "node", "npm", "cc", "strace", "gdb", "cargo":
		needs.Tool(t, name)
	default:
		needs.Program(t, name)
	}
}

// place is where the two runs of a case happen.
type place struct {
	work string // the checkout
	tmp  string // the base of brainbox's own folders
	env  []string
}

func newPlace(t *testing.T) place {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	p := place{work: filepath.Join(root, "checkout"), tmp: filepath.Join(root, "tmp")}
	must(t, os.Mkdir(p.tmp, 0o700))
	// The caches of the bare run; brainbox gives the confined program its own.
	cache, err := os.UserCacheDir()
	must(t, err)
	config := filepath.Join(root, "config")
	must(t, os.MkdirAll(filepath.Join(config, "git"), 0o700))
	const identity = "[user]\n\tname = Tester\n\temail = t@example.com\n"
	must(t, os.WriteFile(filepath.Join(config, "git/config"), []byte(identity), 0o600))
	p.env = environ(t, "TMPDIR="+p.tmp, "XDG_CONFIG_HOME="+config, "GOCACHE="+filepath.Join(cache, "go-build"),
		"npm_config_cache="+filepath.Join(root, "npm"), "LC_ALL=C.UTF-8",
		"TERM=xterm", "TZ=Europe/Berlin", "GOFLAGS=")
	return p
}

// fresh makes the checkout anew.
func (p place) fresh(t *testing.T, setup string) {
	t.Helper()
	must(t, removeAll(p.work))
	must(t, removeAll(p.tmp))
	must(t, errors.Join(os.Mkdir(p.work, 0o755), os.Mkdir(p.tmp, 0o700)))
	const first = `git init -q -b main . && git config user.name Tester && git config user.email t@example.com
		printf 'first\n' >README && git add README &&
		GIT_AUTHOR_DATE=2001-02-03T04:05:06Z GIT_COMMITTER_DATE=2001-02-03T04:05:06Z git commit -qm first`
	if _, err := exec.LookPath("git"); err == nil {
		setup = first + "\n" + setup
	}
	if got := execute(t, p, "", []string{"/bin/sh", "-euc", setup}); got.status != 0 {
		t.Fatalf("setup: status %d\n%s%s", got.status, got.stdout, got.stderr)
	}
}

// empty checks that brainbox left nothing in its base.
func (p place) empty(t *testing.T) {
	t.Helper()
	base := filepath.Join(p.tmp, fmt.Sprintf("brainbox-%d", os.Geteuid()))
	entries, err := os.ReadDir(base)
	must(t, err) // it is made by the first run and stays
	for _, e := range entries {
		t.Errorf("left behind: %s", filepath.Join(base, e.Name()))
	}
	entries, err = os.ReadDir(p.tmp)
	must(t, err)
	if len(entries) != 1 {
		t.Errorf("left behind in the base of the private folders: %v", entries)
	}
}

// execute runs a program in a folder of the checkout and looks at what it left there.
func execute(t *testing.T, p place, dir string, argv []string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), compatLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = filepath.Join(p.work, dir), p.env
	// Programs behave differently on a terminal and with one behind them.
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = patience
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatalf("%q: %v", argv, err)
	}
	status := cmd.ProcessState.ExitCode()
	return outcome{status, stdout.String(), stderr.String(), workTree(t, p.work)}
}

// workTree describes every name in the checkout but for what is different in every
// run: inodes, times and git's index.
func workTree(t *testing.T, root string) map[string]string {
	t.Helper()
	seen := map[string]string{}
	must(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		text := fmt.Sprintf("%o", st.Mode)
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			seen[name] = text + " " + target
			return err
		case d.Type().IsRegular() && !strings.HasSuffix(name, ".git/index"):
			content, err := os.ReadFile(path)
			seen[name] = text + " " + short(content)
			return err
		}
		seen[name] = text
		return nil
	}))
	return seen
}
