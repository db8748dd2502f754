package netns

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BenchmarkStart is what a hook adds to a start: sockets, lo, routes, three listeners.
func BenchmarkStart(b *testing.B) {
	var sockets, routes, listen, all []time.Duration
	for b.Loop() {
		b.StopTimer()
		a := inside(b, nil, func(ns NS) error {
			t0 := time.Now()
			fds, err := ns.Sockets(Routing(), TCP4(), UDP4(), TCP4())
			if err != nil {
				return err
			}
			t1 := time.Now()
			if _, err := Up(fds[0]); err != nil {
				return err
			}
			t2 := time.Now()
			for i, port := range []int{1023, 53, 53} {
				if err := Listen(fds[1+i], loopback(port)); err != nil {
					return err
				}
			}
			t3 := time.Now()
			sockets, routes = append(sockets, t1.Sub(t0)), append(routes, t2.Sub(t1))
			listen, all = append(listen, t3.Sub(t2)), append(all, t3.Sub(t0))
			for _, fd := range fds {
				unix.Close(fd)
			}
			return nil
		})
		a.child.Init.End()
		b.StartTimer()
	}
	report(b, "sockets-us", sockets)
	report(b, "routes-us", routes)
	report(b, "listen-us", listen)
	report(b, "all-us", all)
}

// BenchmarkSockets makes 32 from a process with 64 MiB in use.
func BenchmarkSockets(b *testing.B) {
	heap := make([]byte, 64<<20)
	for i := 0; i < len(heap); i += 4096 {
		heap[i] = 1
	}
	a := inside(b, nil, nil)
	want := slices.Repeat([]Socket{TCP4()}, 32)
	var took []time.Duration
	for b.Loop() {
		t0 := time.Now()
		fds, err := a.ns.Sockets(want...)
		took = append(took, time.Since(t0))
		if err != nil {
			b.Fatal(err)
		}
		for _, fd := range fds {
			unix.Close(fd)
		}
	}
	report(b, "median-us", took)
	runtime.KeepAlive(heap)
}

func report(b *testing.B, name string, took []time.Duration) {
	b.Helper()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1000, name)
}
