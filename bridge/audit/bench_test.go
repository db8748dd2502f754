package audit

import (
	"io"
	"os"
	"testing"
	"time"
)

// BenchmarkPut is what a line costs its caller: in the kernel, on the disk, and with
// others that share the disk's time.
func BenchmarkPut(b *testing.B) {
	for name, every := range map[string]time.Duration{"kernel": time.Second, "disk": 0} {
		b.Run(name, func(b *testing.B) {
			l := open(b, Options{Dir: newFolder(b), SyncEvery: every})
			for b.Loop() {
				put(b, l, 1)
			}
			closed(b, l)
		})
		b.Run(name+"/64", func(b *testing.B) {
			l := open(b, Options{Dir: newFolder(b), SyncEvery: every})
			b.SetParallelism(32)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					put(b, l, 1)
				}
			})
			closed(b, l)
		})
	}
}

// BenchmarkVerify is the time of a file of 100 000 lines.
func BenchmarkVerify(b *testing.B) {
	text := chain(100_000)
	file := b.TempDir() + "/file"
	if err := os.WriteFile(file, text, 0o600); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		f, err := os.Open(file)
		if err != nil {
			b.Fatal(err)
		}
		r, err := Verify(io.Reader(f), Hash{})
		if err != nil || !r.OK() || r.Lines != 100_000 {
			b.Fatal(r, err)
		}
		_ = f.Close()
	}
}
