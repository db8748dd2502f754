package main

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// TestConfine has every thread of a process confined, those that were there before included:
// it reads what a resolver reads and nothing else, writes nothing, and starts nothing. It is
// irreversible, so that the test is run once more as a process of its own.
func TestConfine(t *testing.T) {
	const marker = "BRAINBOX_HOST_TEST_CONFINE"
	needs.LandlockABI(t, 1)
	if dir := os.Getenv(marker); dir != "" {
		confinedThreads(t, dir)
		return
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(withoutCgo(t), "-test.run=^TestConfine$", "-test.v", "-test.timeout=60s")
	c.Env = append(os.Environ(), marker+"="+dir)
	if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestConfine") {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "made")); err == nil {
		t.Error("a file was made")
	}
}

// withoutCgo is this very test as the program is built: with cgo Go does not know its threads.
func withoutCgo(t *testing.T) string {
	if _, _, e := syscall.AllThreadsSyscall(syscall.SYS_GETPID, 0, 0, 0); e == 0 {
		return os.Args[0]
	}
	name := filepath.Join(t.TempDir(), "host.test")
	build := exec.Command(needs.Program(t, "go"), "test", "-c", "-o", name, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return name
}

func confinedThreads(t *testing.T, dir string) {
	program, err := exec.LookPath("true")
	if err != nil {
		t.Fatal(err)
	}
	try := func() error {
		_, err := os.ReadFile(dir + "/secret")
		return err
	}
	if err := errors.Join(try(), exec.Command(program).Run()); err != nil { // positive control
		t.Fatal(err)
	}
	const threads = 8
	var before, after sync.WaitGroup
	before.Add(threads)
	confined := make(chan struct{})
	for range threads {
		after.Go(func() {
			runtime.LockOSThread() // so that each is a thread that was there before
			before.Done()
			<-confined
			if err := try(); !errors.Is(err, unix.EACCES) {
				t.Errorf("reading another file: %v, want EACCES", err)
			}
		})
	}
	before.Wait()
	if err := privileges(); err != nil {
		t.Fatal(err)
	}
	held, err := confine()
	close(confined)
	if err != nil {
		t.Fatal(err)
	}
	if !held {
		t.Error("nothing holds it")
	}
	after.Wait()
	if err := os.WriteFile(dir+"/made", nil, 0o644); !errors.Is(err, unix.EACCES) {
		t.Errorf("making a file: %v, want EACCES", err)
	}
	if err := exec.Command(program).Run(); !errors.Is(err, unix.EACCES) {
		t.Errorf("starting a program: %v, want EACCES", err)
	}
	for _, name := range resolverFiles {
		if _, err := os.ReadFile(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("reading what a resolver reads: %v", err)
		}
	}
	target, err := filepath.EvalSymlinks("/etc/resolv.conf")
	open := err == nil && filepath.Dir(target) == "/etc" && os.Geteuid() != 0 // another file may take its place
	if _, err := os.ReadFile("/etc/passwd"); open != (err == nil) {
		t.Errorf("reading another file of /etc: %v, and it may be read: %v", err, open)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") // the network is as it was
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
}
