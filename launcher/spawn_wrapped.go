package launcher

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ExecWrapperConfig is what a host knows about its wrapper before it starts.
// Wrapper and Killer are the raw values of the two variables, Path is the host's
// own PATH. The zero value means no wrapper, and programs by absolute path only.
type ExecWrapperConfig struct {
	Wrapper string   // value of BRAIN_UI_EXEC_WRAPPER
	Killer  string   // value of BRAIN_UI_EXEC_KILLER
	Path    string   // the host's PATH
	Agent   Identity // who the wrapper runs programs as

	HelperLimit time.Duration // how long a killer may take; 0 is 5 s
	Grace       time.Duration // how long a group has to end after TERM or INT; 0 is 5 s
	KillGrace   time.Duration // the same after KILL; 0 is 5 s
}

// ExecWrapper starts programs through one configured wrapper, or plainly when
// none is configured. It is made once per host configuration and then passed
// down; a start never looks at the environment again (contract brainkit §1.2,
// "lookup time").
type ExecWrapper struct {
	wrapper, killer    string
	path               HostPath
	helperLimit, grace time.Duration
	killGrace          time.Duration
	getpgid            func(pid int) (int, error) // nil is getpgid(2); tests replace it
}

// NewExecWrapper validates both variables, checks both files and fixes the PATH.
// Without a wrapper nothing is checked but the variables' form, and every start
// is an ordinary one.
func NewExecWrapper(cfg ExecWrapperConfig) (*ExecWrapper, error) {
	w := &ExecWrapper{helperLimit: cfg.HelperLimit, grace: cfg.Grace, killGrace: cfg.KillGrace}
	var err error
	if w.wrapper, err = ValidateExecWrapper(cfg.Wrapper); err != nil {
		return nil, err
	}
	if w.killer, err = ValidateExecKiller(cfg.Killer); err != nil {
		return nil, err
	}
	if w.wrapper == "" {
		w.path = HostPath{dirs: wrapPathElements(cfg.Path)}
		return w, nil
	}
	for _, helper := range []struct{ variable, path string }{
		{ExecWrapperEnv, w.wrapper}, {ExecKillerEnv, w.killer},
	} {
		if helper.path == "" {
			continue
		}
		if err := CheckHelper(helper.path, cfg.Agent); err != nil {
			return nil, fmt.Errorf("%w (%s=%q)", err, helper.variable, helper.path)
		}
	}
	if w.path, err = NewHostPath(cfg.Path, cfg.Agent); err != nil {
		return nil, err
	}
	return w, nil
}

// Warnings returns what the host should log once at its start, one sentence
// each.
func (w *ExecWrapper) Warnings() []string {
	if w.wrapper == "" && w.killer != "" {
		return []string{fmt.Sprintf("%s=%q is not used: without %s a child is signalled directly",
			ExecKillerEnv, w.killer, ExecWrapperEnv)}
	}
	return nil
}

// WrappedCommand is one program to start. The zero value starts nothing.
type WrappedCommand struct {
	Argv []string // program and arguments; see WrapCommand
	Env  []string // the whole environment; nil is an empty one
	Dir  string   // working directory; "" is the host's

	Stdin, Stdout, Stderr *os.File // nil is /dev/null

	// AllowWritableProgram lets a wrapper start a program that the agent could
	// have changed: code of the agent's own, which the host must not mistake for
	// a trusted program (contract brainkit H8).
	AllowWritableProgram bool
}

// Spawn starts a program, through the wrapper if one is configured. Then the
// program leads a session and a process group of its own, and has no descriptor
// but the three standard ones; if its group is not the one that was asked for,
// it is killed and the start refused (contract brainkit §1.4, K15). Without a
// wrapper nothing is added to an ordinary start. It needs Linux 5.4 (pidfd_open,
// waitid on it).
//
// The caller owes the process a Close, for the leader stays unreaped until then.
func (w *ExecWrapper) Spawn(cmd WrappedCommand) (*WrappedProcess, error) {
	argv, file, err := w.argv(cmd)
	if err != nil {
		return nil, err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("launcher: %w", err)
	}
	defer null.Close()
	files := make([]uintptr, 0, 3)
	for _, std := range []*os.File{cmd.Stdin, cmd.Stdout, cmd.Stderr} {
		if std == nil {
			std = null
		}
		files = append(files, std.Fd())
	}
	wrapped := w.wrapper != ""
	pid, pidfd, err := wrapStart(file, argv, cmd, files, wrapped)
	if err != nil {
		return nil, fmt.Errorf("launcher: start %q: %w", file, err)
	}
	proc, err := newWrappedProcess(w, pid, pidfd)
	if err != nil {
		return nil, fmt.Errorf("launcher: start %q: %w", file, err)
	}
	if wrapped {
		if err := w.verifyGroup(proc); err != nil {
			return nil, fmt.Errorf("launcher: start %q: %w", file, err)
		}
	}
	return proc, nil
}

