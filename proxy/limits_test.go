package proxy

import (
	"context"
	"net"
	"net/netip"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"brainbox/proxy/allow"
)

// esc/PX-25: beyond the limit a connection is refused at once, and its place is free again
// when another ends.
func TestConnectionsAreLimited(t *testing.T) {
	w, s := through(t, newOrigin(t, nil), Config{Limits: Limits{Connections: 2}})
	var held []*passage
	for range 2 {
		p, no := s.open(t.Context(), query("ok.test", 7000))
		if no != nil {
			t.Fatal(no)
		}
		held = append(held, p)
	}
	program, _ := carried(t, s, query("ok.test", 7000))
	refused(t, program)
	if e := w.wait(t, 1)[0]; e.Reason != allow.Busy {
		t.Error(describe(e))
	}
	if asked, _, _ := w.snapshot(); len(asked) != 2 {
		t.Errorf("asked %d times, want 2", len(asked))
	}
	held[0].end(0, 0)
	held[0].end(0, 0)
	program, _ = carried(t, s, query("ok.test", 7000))
	reached(t, program)
	held[1].end(0, 0)
	one(t, w.wait(t, 5))
}

// esc/PX-25: so many names at once are asked for and no more; what waits too long is told.
func TestLookupsAreLimited(t *testing.T) {
	b := newBlocked()
	w, s := through(t, newOrigin(t, nil), Config{
		Resolve: b.resolve, Limits: Limits{Lookups: 1, Lookup: 50 * time.Millisecond},
	})
	var work sync.WaitGroup
	for range 20 {
		work.Go(func() { _, _ = s.open(t.Context(), query("ok.test", 7000)) })
	}
	work.Wait()
	reasons := map[allow.Reason]int{}
	for _, e := range w.wait(t, 20) {
		reasons[e.Reason]++
	}
	if reasons[allow.Unresolved]+reasons[allow.Busy] != 20 || reasons[allow.Unresolved] == 0 {
		t.Errorf("%v", reasons)
	}
}

// esc/PX-25: ten thousand connections, most of them refused, leave no memory behind.
func TestManyConnectionsLeaveNoMemory(t *testing.T) {
	const n, bound = 10_000, 64 << 20
	o := newOrigin(t, nil)
	w, s := through(t, o, Config{Limits: Limits{Connections: 64}})
	count := make(map[bool]int)
	var mu sync.Mutex
	s.config.Record = func(e Event) {
		mu.Lock()
		defer mu.Unlock()
		count[e.Closed]++
	}
	s.config.Dial = func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) { return dialTCP(ctx, o.addrPort()) }
	s.config.Resolve = func(context.Context, string) ([]netip.Addr, error) { return w.answers["ok.test"][0], nil }
	debug.FreeOSMemory()
	heap, rss := memory(t)
	turns := make(chan struct{}, 100)
	var work sync.WaitGroup
	for i := range n {
		turns <- struct{}{}
		work.Go(func() {
			defer func() { <-turns }()
			host := "ok.test"
			if i%2 == 1 {
				host = strings.Repeat("x", 60) + ".test"
			}
			p, no := s.open(t.Context(), query(host, 7000))
			if no != nil {
				return
			}
			p.let()
			p.end(0, 0)
		})
	}
	work.Wait()
	debug.FreeOSMemory()
	heapAfter, rssAfter := memory(t)
	if count[false] != n || count[true] == 0 {
		t.Errorf("%d decisions, %d ends", count[false], count[true])
	}
	t.Logf("heap %+d KiB, resident %+d KiB", (heapAfter-heap)>>10, (rssAfter-rss)>>10)
	if heapAfter-heap > bound || rssAfter-rss > bound {
		t.Errorf("heap grew by %d bytes, resident memory by %d; at most %d", heapAfter-heap, rssAfter-rss, bound)
	}
}

// What has run out on this side is not said of the other.
func TestNoDescriptorIsLeft(t *testing.T) {
	w, s := through(t, newOrigin(t, nil), Config{Dial: func(context.Context, netip.AddrPort) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("socket", syscall.EMFILE)}
	}})
	program, _ := carried(t, s, query("ok.test", 7000))
	refused(t, program)
	if e := w.wait(t, 1)[0]; e.Reason != allow.Busy {
		t.Error(describe(e))
	}
}

// All that may be at once fits into the limit on descriptors, with the listeners of names.
func TestLimitsFitTheDescriptors(t *testing.T) {
	for files, want := range map[uint64]int{0: 16, 256: 16, 1024: 82, 20_000: 2537, 1 << 20: 4096, 1<<64 - 1: 4096} {
		if got := mostConnections(files); got != want {
			t.Errorf("with %d descriptors %d connections, want %d", files, got, want)
		}
	}
}
