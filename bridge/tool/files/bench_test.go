package files

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"brainbox/bridge/tool"
	"brainbox/gate"
	"brainbox/internal/strictjson"
)

// done is a whole mediated call: decoded, planned, decided, spent and done.
func (s *shop) done(tb testing.TB, tl tool.Tool, text []byte) *strictjson.Value {
	v, err := strictjson.Decode(text, strictjson.Limits{})
	if err != nil {
		tb.Fatal(err)
	}
	p, err := tl.Plan(v)
	if err != nil {
		tb.Fatal(err)
	}
	c := gate.Call{Surface: tool.SurfaceOf(tl), Tool: tl.Name(), Cwd: s.dir, Args: text, Reading: p.Reading()}
	d := s.gate.Decide(context.Background(), c)
	defer d.Close()
	if err := d.Spend(c); err != nil {
		tb.Fatal(err, d.Reason)
	}
	out, err := p.Do(context.Background(), &d)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

func writeText(name string) []byte {
	text, _ := json.Marshal(map[string]any{
		"root": "work", "path": name, "mode": "replace", "data": strings.Repeat("0123456789abcde\n", 256),
	})
	return text
}

// A mediated write of 4 KiB through gate, judge and held directories, without fsync: at
// most 300 µs; and from eight goroutines at least 5 000 a second.
func BenchmarkWrite4K(b *testing.B) {
	s := newShop(b, setup{})
	s.put("src/b", "")
	text := writeText("src/b")
	b.Run("one", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s.done(b, s.tools["fs.write"], text)
		}
	})
	b.Run("eight", func(b *testing.B) {
		var next atomic.Int64
		b.SetParallelism(4)
		b.RunParallel(func(pb *testing.PB) {
			name := fmt.Sprintf("src/d%d/f", next.Add(1))
			s.put(name, "")
			text := writeText(name)
			for pb.Next() {
				s.done(b, s.tools["fs.write"], text)
			}
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
	})
}

// Reads of 100 000 bytes: at least 50 MiB/s.
func BenchmarkRead(b *testing.B) {
	s := newShop(b, setup{})
	s.put("src/b", strings.Repeat("0123456789abcde\n", MaxRead/16))
	b.SetBytes(MaxRead)
	b.ReportAllocs()
	for b.Loop() {
		s.done(b, s.tools["read_file"], []byte(`{"path":"src/b"}`))
	}
}

// A search of 200 files of 16 KiB each.
func BenchmarkGrep(b *testing.B) {
	s := newShop(b, setup{})
	for i := range 200 {
		s.put(fmt.Sprintf("src/%d/f", i), strings.Repeat("the quick brown fox jumps\n", 630))
	}
	b.SetBytes(200 * 630 * 26)
	for b.Loop() {
		s.done(b, s.tools["grep"], []byte(`{"pattern":"fo[a-z] (lies|sleeps)"}`))
	}
}