// argv returns the argument vector and the file to execute.
func (w *ExecWrapper) argv(cmd WrappedCommand) (argv []string, file string, err error) {
	argv, err = WrapCommand(cmd.Argv, w.wrapper, w.path)
	if err != nil {
		return nil, "", err
	}
	if w.wrapper != "" {
		if !cmd.AllowWritableProgram && w.path.checked {
			err = wrapCheckProgram(argv[1], w.path.rule)
		}
		if err != nil {
			return nil, "", fmt.Errorf("launcher: program the agent may have made: %w", err)
		}
		return argv, w.wrapper, nil
	}
	if len(argv) == 0 || argv[0] == "" {
		return nil, "", fmt.Errorf("launcher: no program to start: %w", fs.ErrInvalid)
	}
	if slices.Contains([]byte(argv[0]), '/') {
		return argv, argv[0], nil
	}
	file, err = w.path.Lookup(argv[0])
	return argv, file, err
}

// verifyGroup keeps the assumption pgid == pid honest (contract brainkit A1).
func (w *ExecWrapper) verifyGroup(proc *WrappedProcess) error {
	getpgid := w.getpgid
	if getpgid == nil {
		getpgid = unix.Getpgid
	}
	pgid, err := getpgid(proc.pid)
	if err == nil && pgid == proc.pid {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("process %d leads no group of its own, its group is %d", proc.pid, pgid)
	}
	return errors.Join(err, proc.abandon())
}

// wrapStart is the one start of a program in this file. isolate adds the new
// session and closes every descriptor that has no close-on-exec mark.
func wrapStart(
	file string, argv []string, cmd WrappedCommand, files []uintptr, isolate bool,
) (pid, pidfd int, err error) {
	attr := syscall.ProcAttr{Dir: cmd.Dir, Env: cmd.Env, Files: files, Sys: &syscall.SysProcAttr{PidFD: &pidfd}}
	pidfd = -1
	if isolate {
		attr.Sys.Setsid = true
		if attr.Files, err = wrapCloseStray(files); err != nil {
			return 0, -1, err
		}
	}
	pid, _, err = syscall.StartProcess(file, argv, &attr)
	if err != nil {
		return 0, -1, &fs.PathError{Op: "execve", Path: file, Err: err}
	}
	if pidfd < 0 {
		err = fmt.Errorf("the kernel gives no pidfd: %w", errors.ErrUnsupported)
		_ = syscall.Kill(pid, syscall.SIGKILL) // ours and unreaped: the number cannot have passed on
		_, _ = syscall.Wait4(pid, nil, 0, nil)
		return 0, -1, err
	}
	return pid, pidfd, nil
}

// wrapCloseStray extends the list of a child's descriptors so that those which
// would survive execve, because somebody opened them without close-on-exec, are
// closed in the child: an entry of -1 is a close there. The host's own
// descriptors stay as they are (contract brainkit X5, H7).
func wrapCloseStray(files []uintptr) ([]uintptr, error) {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return nil, fmt.Errorf("list descriptors: %w", err)
	}
	highest := len(files) - 1
	for _, name := range names {
		fd, err := strconv.Atoi(name.Name())
		if err != nil || fd <= highest {
			continue
		}
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err == nil && flags&unix.FD_CLOEXEC == 0 {
			highest = fd
		}
	}
	all := slices.Clone(files)
	for len(all) <= highest {
		all = append(all, ^uintptr(0))
	}
	return all, nil
}
