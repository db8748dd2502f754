package landlock

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"testing"

	"brainbox/internal/needs"

	"golang.org/x/sys/unix"
)

// TestSignals is esc/PR-07, esc/PR-08 and esc/PR-10, judged by what the first
// process receives. SIGUSR1 is what must not come; SIGUSR2, which has the higher
// number and is sent last, shows that it would have.
func TestSignals(t *testing.T) {
	needs.LandlockABI(t, 6)
	if needs.IsChild(t) {
		signalChild(t)
		return
	}
	got := make(chan os.Signal, 16)
	signal.Notify(got, unix.SIGUSR1, unix.SIGUSR2)
	t.Cleanup(func() { signal.Stop(got) })
	must(t, unix.Kill(os.Getpid(), unix.SIGUSR1))
	if s := <-got; s != unix.SIGUSR1 {
		t.Fatalf("control: got %v", s)
	}
	needs.RunChild(t, fmt.Sprintf("TARGET=%d", os.Getpid()))
	must(t, unix.Kill(os.Getpid(), unix.SIGUSR2))
	if s := <-got; s != unix.SIGUSR2 {
		t.Errorf("got %v from the child", s)
	}
}

func signalChild(t *testing.T) {
	t.Helper()
	target := given(t, "TARGET")
	pidfd, err := unix.PidfdOpen(target, 0)
	must(t, err)
	wantErrno(t, "control: signal 0 before", unix.Kill(target, 0), 0)
	confine(t, Spec{Rules: programs(t)})
	wantErrno(t, "esc/PR-07 kill", unix.Kill(target, unix.SIGUSR1), unix.EPERM)
	wantErrno(t, "esc/PR-07 kill with signal 0", unix.Kill(target, 0), unix.EPERM)
	wantErrno(t, "esc/PR-07 tgkill", unix.Tgkill(target, target, unix.SIGUSR1), unix.EPERM)
	wantErrno(t, "esc/PR-08 pidfd_send_signal", unix.PidfdSendSignal(pidfd, unix.SIGUSR1, nil, 0), unix.EPERM)
	wantErrno(t, "ptrace", unix.PtraceSeize(target), unix.EPERM)

	// esc/PR-10: the fcntl calls succeed, and nothing is delivered.
	var pipe [2]int
	must(t, unix.Pipe2(pipe[:], unix.O_CLOEXEC|unix.O_NONBLOCK))
	for _, set := range [][2]int{
		{unix.F_SETOWN, target},
		{unix.F_SETSIG, int(unix.SIGUSR1)},
		{unix.F_SETFL, unix.O_ASYNC | unix.O_NONBLOCK},
	} {
		_, err := unix.FcntlInt(uintptr(pipe[0]), set[0], set[1])
		wantErrno(t, fmt.Sprintf("esc/PR-10 fcntl %d", set[0]), err, 0)
	}
	_, err = unix.Write(pipe[1], []byte("x"))
	must(t, err)

	// Its own children it may signal.
	cmd := exec.Command("sleep", "60")
	must(t, cmd.Start())
	wantErrno(t, "ptrace an own child", unix.PtraceSeize(cmd.Process.Pid), 0)
	must(t, unix.PtraceInterrupt(cmd.Process.Pid))
	_, err = unix.Wait4(cmd.Process.Pid, nil, 0, nil)
	must(t, err)
	must(t, unix.PtraceDetach(cmd.Process.Pid))
	wantErrno(t, "kill an own child", unix.Kill(cmd.Process.Pid, unix.SIGTERM), 0)
	if err := cmd.Wait(); err == nil || cmd.ProcessState.Sys() == nil {
		t.Errorf("the own child ended with %v, want SIGTERM", err)
	}
}

func TestOpenSignal(t *testing.T) {
	needs.LandlockABI(t, 6)
	if needs.IsChild(t) {
		target := given(t, "TARGET")
		confine(t, Spec{OpenSignal: true})
		wantErrno(t, "kill with signal 0", unix.Kill(target, 0), 0)
		return
	}
	needs.RunChild(t, fmt.Sprintf("TARGET=%d", os.Getpid()))
}

// programs are the rules that it takes to start a program.
func programs(t *testing.T) []Rule {
	t.Helper()
	var list []Rule
	for _, path := range []string{"/bin", "/usr", "/lib", "/lib64"} {
		if _, err := os.Stat(path); err == nil {
			list = append(list, Rule{FD: hold(t, path), Dir: true, Right: Exec})
		}
	}
	return append(list, Rule{FD: hold(t, "/dev/null"), Right: Write})
}
