package tty

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/gate/event"
	"brainbox/gate/prompt"
)

func TestMain(m *testing.M) {
	switch os.Getenv("BRAINBOX_TTY_ROLE") {
	case "":
		os.Exit(m.Run())
	case "ask":
		ask(context.Background(), nil)
	case "folded":
		askAbout(context.Background(), nil, folded())
	case "withdrawn":
		ctx, cancel := context.WithCancel(context.Background())
		go func() { _, _ = bufio.NewReader(os.Stdin).ReadString('\n'); cancel() }()
		ask(ctx, nil)
	case "panic":
		ctx := &crash{Context: context.Background()}
		go func() { _, _ = bufio.NewReader(os.Stdin).ReadString('\n'); ctx.now.Store(true) }()
		func() {
			defer func() { fmt.Println("recovered:", recover()) }()
			ask(ctx, nil)
		}()
	case "broker":
		broker()
	case "shared":
		shared()
	case "unholdable":
		ask(context.Background(), &program{refuse: true})
	case "thief":
		thief()
	case "shell":
		shell()
	}
	os.Exit(0)
}

// view is what is asked in these tests.
func view() prompt.View {
	return prompt.View{
		ID: "perm-1", Source: prompt.ToolCall, Grant: "npm *",
		Rows: []prompt.Row{{Name: "bash", Text: "npm publish", Whole: "npm publish"}},
	}
}

// folded is view with a row that does not show all.
func folded() prompt.View {
	v := view()
	v.Rows = []prompt.Row{{Name: "bash", Text: `npm \{9 more characters}`, Whole: "npm publish --all"}}
	return v
}

// ask asks once and says what came of it.
func ask(ctx context.Context, p Program) { askAbout(ctx, p, view()) }

func askAbout(ctx context.Context, p Program, v prompt.View) {
	ans, err := New(Options{Program: p}).Prompt(ctx, v)
	switch {
	case errors.Is(err, ErrNoAnswer):
		fmt.Println("no answer")
	case errors.Is(err, context.Canceled):
		fmt.Println("withdrawn")
	case err != nil:
		fmt.Println("error:", err)
	default:
		fmt.Printf("decision %d lasts %d reason %q\n", ans.Decision, ans.Scope.Lasts, ans.Reason)
	}
}

// broker has a whole session on the terminal: two questions, and a shutdown in the third.
func broker() {
	hub := event.New(event.Options{Session: "s1"})
	b, err := prompt.New(prompt.Options{Hub: hub})
	if err != nil {
		fmt.Println("error:", err)
		return
	}
	served := make(chan error, 1)
	go func() { served <- b.Serve(context.Background(), "terminal", New(Options{Dumb: true})) }()
	go func() { _, _ = bufio.NewReader(os.Stdin).ReadString('\n'); b.Close() }()
	for i := range 3 {
		rec := hub.Begin(event.Request{Surface: "bash", Value: "ls"})
		f := prompt.Facts{Session: "s1", Source: prompt.ToolCall, Surface: "bash", Value: fmt.Sprint("ls ", i)}
		out := b.Ask(context.Background(), prompt.Request{Record: rec, Facts: f})
		rec.Decide(out.Verdict())
		fmt.Println(out.State(), out.Resolution, out.By, out.Code, out.Spend(f.Digest()) == nil)
	}
	fmt.Println(<-served)
}

// program is a process group on the same terminal.
type program struct {
	pid    int
	refuse bool
	held   int
}

func (p *program) Hold(context.Context) (func(), error) {
	if p.refuse {
		return nil, errors.New("it cannot be stopped")
	}
	if err := unix.Kill(-p.pid, unix.SIGSTOP); err != nil {
		return nil, err
	}
	for state(p.pid) != "T" {
		time.Sleep(time.Millisecond)
	}
	p.held++
	return func() { _ = unix.Kill(-p.pid, unix.SIGCONT) }, nil
}

func (p *program) Owns(group int) bool { return group == p.pid }

// shared asks while a program of ours has the terminal's foreground, and says whether
// the program has it again.
func shared() {
	signal.Ignore(unix.SIGTTOU)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "BRAINBOX_TTY_ROLE=thief")
	cmd.Stdin, cmd.ExtraFiles = nil, []*os.File{os.NewFile(3, "tty")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Foreground: true, Ctty: 3}
	ready, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Println("error:", err)
		return
	}
	_, _ = bufio.NewReader(ready).ReadString('\n')
	p := &program{pid: cmd.Process.Pid}
	ask(context.Background(), p)
	group, _ := unix.IoctlGetInt(3, unix.TIOCGPGRP)
	fmt.Println("held", p.held, "foreground back", group == p.pid, "running", state(p.pid) != "T")
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// thief does all that a program in the sandbox can do to a prompt on its terminal: it reads
// what is typed, and writes over what is shown, asking the terminal for answers.
func thief() {
	fmt.Println("ready")
	go func() {
		for {
			_, _ = unix.Write(3, []byte("\x1b[2J\x1b[6n\x1b[21ty\nallowed\n"))
		}
	}()
	var b [64]byte
	for {
		_, _ = unix.Read(3, b[:])
	}
}

// shell is a very small shell with job control: it starts a prompt in the background, and
// obeys what it reads.
func shell() {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "BRAINBOX_TTY_ROLE=ask")
	cmd.Stdout = os.Stdout
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err := cmd.Start()
	signal.Ignore(unix.SIGTTOU, unix.SIGTTIN, unix.SIGTSTP) // now: what is ignored is inherited
	if err != nil {
		fmt.Println("error:", err)
		return
	}
	pid := cmd.Process.Pid
	fmt.Println(pid)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		group := map[string]int{"fg": pid, "bg": unix.Getpgrp()}[in.Text()]
		if group != 0 {
			_ = unix.IoctlSetPointerInt(3, unix.TIOCSPGRP, group)
			_ = unix.Kill(-pid, unix.SIGCONT)
		}
		fmt.Println("done")
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// pidIn reads a number that a process has said.
func pidIn(x *terminal) int {
	x.t.Helper()
	if !x.out.Scan() {
		x.t.Fatal("it said nothing")
	}
	pid, err := strconv.Atoi(strings.TrimSpace(x.out.Text()))
	must(x.t, err)
	return pid
}
