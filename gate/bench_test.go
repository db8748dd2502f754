package gate

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"brainbox/gate/confirm"
	"brainbox/gate/event"
	"brainbox/gate/prompt"
	"brainbox/gate/protect"
	"brainbox/gate/rule"
)

// thousand is a policy of a thousand rules, of which the first is the one that counts.
func thousand(t testing.TB) *Compiled {
	return compiled(t, `{"*":"ask"}`, func(p *Policy) {
		own := []rule.Rule{{Surface: "read", Pattern: "*", Action: 2}, {Surface: "bash", Pattern: "*", Action: 2}}
		for i := range 998 {
			surface := []string{"read", "bash", "path", "external_directory"}[i%4]
			own = append(own, rule.Rule{Surface: surface, Pattern: fmt.Sprintf("dir%d/*.s%d", i, i), Action: 0})
		}
		p.Rules.Scopes[0].Rules = own
		p.Confirm = confirm.Config{}
	})
}

func benchGate(b *testing.B, c Config) *Gate {
	b.Helper()
	c.Hub, c.Session = event.New(event.Options{Session: "s1"}), "s1"
	c.Unjudged = c.Judge == nil
	g, err := New(c)
	if err != nil {
		b.Fatal(err)
	}
	return g
}

func BenchmarkDecide(b *testing.B) {
	judge, _, err := protect.Compile(protect.Seat{}, protect.Options{})
	if err != nil {
		b.Fatal(err)
	}
	dir, tracked, places := tree(b)
	p := thousand(b)
	held := compiled(b, allowAll, rooted(dir))
	read := file("read_file", "src/a/b.go")
	read.Args = nil
	shell := bash("cd src && go test ./... | tee out.log; git status --short && ls -la " + strings.Repeat("x", 120))
	for _, c := range []struct {
		name string
		gate *Gate
		call Call
	}{
		{"read, 1000 rules", benchGate(b, Config{Policy: p, Judge: judge}), read},
		{"shell, 200 bytes, 1000 rules", benchGate(b, Config{Policy: p, Judge: judge}), shell},
		{"write, on disk, held", benchGate(b, Config{Policy: held, Judge: tracked, Resolver: places}), written(dir, "src/a")},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				d := c.gate.Decide(context.Background(), c.call)
				if !d.Allowed {
					b.Fatal(d.Resolution, d.Reason)
				}
				d.Close()
			}
		})
		b.Run(c.name+", check", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.gate.Check(context.Background(), c.call); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The idle gate of a session with a thousand rules, its judge, broker and hub.
func BenchmarkIdle(b *testing.B) {
	const n = 20
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		all := make([]*Gate, n)
		for i := range all {
			hub := event.New(event.Options{})
			broker, err := prompt.New(prompt.Options{Hub: hub, Timeout: time.Second})
			if err != nil {
				b.Fatal(err)
			}
			judge, _, err := protect.Compile(protect.Seat{}, protect.Options{})
			if err != nil {
				b.Fatal(err)
			}
			if all[i], err = New(Config{Policy: thousand(b), Hub: hub, Broker: broker, Judge: judge}); err != nil {
				b.Fatal(err)
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "B/gate")
		runtime.KeepAlive(all)
	}
}
