package bridge

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"brainbox/bridge/wire"
)

// BenchmarkPing is a round trip over a Unix socket.
func BenchmarkPing(b *testing.B) {
	s := newStand(b, many)
	p := s.agent()
	measure(b, func(int) string {
		p.send(`{"jsonrpc":"2.0","id":"1","method":"ping","params":{}}` + "\n")
		return p.line()
	})
}

// BenchmarkToolCall is a round trip of a call through the gate and a dispatcher in Go.
func BenchmarkToolCall(b *testing.B) {
	s := newStand(b, many, func(c *Config) { c.Transcript, c.Recorder = nil, nil })
	p := s.agent()
	measure(b, func(i int) string {
		p.send(`{"jsonrpc":"2.0","id":"1","method":"tool.call","params":` + request(b, id("b"+strconv.Itoa(i))...) + "}\n")
		return p.line()
	})
}

// BenchmarkDecode is the strict reading of one request's frame.
func BenchmarkDecode(b *testing.B) {
	line := []byte(`{"jsonrpc":"2.0","id":"1","method":"tool.call","params":` + base + "}")
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if _, err := wire.DecodeRequest(line); err != nil {
			b.Fatal(err)
		}
	}
}

// measure reports the median, which a busy machine moves less than the mean.
func measure(b *testing.B, f func(i int) string) {
	b.Helper()
	var all []time.Duration
	for i := 0; b.Loop(); i++ {
		start := time.Now()
		if f(i) == "" {
			b.Fatal("closed")
		}
		all = append(all, time.Since(start))
	}
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2].Nanoseconds()), "median-ns")
}
