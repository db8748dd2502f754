package proxy

import (
	"bytes"
	"io"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"
	"time"

	"brainbox/proxy/pipe"
)

// memory is what the heap holds and what of the process is resident, in bytes.
func memory(t testing.TB) (heap, rss int64) {
	t.Helper()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	text, err := os.ReadFile("/proc/self/statm") // proc_pid_statm(5): pages
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.ParseInt(string(bytes.Fields(text)[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return int64(stats.HeapAlloc), pages * int64(os.Getpagesize())
}

// connector gives a program's connection to an origin: straight, or carried.
func connector(b *testing.B, o *origin, direct bool) func() *net.TCPConn {
	if direct {
		return func() *net.TCPConn {
			c, err := net.Dial("tcp", o.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			return c.(*net.TCPConn)
		}
	}
	_, s := through(b, o, Config{})
	s.config.Record = func(Event) {}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.Carry(b.Context(), c, query("ok.test", 7000))
		}
	}()
	return func() *net.TCPConn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		return c.(*net.TCPConn)
	}
}

func bothWays(b *testing.B, f func(b *testing.B, direct bool)) {
	b.Run("direct", func(b *testing.B) { f(b, true) })
	b.Run("through", func(b *testing.B) { f(b, false) })
}

// BenchmarkFirstByte is a new connection, one byte there and one back.
func BenchmarkFirstByte(b *testing.B) {
	bothWays(b, func(b *testing.B, direct bool) {
		o := newOrigin(b, func(c *net.TCPConn) { _, _ = io.Copy(c, c) })
		connect := connector(b, o, direct)
		buf := make([]byte, 1)
		for b.Loop() {
			c := connect()
			if _, err := c.Write(buf); err != nil {
				b.Fatal(err)
			}
			if _, err := io.ReadFull(c, buf); err != nil {
				b.Fatal(err)
			}
			pipe.Reset(c)
		}
	})
}

// BenchmarkThroughput is what one connection receives.
func BenchmarkThroughput(b *testing.B) {
	bothWays(b, func(b *testing.B, direct bool) {
		chunk := make([]byte, 1<<20)
		o := newOrigin(b, func(c *net.TCPConn) {
			for {
				if _, err := c.Write(chunk); err != nil {
					return
				}
			}
		})
		c := connector(b, o, direct)()
		defer c.Close()
		buf := make([]byte, len(chunk))
		b.SetBytes(int64(len(chunk)))
		for b.Loop() {
			if _, err := io.ReadFull(c, buf); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkThousandConnections reports the memory of a thousand that are open and idle. The
// program's ends and the origin's are in this process too, and in the number.
func BenchmarkThousandConnections(b *testing.B) {
	const n = 1000
	bothWays(b, func(b *testing.B, direct bool) {
		o := newOrigin(b, func(c *net.TCPConn) { _, _ = io.Copy(c, c) })
		connect := connector(b, o, direct)
		for b.Loop() {
			debug.FreeOSMemory()
			_, before := memory(b)
			open := make([]*net.TCPConn, n)
			for i := range open {
				open[i] = connect()
				_ = open[i].SetDeadline(time.Now().Add(deadline))
				if _, err := open[i].Write([]byte{1}); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(open[i], make([]byte, 1)); err != nil {
					b.Fatal(err)
				}
			}
			_, after := memory(b)
			b.ReportMetric(float64(after-before)/(1<<20), "MiB")
			for _, c := range open {
				_ = c.Close()
			}
		}
	})
}
