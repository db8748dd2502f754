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
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// options are what the command line says.
type options struct {
	time    time.Duration
	look    time.Duration
	seed    uint64
	step    int
	atOnce  int
	only    string
	report  string
	verbose bool
	base    string // of the stage that makes the steps
	version string
	serve   string // the folder of commands of the long-lived host
	act     bool
}

func parse(args []string, stderr io.Writer) (options, []string, error) {
	var o options
	set := flag.NewFlagSet("soak", flag.ContinueOnError)
	set.SetOutput(stderr)
	set.DurationVar(&o.time, "time", time.Hour, "how long")
	set.DurationVar(&o.look, "look", 2*time.Minute, "how often what is left is counted")
	set.Uint64Var(&o.seed, "seed", 0, "of the steps (default: from the clock)")
	set.IntVar(&o.step, "step", -1, "make the step with this number, and no other")
	set.IntVar(&o.atOnce, "at-once", 2*runtime.NumCPU()+2, "steps at the same time")
	set.StringVar(&o.only, "only", "", "only steps whose `WORD`s, as in the report, have this")
	set.StringVar(&o.report, "report", "", "write the counts to this `FILE`")
	set.BoolVar(&o.verbose, "v", false, "say what each step did")
	set.StringVar(&o.base, "base", "", "(of the stage inside)")
	set.StringVar(&o.version, "version", "", "(of the stage inside)")
	set.StringVar(&o.serve, "serve", "", "(of the long-lived host)")
	set.BoolVar(&o.act, "act", false, "(of the program inside)")
	if err := set.Parse(args); err != nil {
		return o, nil, err
	}
	if o.seed == 0 {
		o.seed = uint64(time.Now().UnixNano()) % 1_000_000_000
	}
	if !o.act && set.NArg() > 0 || o.atOnce < 1 || o.time <= 0 {
		return o, nil, errors.New("usage: soak [-time D] [-seed N] [-step N] [-only WORD] [-report FILE]")
	}
	return o, set.Args(), nil
}

func main() {
	o, rest, err := parse(os.Args[1:], os.Stderr)
	switch {
	case err != nil:
	case o.act:
		os.Exit(act(rest))
	case o.serve != "":
		err = serve(o.serve, o.atOnce)
	case o.base != "":
		err = inner(o)
	default:
		err = outer(o)
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

// outer builds, and starts the stage that makes the steps: by root in namespaces of its own.
func outer(o options) error {
	base, err := os.MkdirTemp(place(), "bb-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(base)
	if err := errors.Join(os.Chmod(base, 0o755), build(base)); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "soak: seed %d\n", o.seed)
	args := append(os.Args[1:len(os.Args):len(os.Args)], "-base", base, "-seed", fmt.Sprint(o.seed), "-version", version())
	cmd := exec.Command(base+"/bin/soak", args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWIPC
		leave, err := group(cmd.SysProcAttr)
		if err != nil {
			return err
		}
		defer leave()
	}
	runtime.LockOSThread() // Pdeathsig is of the thread
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		for sig := range signals {
			_ = cmd.Process.Signal(sig)
		}
	}()
	err = cmd.Wait()
	if text, rerr := os.ReadFile(base + "/report"); rerr == nil && o.report != "" {
		err = errors.Join(err, os.WriteFile(o.report, text, 0o644))
	}
	return err
}

// place is where the folder of everything lies: no folder above it may be written by others
// (brainbox-exec), and a socket's path is short.
func place() string {
	if os.Getuid() == 0 {
		return "/var/lib"
	}
	home, _ := os.UserHomeDir()
	return home
}

// group makes a control group (version 2) for the stage, if that is possible.
func group(attr *syscall.SysProcAttr) (leave func(), err error) {
	top := unifiedMount()
	if top == "" {
		return func() {}, nil
	}
	dir := fmt.Sprintf("%s/bbsoak-%d", top, os.Getpid())
	if err := os.Mkdir(dir, 0o755); err != nil {
		return func() {}, nil //nolint:nilerr // it can do without
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	attr.UseCgroupFD, attr.CgroupFD = true, int(f.Fd())
	return func() {
		_ = f.Close()
		_ = os.WriteFile(dir+"/cgroup.kill", []byte("1"), 0)
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			for _, below := range []string{dir + "/brainbox-self", dir} {
				_ = os.Remove(below)
			}
			if _, err := os.Stat(dir); err != nil {
				return
			}
		}
	}, nil
}

// build makes the commands with the race detector and without.
func build(base string) error {
	goCommand := os.Getenv("GO")
	if goCommand == "" {
		goCommand = "go"
	}
	commands := []string{"./cmd/brainbox", "./cmd/brainbox-host", "./cmd/brainbox-exec", "./cmd/brainbox-kill", "./cmd/brainbox-mcp"}
	for _, b := range [][]string{
		append([]string{"build", "-race", "-tags", "urfave_cli_no_docs", "-o", base + "/bin/", "./internal/cmd/soak"}, commands...),
		append([]string{"build", "-tags", "urfave_cli_no_docs", "-o", base + "/plain/", "./internal/cmd/soak"}, commands...),
	} {
		if err := os.MkdirAll(b[len(b)-len(commands)-2], 0o755); err != nil {
			return err
		}
		cmd := exec.Command(goCommand, b...)
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s build: %w", goCommand, err)
		}
	}
	return errors.Join(
		copyFile(base+"/plain/soak", base+"/bin/actor"), os.Mkdir(base+"/lame", 0o755),
		copyFile(base+"/bin/brainbox", base+"/lame/brainbox"), copyFile(base+"/plain/soak", base+"/plain/actor"), copyFile(base+"/plain/soak", base+"/lame/actor"))
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o755)
}

// version is what git says of the tree.
func version() string {
	out, err := exec.Command("git", "describe", "--tags", "--always").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// inner makes the steps.
func inner(o options) (err error) {
	if os.Getuid() == 0 {
		if err := ownMounts(); err != nil {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	w, err := newWorld(o.base)
	if err != nil {
		return err
	}
	if w.web, err = startOrigin(filepath.Join(o.base, "o")); err != nil {
		return err
	}
	defer w.web.close()
	for _, user := range w.users() {
		if w.hosts[user], err = w.startHost(user, o.atOnce); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, w.hosts[user].close()) }()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	k := &soak{o: o, w: w, out: os.Stderr}
	err = k.run(ctx)
	if o.step < 0 {
		err = errors.Join(err, os.WriteFile(o.base+"/report", []byte(k.report(o.version, runtime.Version())), 0o644))
	}
	return err
}

// ownMounts gives the mount namespace a /proc that shows the pid namespace, and a /tmp of its own.
func ownMounts() error {
	errs := []error{unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""), unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")}
	if err := errors.Join(errs...); err != nil {
		return os.NewSyscallError("mount", err)
	}
	return os.NewSyscallError("mount", unix.Mount("tmpfs", "/tmp", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777"))
}
