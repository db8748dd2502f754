package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"brainbox": main,
		"closed":   closed,
		"pair":     pair,
		"served":   served,
		"reach":    reacher,
	})
}

// TestScript runs testdata/script/*.txtar. Besides the commands of testscript there are
//
//	status N COMMAND…    COMMAND ends with status N
//	refused COMMAND…     COMMAND ends with 125, prints one line "brainbox: …" and at most
//	                     one "brainbox: hint: …", prints nothing to standard output, and
//	                     leaves no folder of a run
//	clean                no folder of a run is left
//	sibling NAME         builds cmd/NAME beside the brainbox that the scripts run
//
// and COMMAND may be "pair", which runs its arguments with a connected socket as
// descriptor 3, a listening one as 4 and a datagram one as 5, or "closed", which runs them
// where nobody may make user namespaces.
func TestScript(t *testing.T) {
	needs.Kernel(t)
	scripts(t, "testdata/script")
}

// TestScriptInside runs testdata/inside/*.txtar, which start in namespaces.
func TestScriptInside(t *testing.T) {
	needs.Userns(t)
	scripts(t, "testdata/inside")
}

// TestScriptLandrun runs testdata/landrun/*.txtar, the matrix of a neighbour with the flags of
// this command, in both isolations: $ISOLATION is the one that is meant.
func TestScriptLandrun(t *testing.T) {
	needs.LandlockABI(t, 6)
	for _, isolation := range []string{"landlock", "namespaces"} {
		t.Run(isolation, func(t *testing.T) {
			if isolation == "namespaces" {
				needs.Userns(t)
			}
			scripts(t, "testdata/landrun", "ISOLATION="+isolation)
		})
	}
}

func scripts(t *testing.T, dir string, vars ...string) {
	files, err := filepath.Glob(dir + "/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v, %v", files, err)
	}
	testscript.Run(t, testscript.Params{
		Dir: dir, RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			err := setUp(env)
			env.Vars = append(env.Vars, vars...)
			return err
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "root":
				return os.Geteuid() == 0, nil
			case "landlock", "namespaces":
				return slices.Contains(vars, "ISOLATION="+name), nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": statusCommand, "refused": refusedCommand, "clean": cleanCommand, "sibling": siblingCommand,
		},
	})
}

// setUp gives each script a home, a temporary folder and a checkout of its own, and
// nothing of the machine's environment.
func setUp(env *testscript.Env) error {
	path := env.Getenv("PATH")
	env.Vars = nil
	for name, value := range map[string]string{
		"WORK": env.WorkDir, "HOME": env.WorkDir + "/home", "TMPDIR": env.WorkDir + "/tmp", "PATH": path, "LANG": "C.UTF-8",
		"BASE": fmt.Sprintf("%s/tmp/brainbox-%d", env.WorkDir, os.Geteuid()), "GIT_CONFIG_NOSYSTEM": "1", "USERID": strconv.Itoa(os.Geteuid()),
	} {
		env.Setenv(name, value)
	}
	if os.Geteuid() == 0 { // root's home is that of /etc/passwd, whatever $HOME says
		env.Setenv("XDG_CONFIG_HOME", env.WorkDir+"/home/.config")
		env.Setenv("XDG_STATE_HOME", env.WorkDir+"/home/.local/state")
	}
	env.Cd = env.WorkDir + "/co"
	unix.Umask(0o022)
	return errors.Join(
		os.MkdirAll(env.WorkDir+"/home/.config", 0o700), os.MkdirAll(env.WorkDir+"/home/.local/state", 0o700),
		os.MkdirAll(env.WorkDir+"/tmp", 0o700), os.MkdirAll(env.Cd, 0o755))
}

func run1(ts *testscript.TestScript, want int, args []string) {
	err := ts.Exec(args[0], args[1:]...)
	got := 0
	var ee *exec.ExitError
	switch {
	case errors.As(err, &ee):
		got = ee.ExitCode()
	case err != nil:
		ts.Fatalf("%q: %v", args, err)
	}
	if got != want {
		ts.Fatalf("%q ended with status %d, want %d", args, got, want)
	}
}

func statusCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N COMMAND…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	run1(ts, want, args[1:])
}

func refusedCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: refused COMMAND…")
	}
	run1(ts, 125, args)
	if out := ts.ReadFile("stdout"); out != "" {
		ts.Fatalf("a refusal printed %q to standard output", out)
	}
	lines := strings.Split(strings.TrimSuffix(ts.ReadFile("stderr"), "\n"), "\n")
	if len(lines) > 2 || !strings.HasPrefix(lines[0], "brainbox: ") || strings.HasPrefix(lines[0], "brainbox: hint:") ||
		len(lines) == 2 && !strings.HasPrefix(lines[1], "brainbox: hint: ") {
		ts.Fatalf("want one line and at most one hint, got %q", lines)
	}
	for _, r := range strings.Join(lines, "") {
		if r < 0x20 || r == 0x7f {
			ts.Fatalf("a control character in %q", lines)
		}
	}
	cleanCommand(ts, false, nil)
}

func cleanCommand(ts *testscript.TestScript, _ bool, _ []string) {
	left, err := os.ReadDir(ts.Getenv("BASE"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		ts.Fatalf("%v", err)
	}
	for _, e := range left {
		ts.Fatalf("the folder of a run is left: %s", e.Name())
	}
}

// siblingCommand builds a helper beside the brainbox of the scripts, which looks for it
// there and nowhere else.
func siblingCommand(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: sibling NAME")
	}
	var own string
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if _, err := os.Stat(filepath.Join(dir, "brainbox")); err == nil {
			own = dir
			break
		}
	}
	build := exec.Command("go", "build", "-o", filepath.Join(own, args[0]), "brainbox/cmd/"+args[0])
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		ts.Fatalf("%v\n%s", err, out)
	}
}

// pair is a command of the scripts.
func pair() {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	listening, err2 := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	datagram, err3 := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err := errors.Join(err, err2, err3, unix.Bind(listening, &unix.SockaddrInet4{}), unix.Listen(listening, 1)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(99)
	}
	for to, from := range map[int]int{103: ends[0], 104: listening, 105: datagram[0]} {
		if err := unix.Dup3(from, to, unix.O_CLOEXEC); err != nil {
			os.Exit(98)
		}
	}
	for to := 3; to <= 5; to++ {
		if err := unix.Dup3(100+to, to, 0); err != nil {
			os.Exit(97)
		}
	}
	path, err := exec.LookPath(os.Args[1])
	if err == nil {
		err = unix.Exec(path, os.Args[1:], os.Environ())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(96)
}
