package allow

import (
	"net/netip"
	"testing"
)

func BenchmarkDecide(b *testing.B) {
	rules := list(b)
	for name, host := range map[string]string{
		"name": "ok.test", "wildcard": "a.b.c.wild.test", "refused": "evil.test", "address": "127.1", "IDNA": "bücher.test",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				rules.Decide(Query{host, 443, Connect})
			}
		})
	}
	b.Run("an address it led to", func(b *testing.B) {
		b.ReportAllocs()
		a := netip.MustParseAddr("2606:4700::1")
		for b.Loop() {
			rules.Address(a, 443)
		}
	})
}
