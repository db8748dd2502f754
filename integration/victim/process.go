package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ended puts the way a child ended into an answer.
func ended(cmd *exec.Cmd, out []byte, err error) (string, error) {
	text := strings.TrimSpace(string(out))
	if cmd.ProcessState == nil {
		return "", err
	}
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case ok && status.Signaled():
		return "signal " + unix.SignalName(status.Signal()), nil
	case ok && status.ExitStatus() != 0:
		return fmt.Sprintf("exit %d %s", status.ExitStatus(), strconv.QuoteToASCII(text)), nil
	}
	return text, nil
}

// opRun starts a program and returns what it printed, quoted.
func opRun(words []string) (string, error) {
	if len(words) == 0 {
		return "", errors.New("usage: run PROGRAM [ARG]…")
	}
	cmd := exec.Command(words[0], words[1:]...)
	out, err := cmd.CombinedOutput()
	text, err := ended(cmd, out, err)
	if err == nil && cmd.ProcessState.Success() {
		text = strconv.QuoteToASCII(text)
	}
	return text, err
}

// opSelf makes the attempt in a fresh process of this program, and returns that
// one's answer.
func opSelf(words []string) (string, error) {
	cmd := exec.Command("/proc/self/exe", words...)
	return inner(cmd)
}

func inner(cmd *exec.Cmd) (string, error) {
	out, err := cmd.Output()
	text, err := ended(cmd, out, err)
	if bad, found := strings.CutPrefix(text, "bad "); found {
		return "", errors.New(bad)
	}
	return strings.TrimPrefix(text, "ok "), err
}

// opMemfd makes the attempt in a process whose program is an anonymous file
// (memfd_create(2)).
func opMemfd(words []string) (string, error) {
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return "", err
	}
	fd, err := unix.MemfdCreate("victim", unix.MFD_CLOEXEC)
	if err != nil {
		return "", err
	}
	f := os.NewFile(uintptr(fd), "victim")
	defer f.Close()
	if _, err := f.Write(program); err != nil {
		return "", err
	}
	cmd := exec.Command(fmt.Sprintf("/proc/self/fd/%d", fd), words...)
	return inner(cmd)
}

// opDaemon leaves a process behind that has a session of its own and whose parent
// is gone. Its number is put into the file.
func opDaemon(path string) (string, error) {
	cmd := exec.Command("/proc/self/exe", "daemon-middle", path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return "", cmd.Run()
}

func opDaemonMiddle(path string) (string, error) {
	cmd := exec.Command("/proc/self/exe", "hold", path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	return "", awaitFile(path)
}

// opHold writes its number into the file and stays until it is killed.
func opHold(path string) (string, error) {
	if err := writePID(path); err != nil {
		return "", err
	}
	stay()
	return "", nil
}

// opStubborn ignores every signal that can be ignored, says so, and stops itself.
func opStubborn(path string) (string, error) {
	signal.Ignore()
	all := ^uint64(0)
	if err := sigmask(&all, nil); err != nil {
		return "", err
	}
	if err := writePID(path); err != nil {
		return "", err
	}
	if err := unix.Kill(os.Getpid(), unix.SIGSTOP); err != nil {
		return "", err
	}
	stay()
	return "", nil
}

// opDie ends this process by a signal.
func opDie(name string) (string, error) {
	sig := unix.SignalNum(name)
	signal.Reset(sig)
	if err := unix.Kill(os.Getpid(), sig); err != nil {
		return "", err
	}
	stay()
	return "", nil
}

func stay() {
	for {
		time.Sleep(time.Hour)
	}
}

// writePID puts the file there in one step, so that who sees it can read it.
func writePID(path string) error {
	part := filepath.Join(filepath.Dir(path), ".part-"+strconv.Itoa(os.Getpid()))
	if err := os.WriteFile(part, []byte(strconv.Itoa(os.Getpid())), 0o644); err != nil {
		return err
	}
	return os.Rename(part, path)
}

func awaitFile(path string) error {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%q did not appear", path)
}

// opChildCheck says whether this process is confined: its filter, its
// no_new_privs, and a read that has to be refused.
func opChildCheck(secret string) (string, error) {
	status, err := opStatus([]string{"NoNewPrivs", "Seccomp"})
	if err != nil {
		return "", err
	}
	_, err = os.ReadFile(secret)
	verdict := "read"
	if errors.Is(err, unix.EACCES) {
		verdict = "refused"
	} else if err != nil {
		verdict = err.Error()
	}
	return string(bytes.ReplaceAll([]byte(status+" secret="+verdict), []byte("\n"), nil)), nil
}
