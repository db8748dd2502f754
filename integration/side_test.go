package integration

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience bounds every wait; nothing waits that long unless it fails.
const patience = 60 * time.Second

// side is a victim that answers attempts: inside brainbox, or outside of it.
type side struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  chan string
	stderr *syncBuffer
	done   func()
}

// syncBuffer collects what a program prints.
type syncBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// takeOut removes a word, and reports whether it was there.
func (s *syncBuffer) takeOut(word string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, after, found := strings.Cut(s.b.String(), word)
	if found {
		s.b.Reset()
		s.b.WriteString(before + after)
	}
	return found
}

// environ is what a start gets: this process's variables, with the folders of the
// user's configuration and state inside the test's own.
func environ(t testing.TB, extra ...string) []string {
	t.Helper()
	dir := t.TempDir()
	// What make(1) tells its children is not for the makes of these tests.
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "MAKE") || strings.HasPrefix(kv, "MFLAGS=")
	})
	for _, name := range []string{"CONFIG", "STATE", "CACHE", "DATA"} {
		env = append(env, "XDG_"+name+"_HOME="+filepath.Join(dir, name))
	}
	return append(env, extra...)
}

// program is one of the built programs.
func program(name string) string { return filepath.Join(bin, name) }

// boxArgs is "run" with what every start of these tests needs: the victim may be
// executed.
func boxArgs(flags []string, command ...string) []string {
	args := append([]string{"run", "--isolation", isolation, "--rox", bin}, flags...)
	return append(append(args, "--"), command...)
}

// box starts brainbox in dir with the victim in it.
func box(t testing.TB, dir string, flags ...string) *side {
	t.Helper()
	cmd := exec.Command(program("brainbox"), boxArgs(flags, program("victim"))...)
	cmd.Dir, cmd.Env = dir, environ(t)
	return open(t, cmd)
}

// bare starts the victim in dir without brainbox.
func bare(t testing.TB, dir string) *side {
	t.Helper()
	cmd := exec.Command(program("victim"))
	cmd.Dir, cmd.Env = dir, environ(t)
	return open(t, cmd)
}

// open starts a program that answers a line with a line.
func open(t testing.TB, cmd *exec.Cmd) *side {
	t.Helper()
	s := &side{cmd: cmd, stderr: &syncBuffer{}, lines: make(chan string, 16)}
	cmd.Stderr = s.stderr
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	s.in = in
	must(t, cmd.Start())
	go func() {
		defer close(s.lines)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			s.lines <- lines.Text()
		}
	}()
	s.done = sync.OnceFunc(func() {
		_ = in.Close()
		timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
		for range s.lines {
			continue // only the end is waited for
		}
		_ = cmd.Wait()
	})
	t.Cleanup(s.done)
	return s
}

// ask makes one attempt and returns the answer.
func (s *side) ask(t testing.TB, attempt string) string {
	t.Helper()
	if _, err := io.WriteString(s.in, attempt+"\n"); err != nil {
		t.Fatalf("%q: %v\nstandard error: %s", attempt, err, s.stderr)
	}
	return s.line(t, attempt)
}

// line waits for one line of output.
func (s *side) line(t testing.TB, what string) string {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case text, ok := <-s.lines:
		if !ok {
			t.Fatalf("%q: the program ended\nstandard error: %s", what, s.stderr)
		}
		return text
	case <-timer.C:
		t.Fatalf("%q: no answer in %v\nstandard error: %s", what, patience, s.stderr)
		return ""
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
