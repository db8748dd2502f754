package bridge

import (
	"context"
	"io"
	"net"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"brainbox/bridge/envelope"
)

// footprint is what a process uses.
type footprint struct {
	heap            uint64 // bytes that are live
	taken           uint64 // bytes of Go's that the system has given
	fds, goroutines int
}

func look(t *testing.T) footprint {
	t.Helper()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return footprint{live(), m.Sys - m.HeapReleased, openFDs(t), runtime.NumGoroutine()}
}

// live is what was in use at the end of the last collection, with the stacks, in bytes. What
// waits to be collected is not counted: on a busy machine that is whatever it is.
func live() uint64 {
	all := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(all)
	return all[0].Value.Uint64() + all[1].Value.Uint64()
}

// watchHeap samples what is live until stop is called, which returns the most. The peers of
// the test are in this process too, and are counted.
func watchHeap() (stop func() uint64) {
	end, done := make(chan struct{}), make(chan struct{})
	var most uint64
	go func() {
		defer close(done)
		for {
			most = max(most, live())
			select {
			case <-end:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return func() uint64 { close(end); <-done; return most }
}

// TestHostilePeers (esc/BR-02, esc/BR-12): whatever several peers do at a time, another one is answered,
// memory stays within a bound, and all that they took comes back.
func TestHostilePeers(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	s := newStand(t, func(c *Config) {
		c.Limits.Hello, c.Limits.FrameIdle, c.Limits.WriteStall = 2*time.Second, 300*time.Millisecond, 500*time.Millisecond
	})
	s.answers(func(ctx context.Context, r *envelope.Request) *envelope.Result {
		if r.Operation == "wait" {
			select {
			case <-ctx.Done():
			case <-time.After(200 * time.Millisecond):
			}
		}
		return r.Succeed(nil)
	})
	victim := s.agent()
	victim.call("tool.call", request(t, id("before")...))
	before, stop := look(t), watchHeap()
	// A host of hostile programs bounds its memory: garbage of the peers here, which are in
	// this process too, is collected in time, and what is live counts.
	limit := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(limit)
	debug.SetMemoryLimit(int64(before.taken) + 40<<20)
	var conns []*net.UnixConn
	for range 6 { // of the eight; the rest is fought over
		conns = append(conns, s.open(true))
	}
	var left, refused atomic.Int32
	for _, f := range []func(){
		func() { drips(s, conns[0]) },
		func() { pipelines(conns[1], &refused) },
		func() { pipelines(conns[2], &refused) },
		func() { floods(conns[3:6]) },
		func() { connects(s) },
		func() { illegal(s) },
		func() { descriptors(s) },
	} {
		left.Add(1)
		go func() { defer left.Add(-1); f() }()
	}
	var worst time.Duration
	answered := 0
	for ; left.Load() > 0 || answered < 10; answered++ {
		start := time.Now()
		if got := victim.call("tool.call", request(t, id("v"+strconv.Itoa(answered))...)); word(got) != "succeeded" {
			t.Fatalf("the other peer: %v", got)
		}
		worst = max(worst, time.Since(start))
		time.Sleep(25 * time.Millisecond) // within its own rate
	}
	most := stop()
	growth := max(most, before.heap) - before.heap
	t.Logf("another peer: %d calls, the slowest %v; heap grew by at most %.1f MiB", answered, worst, float64(growth)/(1<<20))
	if refused.Load() < 1000 {
		t.Errorf("of the pipelined calls %d were refused: the attack did not take place", refused.Load())
	}
	if growth > 64<<20 {
		t.Errorf("the heap grew by %d MiB", growth>>20)
	}
	eventually(t, "descriptors and goroutines are back", func() bool {
		now := look(t)
		return now.fds <= before.fds && now.goroutines <= before.goroutines+2
	})
}

// open connects, if it can, and says hello.
func (s *stand) open(hello bool) *net.UnixConn {
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: filepath.Join(s.dir, "agent", "agent.sock"), Net: "unix"})
	if err != nil {
		return nil
	}
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	if hello {
		_, _ = io.WriteString(c, `{"jsonrpc":"2.0","id":"h","method":"hello","params":`+helloParams+"}\n")
	}
	return c
}

// connects makes 1000 connections and says nothing.
func connects(s *stand) {
	var all []*net.UnixConn
	for range 1000 {
		if c := s.open(false); c != nil {
			all = append(all, c)
		}
		if len(all) > 200 { // within this process's own descriptors
			_ = all[0].Close()
			all = all[1:]
		}
	}
	for _, c := range all {
		_ = c.Close()
	}
}

// drips sends a byte now and then.
func drips(s *stand, c *net.UnixConn) {
	defer c.Close()
	for range 2000 {
		if _, err := c.Write([]byte("x")); err != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.t.Error("who sends a byte now and then is still connected")
}

// pipelines sends 5000 calls at once, and reads what comes.
func pipelines(c *net.UnixConn, refused *atomic.Int32) {
	go func() {
		for i := range 5000 {
			n := strconv.Itoa(i)
			r := strings.Replace(strings.Replace(base, "ptr_1", "p"+n, 1), `"call"`, `"wait"`, 1)
			if _, err := io.WriteString(c, `{"jsonrpc":"2.0","id":"`+n+`","method":"tool.call","params":`+r+"}\n"); err != nil {
				return
			}
		}
		_ = c.CloseWrite()
	}()
	defer c.Close()
	for r := bufioReader(c); ; {
		text, err := r.ReadString('\n')
		if err != nil {
			return
		}
		if strings.Contains(text, `"overloaded"`) {
			refused.Add(1)
		}
	}
}

// floods sends large calls of many values, and reads nothing.
func floods(all []*net.UnixConn) {
	text := `{"jsonrpc":"2.0","id":"f","method":"tool.call","params":{"a":[` + strings.Repeat("0,", 45_000) + `0],"b":"` + strings.Repeat("x", 900_000) + `"}}` + "\n"
	var wg sync.WaitGroup
	for _, c := range all {
		wg.Go(func() {
			for range 40 {
				if _, err := io.WriteString(c, text); err != nil {
					break
				}
			}
			_ = c.Close()
		})
	}
	wg.Wait()
}

// illegal sends each illegal frame, over and over.
func illegal(s *stand) {
	frames := []string{
		"{", "{}\n", "[]\n", "null\n", "\x00\n", "\xff\n", "a\r\n", strings.Repeat("\n", 16), strings.Repeat("[", 100_000) + "\n",
		`{"a":1,"a":2}` + "\n", `{"jsonrpc":"2.0","id":1}` + "\n", `{"jsonrpc":"2.0","id":"1","method":"prompt.answer"}` + "\n",
		`{"jsonrpc":"2.0","method":"cancel","params":{"id":7}}` + "\n", strings.Repeat("x", 1<<20) + "\n",
	}
	for i := range 10 * len(frames) {
		c := s.open(i%3 != 0)
		if c == nil {
			continue
		}
		_, _ = io.WriteString(c, frames[i%len(frames)])
		_, _ = io.WriteString(c, frames[(i+i/len(frames))%len(frames)])
		_ = c.CloseWrite()
		_ = c.SetReadDeadline(time.Now().Add(2 * time.Second))
		_, _ = io.Copy(io.Discard, c)
		_ = c.Close()
	}
}

// descriptors passes some with each frame.
func descriptors(s *stand) {
	for range 100 {
		c := s.open(true)
		if c == nil {
			continue
		}
		_, _, _ = c.WriteMsgUnix([]byte("{}\n"), syscall.UnixRights(0, 1, 2), nil)
		_ = c.Close()
	}
}
