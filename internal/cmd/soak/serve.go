package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/strictjson"
	"brainbox/launcher"
	"brainbox/policy"
)

// order is what the long-lived host is told, one JSON object a line.
type order struct {
	Step    step
	Dir     string   // the step's folder
	Argv    []string // the program
	Socket  string   // of the origin
	Measure bool     // say what this process has, and do nothing
}

// answer is what it says.
type answer struct {
	N       int
	Outcome outcome
	Heap    uint64 // bytes in use after a collection
	Threads int    // goroutines
}

// library is a long-lived program that uses package launcher.
type library struct {
	bin  string
	host *launcher.Host
	mu   sync.Mutex
}

// serve carries out the orders on standard input until it ends.
func serve(bin string, idle int) error {
	// What this process inherited is its own to mark (launcher.Worker).
	if err := unix.CloseRange(3, 1<<31-1, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return os.NewSyscallError("close_range", err)
	}
	host, err := launcher.NewHost(launcher.HostOptions{Dir: bin})
	if err != nil {
		return err
	}
	l := &library{bin: bin, host: host}
	if err := host.Warm(idle); err != nil {
		return err
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	var wg sync.WaitGroup
	for lines.Scan() {
		var o order
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return err
		}
		if o.Measure {
			l.say(measure())
			continue
		}
		wg.Go(func() { l.say(answer{N: o.Step.N, Outcome: l.do(o)}) })
	}
	wg.Wait()
	return host.Close()
}

func (l *library) say(a answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = json.NewEncoder(os.Stdout).Encode(a)
}

// measure counts what this process has in memory, after it has given back what it can.
func measure() answer {
	debug.FreeOSMemory()
	runtime.GC() // a second one, for what finalizers held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return answer{N: -1, Heap: m.HeapAlloc, Threads: runtime.NumGoroutine()}
}

func (l *library) do(o order) outcome {
	var out outcome
	var res *launcher.Result
	var err error
	if o.Step.Kind == "worker" {
		res, out.Disturb, err = l.worker(o)
	} else {
		res, out.Disturb, err = l.session(o)
	}
	out.Status = 125
	if err == nil {
		out.Status = res.Status
		if len(res.Survivors) > 0 {
			out.Said = fmt.Sprintf("panic: survivors %v", res.Survivors)
		}
		return out
	}
	out.Said = err.Error()
	var refused *launcher.Refusal
	if errors.As(err, &refused) {
		out.Status = refused.Status
	}
	return out
}

// slower is a time limit that the probe of a worker, which has it too, can keep.
func slower(d time.Duration) time.Duration {
	if d > 0 {
		return max(d, 8*time.Second)
	}
	return 0
}

// limit is the time limit of the step's program; 0: none.
func (o order) limit() time.Duration {
	flags := table[o.Step.Program].flags
	for i, f := range flags {
		if f == "--timeout" {
			d, err := time.ParseDuration(flags[i+1])
			if err == nil {
				return d
			}
		}
	}
	return 0
}

// plan is what session starts.
func (l *library) plan(o order, b *bridgeOf) (*launcher.Facts, *launcher.Plan, error) {
	place, err := launcher.Look(os.Environ())
	if err != nil {
		return nil, nil, err
	}
	layer := policy.NewFlagLayer()
	keys := [][2]string{
		{"sandbox.isolation", o.Step.Isolation}, {"filesystem.exec", l.bin}, {"filesystem.write_exec", o.Dir}, {"sandbox.cwd", o.Dir},
	}
	if d := o.limit(); d > 0 {
		keys = append(keys, [2]string{"process.timeout", d.String()}, [2]string{"process.kill_after", "300ms"})
	}
	if o.Step.has("nofile") {
		keys = append(keys, [2]string{"process.nofile", "32"})
	}
	if o.Step.has("unix") {
		keys = append(keys, [2]string{"network.unix", o.Socket})
	}
	for _, kv := range keys {
		if err := layer.Set(kv[0], kv[0], kv[1]); err != nil {
			return nil, nil, err
		}
	}
	layers, err := policy.Layers("default", nil, layer)
	if err != nil {
		return nil, nil, err
	}
	pol, err := policy.Resolve(policy.Input{Vars: place.Vars(), Inside: launcher.Inside}, layers...)
	if err != nil {
		return nil, nil, err
	}
	request := launcher.Request{Command: o.Argv}
	if b != nil {
		request.Bridge = &launcher.Bridge{
			Text: "soak", Source: -1, Roots: []launcher.BridgeRoot{{Name: rootName, Path: o.Dir, Source: -1}}, Serve: b.serve,
		}
	}
	facts, err := launcher.Observe(pol, place, request)
	if err != nil {
		return nil, nil, err
	}
	return facts, launcher.NewPlan(pol, facts), nil
}

// session runs the program by the Host.
func (l *library) session(o order) (*launcher.Result, bool, error) {
	var b *bridgeOf
	if o.Step.Operator != "" {
		b = &bridgeOf{dir: o.Dir, how: o.Step.Operator}
	}
	facts, plan, err := l.plan(o, b)
	if err != nil {
		return nil, false, err
	}
	defer facts.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, false, err
	}
	defer null.Close()
	fd := int(null.Fd())
	s, err := l.host.Start(plan, facts, launcher.Options{Stdio: [3]int{fd, fd, fd}})
	if err != nil {
		return nil, false, err
	}
	stop := later(o.Step, s.Signal)
	res, err := s.Wait()
	return res, stop(), err
}

// worker runs the program as a launcher.Worker.
func (l *library) worker(o order) (*launcher.Result, bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), hangs)
	defer cancel()
	w := launcher.Worker{
		Dir: l.bin, Repo: o.Dir, Command: o.Argv, Env: map[string]string{"PATH": "/usr/bin:/bin", "HOME": launcher.ScratchDir},
		Read: []string{l.bin}, Limits: launcher.WorkerLimits{Time: slower(o.limit()), Scratch: 8 << 20, ScratchFiles: 1000},
	}
	run, err := w.Start(ctx, launcher.Turn(o.Step.Number%3))
	if err != nil {
		return nil, false, err
	}
	var wg sync.WaitGroup
	for _, f := range []*os.File{run.Stdout, run.Stderr} {
		wg.Go(func() { _, _ = io.Copy(io.Discard, f) })
	}
	stop := later(o.Step, func(sig syscall.Signal) error {
		if sig == syscall.SIGKILL {
			return run.Kill()
		}
		return run.Signal(sig)
	})
	res, err := run.Wait()
	wg.Wait()
	return res, stop(), err
}

// later sends the step's signal when its time has come, unless stop is called before. stop says whether it
// was sent.
func later(s step, send func(syscall.Signal) error) (stop func() bool) {
	if s.Target != "program" || s.Kill == syscall.SIGSTOP {
		return func() bool { return false }
	}
	ended, done := make(chan struct{}), make(chan bool, 1)
	go func() {
		select {
		case <-time.After(s.After):
			done <- send(s.Kill) == nil
		case <-ended:
			done <- false
		}
	}()
	return func() bool {
		close(ended)
		return <-done
	}
}

// trimmed is the error's first line, for the report.
func trimmed(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strictjson.Escape(line[:min(len(line), 160)])
}
