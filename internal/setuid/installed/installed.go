package installed

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// binVariable names a folder that has the commands already, as for package integration.
const binVariable = "BRAINBOX_TEST_BIN"

// The users, and the group of those who may execute the commands. Agent is a member of the
// group Host (contract brainkit §1.6, H4) and not of Callers; Third is in neither.
const (
	Host    = 10001
	Agent   = 10002
	Third   = 10003
	Callers = 10009
)

// Policy is what the man pages show.
const Policy = `version = 1
extends = ["default"]
[filesystem]
write = ["/run/work"]
[sandbox]
identity = { user = "agent", group = "agent", groups = ["brain"] }
callers = ["brain"]
tmp_root = "/run/vault"
`

const passwd = `root:x:0:0:root:/root:/bin/sh
brain:x:10001:10001::/nonexistent:/bin/sh
agent:x:10002:10002::/nonexistent:/bin/sh
third:x:10003:10003::/nonexistent:/bin/sh
`

const group = `root:x:0:
brain:x:10001:agent
agent:x:10002:
third:x:10003:
brainbox-callers:x:10009:brain
`

// Installation is the machine. What happens on it happens on one thread, which is in its
// mount namespace.
type Installation struct {
	Bin   string // the command, root:Callers with mode 4750
	Plain string // the same without the bit, root:root with mode 0755
	pkg   string
	t     *testing.T
	do    chan func()
}

// New installs pkg, an import path, as [Command] has it. t.Cleanup ends the thread, and
// with it the machine.
func New(t *testing.T, pkg, policy string) *Installation {
	t.Helper()
	needs.Root(t) // mounts, and processes of other users
	command := Command(t, pkg)
	in := &Installation{pkg: pkg, Bin: "/run/bin/" + path.Base(pkg), Plain: "/run/plain/" + path.Base(pkg), t: t, do: make(chan func())}
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		for f := range in.do {
			f()
		}
	}()
	t.Cleanup(func() { close(in.do) })
	in.Do(func() error { return in.mounts(command) })
	in.Policy(policy)
	return in
}

// built has the commands of this test binary: a second test does not link them again.
var built struct {
	sync.Mutex
	files map[string][]byte
}

// Command is pkg, an import path, built without cgo: the file of its name in the folder that
// BRAINBOX_TEST_BIN names, or a new one. Other flags than the usual need Go, and skip without.
func Command(t *testing.T, pkg string, flags ...string) []byte {
	t.Helper()
	if dir := os.Getenv(binVariable); dir != "" && len(flags) == 0 {
		text, err := os.ReadFile(filepath.Join(dir, path.Base(pkg)))
		if err != nil {
			t.Fatalf("%s: %v", binVariable, err)
		}
		return text
	}
	needs.Program(t, "go")
	built.Lock()
	defer built.Unlock()
	key := strings.Join(append(flags, pkg), " ")
	if text := built.files[key]; text != nil {
		return text
	}
	out := filepath.Join(t.TempDir(), path.Base(pkg))
	args := slices.Concat([]string{"build", "-trimpath", "-ldflags", "-s -w", "-o", out}, flags, []string{pkg})
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, text)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if built.files == nil {
		built.files = map[string][]byte{}
	}
	built.files[key] = text
	return text
}

func (in *Installation) mounts(command []byte) error {
	if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
		return err
	}
	cache, err := os.ReadFile("/etc/ld.so.cache")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	err = errors.Join(
		unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
		unix.Mount("tmpfs", "/run", "tmpfs", 0, "mode=0755"),
		os.MkdirAll("/run/etc/brainbox", 0o755), os.Mkdir("/run/bin", 0o755), os.Mkdir("/run/plain", 0o755),
		os.Mkdir("/run/vault", 0o711), os.Chmod("/run/vault", 0o711),
		os.Mkdir("/run/work", 0o755), os.Chown("/run/work", Agent, Host), os.Chmod("/run/work", 0o775),
		os.WriteFile("/run/etc/passwd", []byte(passwd), 0o644), os.WriteFile("/run/etc/group", []byte(group), 0o644),
		os.WriteFile("/run/etc/ld.so.cache", cache, 0o644),
		unix.Mount("/run/etc", "/etc", "", unix.MS_BIND, ""),
	)
	if err != nil {
		return err
	}
	return errors.Join(put(command, in.Plain, 0, 0o755), put(command, in.Bin, Callers, 0o750|os.ModeSetuid))
}

func put(text []byte, to string, gid int, mode os.FileMode) error {
	_ = os.Remove(to)
	return errors.Join(os.WriteFile(to, text, 0o755), os.Chown(to, 0, gid), os.Chmod(to, mode))
}

