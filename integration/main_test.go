package integration

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

const (
	// binVariable names a folder that has the programs already.
	binVariable = "BRAINBOX_TEST_BIN"
	// uidVariable is the uid that this run of the tests must have.
	uidVariable = "BRAINBOX_TEST_UID"
)

// programs are built from this module, and lie in one folder of their own.
var programs = []string{
	"./cmd/brainbox", "./cmd/brainbox-exec", "./cmd/brainbox-host", "./cmd/brainbox-mcp",
	"./integration/victim", "./integration/rejected", "./integration/workerhost", "./integration/visitor",
}

// mutated are built a second time, into a folder of their own, with layers that can be left
// out (package mutation): a test of a worker has to be able to fail.
var mutated = []string{"./cmd/brainbox", "./integration/workerhost"}

// bin is the folder of the programs. TestMain sets it once.
var bin string

func TestMain(m *testing.M) {
	status, err := runAll(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "integration:", err)
		status = 1
	}
	os.Exit(status)
}

// runAll finds or builds the programs, runs the tests, and cleans up.
func runAll(m *testing.M) (int, error) {
	if want := os.Getenv(uidVariable); want != "" && want != strconv.Itoa(os.Getuid()) {
		return 1, fmt.Errorf("runs as uid %d, but %s is %q", os.Getuid(), uidVariable, want)
	}
	// What a test's own terminal or supervisor left behind must not decide.
	for _, name := range []string{"BRAINBOX_POLICY", "BRAIN_UI_EXEC_WRAPPER", "BRAIN_UI_EXEC_KILLER"} {
		if err := os.Unsetenv(name); err != nil {
			return 1, err
		}
	}
	if os.Getenv(isolationVariable) != "" {
		isolation = os.Getenv(isolationVariable)
	}
	unix.Umask(0o022)
	if bin = os.Getenv(binVariable); bin != "" {
		return m.Run(), haveAll(bin)
	}
	dir, err := os.MkdirTemp("", "brainbox-bin-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	bin = dir
	if err := errors.Join(os.Chmod(dir, 0o755), build(dir)); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

func haveAll(dir string) error {
	for _, p := range append([]string{seccompCompiler}, programs...) {
		if err := unix.Access(filepath.Join(dir, filepath.Base(p)), unix.X_OK); err != nil {
			return fmt.Errorf("%s=%q: %s: %w", binVariable, dir, filepath.Base(p), err)
		}
	}
	for _, p := range mutated {
		if err := unix.Access(filepath.Join(dir, "mutated", filepath.Base(p)), unix.X_OK); err != nil {
			return fmt.Errorf("%s=%q: mutated %s: %w", binVariable, dir, filepath.Base(p), err)
		}
	}
	return nil
}

// seccompCompiler is the one program with cgo.
const seccompCompiler = "./cmd/brainbox-seccomp"

// build makes the programs as they are shipped: static, and but for one without cgo.
func build(dir string) error {
	if err := os.Mkdir(filepath.Join(dir, "mutated"), 0o755); err != nil {
		return err
	}
	return errors.Join(
		buildAs("0", "urfave_cli_no_docs", "", dir, programs),
		buildAs("0", "urfave_cli_no_docs brainbox_mutation", "", filepath.Join(dir, "mutated"), mutated),
		buildAs("1", "netgo osusergo", "-linkmode external -extldflags -static", dir, []string{seccompCompiler}))
}

func buildAs(cgo, tags, ldflags, dir string, programs []string) error {
	args := append([]string{"build", "-trimpath", "-tags", tags, "-ldflags", ldflags, "-o", dir + "/"}, programs...)
	cmd := exec.Command("go", args...)
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %v: %w\n%s", args, err, out)
	}
	return nil
}
