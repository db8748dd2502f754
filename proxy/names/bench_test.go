package names

import (
	"fmt"
	"runtime"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"brainbox/proxy/allow"
)

// What 1024 names with two ports cost in this process, for one family.
func BenchmarkNames(b *testing.B) {
	for _, kind := range []dnsmessage.Type{dnsmessage.TypeA} {
		for b.Loop() {
			w := newWorld(b, nil, allow.Rule{Name: "*.wild.test"})
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			for i := range 1024 {
				w.addr(fmt.Sprintf("n%d.wild.test.", i), kind)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(after.HeapInuse+after.StackInuse-before.HeapInuse-before.StackInuse)/1024, "B/name")
			w.table.close()
			w.running.Wait()
		}
	}
}

func BenchmarkAnswer(b *testing.B) {
	w := newWorld(b, nil)
	for name, host := range map[string]string{"listed": "ok.test.", "not listed": "denied.test."} {
		msg := query(b, host, dnsmessage.TypeA)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				w.answer(w.ctx, msg)
				w.take()
			}
		})
	}
}
