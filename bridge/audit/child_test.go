package audit

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/gate/event"
	"brainbox/internal/state"
)

// childEnv makes the test binary a writer: "DIR LIMIT", of lines without end, or until the
// file has LIMIT bytes.
const childEnv = "AUDIT_TEST_CHILD"

func TestMain(m *testing.M) {
	if text := os.Getenv(childEnv); text != "" {
		if err := child(text); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func child(text string) error {
	var path string
	var limit uint64
	if _, err := fmt.Sscan(text, &path, &limit); err != nil {
		return err
	}
	d, err := state.Open(path)
	if err != nil {
		return err
	}
	if limit > 0 {
		return full(d, limit)
	}
	l, err := Open(Options{Dir: d, SyncEvery: time.Minute})
	if err != nil {
		return err
	}
	for n := 0; ; n++ {
		if err := l.Put(Effect, value(n)); err != nil {
			return err
		}
		if n == 20 {
			fmt.Println("ready")
		}
	}
}

// full writes until the file may not grow (RLIMIT_FSIZE, as a full disk: short writes, then an
// error), tells it, and goes on where it may again.
func full(d *state.Dir, limit uint64) error {
	signal.Ignore(unix.SIGXFSZ)
	var told int
	l, err := Open(Options{Dir: d})
	goesOn, err2 := Open(Options{Dir: d, Continue: true, Diagnose: func(error) { told++ }})
	if err = errors.Join(err, err2); err != nil {
		return err
	}
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		return err
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: limit, Max: old.Max}); err != nil {
		return err
	}
	written := 0
	for err = nil; err == nil && written < 1000; written++ {
		err = l.Put(Effect, value(written))
	}
	if !errors.Is(err, unix.EFBIG) {
		return fmt.Errorf("%d lines, then %w", written, err)
	}
	for range 2 {
		if err := goesOn.Put(Effect, value(0)); err != nil || told == 0 {
			return fmt.Errorf("told %d, %w", told, err)
		}
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		return err
	}
	if err := goesOn.Put(Effect, value(1)); err != nil {
		return err
	}
	fmt.Println(written-1, told)
	return errors.Join(l.Close(), goesOn.Close())
}

func spawnChild(t *testing.T, d *state.Dir, limit int) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", childEnv, d.Path(), limit))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, bufio.NewReader(out)
}

// A full disk is an error that the caller sees, and leaves no half line behind.
func TestAFullDisk(t *testing.T) {
	for _, limit := range []int{2000, 2001, 2150} {
		d := newFolder(t)
		cmd, out := spawnChild(t, d, limit)
		var written, told int
		line, _ := out.ReadString('\n')
		if _, err := fmt.Sscan(line, &written, &told); err != nil || cmd.Wait() != nil || written < 2 || told != 2 {
			t.Fatalf("%q: %v", line, err)
		}
		all := string(read(t, d))
		// Two opened, two closed, one more, and a line for those that each of both has lost.
		r := holds(t, []byte(all), written+2+2+1+2)
		if len(r.Torn) > 0 || r.Lost != 2 || !strings.Contains(all, `"lines":2`) {
			t.Errorf("%+v\n%s", r, all)
		}
	}
}

// Writers that are killed at any moment leave a chain that holds.
func TestWritersThatAreKilled(t *testing.T) {
	d := newFolder(t)
	for round := range 4 {
		var all []*exec.Cmd
		for range 3 {
			cmd, out := spawnChild(t, d, 0)
			if line, err := out.ReadString('\n'); line != "ready\n" {
				t.Fatalf("%q %v", line, err)
			}
			all = append(all, cmd)
		}
		time.Sleep(time.Duration(round) * 7 * time.Millisecond)
		for _, cmd := range all {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
		}
	}
	closed(t, open(t, Options{Dir: d}))
	if r := holds(t, read(t, d), -1); r.Lines < 4*3*21 {
		t.Errorf("%d lines", r.Lines)
	}
}

// Follow writes every event of a hub, and what is gone as a gap.
func TestFollow(t *testing.T) {
	d := newFolder(t)
	hub := event.New(event.Options{Session: "s"})
	hub.Begin(event.Request{Surface: "bash", Value: "true"}).Decide(event.Verdict{Resolution: event.PolicyAllow})
	l := open(t, Options{Dir: d, SyncEvery: time.Minute})
	done := make(chan error, 1)
	go func() { done <- l.Follow(context.Background(), hub, true) }()
	const n = 3000
	for i := range n {
		hub.Publish(event.Call{RequestID: fmt.Sprint(i), Tool: "bash"})
		if i%500 == 0 {
			time.Sleep(10 * time.Millisecond)
		}
	}
	hub.Ready()
	hub.Close()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	closed(t, l)
	text := read(t, d)
	holds(t, text, -1)
	next := 1.0 // every number comes once: as an event or in a gap
	for line := range strings.Lines(string(text)) {
		var x struct {
			Type string
			Data struct {
				Event float64
				Topic string
				Data  map[string]any
			}
		}
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			t.Fatal(err)
		}
		switch x.Type {
		case "decision", "event":
			if x.Data.Event != next || (x.Type == "decision") != (x.Data.Topic == "permissions:decision") {
				t.Fatalf("%s, want %v", line, next)
			}
			next++
		case "gap":
			if x.Data.Data["from"] != next {
				t.Fatalf("%s, want %v", line, next)
			}
			next = x.Data.Data["to"].(float64) + 1
		}
	}
	if next != n+2 {
		t.Errorf("the last is %v", next-1)
	}
}

// What the hub no longer keeps is a gap, and without decisions there is none.
func TestFollowFromTooLate(t *testing.T) {
	d := newFolder(t)
	hub := event.New(event.Options{})
	hub.Begin(event.Request{}).End()
	for range event.RingEvents + 10 {
		hub.Publish(event.Call{})
	}
	hub.Begin(event.Request{}).End()
	l := open(t, Options{Dir: d, SyncEvery: time.Minute})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			if text, _ := os.ReadFile(path(d)); strings.Contains(string(text), `"dropped"`) {
				return
			}
		}
	}()
	if err := l.Follow(ctx, hub, false); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	closed(t, l)
	all := string(read(t, d))
	r := holds(t, []byte(all), -1)
	if r.Lost != 1 || !strings.Contains(all, `"data":{"from":1,"to":12,"dropped":12}`) || strings.Contains(all, string(event.TopicDecision)) {
		t.Errorf("%+v\n%.2000s", r, all)
	}
}