// Do runs f on the machine and ends the test if it fails.
func (in *Installation) Do(f func() error) {
	in.t.Helper()
	done := make(chan error)
	in.do <- func() { done <- f() }
	if err := <-done; err != nil {
		in.t.Fatal(err)
	}
}

// Policy replaces /etc/brainbox/exec.toml; "" removes it.
func (in *Installation) Policy(text string) {
	in.t.Helper()
	in.Do(func() error {
		const file = "/etc/brainbox/exec.toml"
		if text == "" {
			return os.Remove(file)
		}
		return errors.Join(os.WriteFile(file, []byte(text), 0o644), os.Chmod(file, 0o644), os.Chown(file, 0, 0))
	})
}

// RaisesLimits reports whether root has CAP_SYS_RESOURCE here.
func (in *Installation) RaisesLimits() bool {
	in.t.Helper()
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	in.Do(func() error { return unix.Capget(&head, &data[0]) })
	return data[0].Permitted&(1<<unix.CAP_SYS_RESOURCE) != 0
}

// Copy is another copy of the command in /run/bin, root:root with mode 0755.
func (in *Installation) Copy(name string) string {
	in.t.Helper()
	to := "/run/bin/" + name
	in.Do(func() error {
		text, err := os.ReadFile(in.Plain)
		if err != nil {
			return err
		}
		return put(text, to, 0, 0o755)
	})
	return to
}

// Built is another build of the command in /run/bin, root:Callers with mode 4750.
func (in *Installation) Built(name string, flags ...string) string {
	in.t.Helper()
	text, to := Command(in.t, in.pkg, flags...), "/run/bin/"+name
	in.Do(func() error { return put(text, to, Callers, 0o750|os.ModeSetuid) })
	return to
}

// Call is a start by a user of the machine.
type Call struct {
	UID    uint32
	Groups []uint32 // supplementary; the primary group has the number of the user
	Env    []string // nothing is added
	Dir    string   // "" is /run/work
	Argv   []string
}

// HostCall is a call by who may.
func HostCall(argv ...string) Call {
	return Call{UID: Host, Groups: []uint32{Callers}, Argv: argv, Env: []string{"PATH=/usr/bin:/bin"}}
}

func (in *Installation) command(c Call) *exec.Cmd {
	cmd := exec.CommandContext(context.Background(), c.Argv[0], c.Argv[1:]...)
	cmd.Env, cmd.Dir = append([]string{}, c.Env...), c.Dir
	if cmd.Dir == "" {
		cmd.Dir = "/run/work"
	}
	cmd.WaitDelay = time.Minute
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid:     true,
		Credential: &syscall.Credential{Uid: c.UID, Gid: c.UID, Groups: append([]uint32{}, c.Groups...)},
	}
	return cmd
}

// Start begins a call.
func (in *Installation) Start(c Call, stdout, stderr *bytes.Buffer) (*exec.Cmd, error) {
	cmd := in.command(c)
	if stdout != nil {
		cmd.Stdout, cmd.Stderr = stdout, stderr
	}
	return in.start(cmd)
}

// StartWriting begins a call whose standard output and error are w.
func (in *Installation) StartWriting(c Call, w *os.File) (*exec.Cmd, error) {
	cmd := in.command(c)
	cmd.Stdout, cmd.Stderr = w, w
	return in.start(cmd)
}

func (in *Installation) start(cmd *exec.Cmd) (*exec.Cmd, error) {
	done := make(chan error)
	in.do <- func() { done <- cmd.Start() }
	return cmd, <-done
}

// Run makes a call and waits for its end. The status is -1 if a signal ended it, and -2 if the
// kernel did not let it be executed.
func (in *Installation) Run(c Call) (status int, stdout, stderr string) {
	in.t.Helper()
	var out, errs bytes.Buffer
	cmd, err := in.Start(c, &out, &errs)
	if errors.Is(err, os.ErrPermission) {
		return -2, "", err.Error()
	}
	if err != nil {
		in.t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		in.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// Refused fails the test unless a call is refused with status 126, one line, at most one
// hint, and want in it.
func (in *Installation) Refused(what string, c Call, want string) {
	in.t.Helper()
	status, out, errs := in.Run(c)
	lines := strings.Split(strings.TrimSuffix(errs, "\n"), "\n")
	if status != 126 || out != "" || len(lines) > 2 || len(lines) == 2 && !strings.Contains(lines[1], ": hint: ") ||
		!strings.Contains(errs, want) {
		in.t.Errorf("%s: status %d, output %q, errors %q; want 126 and one line with %q", what, status, out, errs, want)
	}
}
