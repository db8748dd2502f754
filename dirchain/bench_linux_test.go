package dirchain

import (
	"bytes"
	"os"
	"testing"
)

func BenchmarkWrite(b *testing.B) {
	data := bytes.Repeat([]byte("x"), 4096)
	dir := b.TempDir()
	os.MkdirAll(dir+"/a/b", 0o755)
	os.WriteFile(dir+"/a/b/f", data, 0o644)
	os.WriteFile(dir+"/a/b/g", data, 0o644)
	r, _ := OpenRoot(dir, Options{SkipSync: true})
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			f, _ := os.CreateTemp(dir+"/a/b", "x")
			f.Write(data)
			f.Close()
			os.Rename(f.Name(), dir+"/a/b/g")
		}
	})
	b.Run("mediated", func(b *testing.B) {
		for b.Loop() {
			if _, err := r.Write(b.Context(), "a/b/f", WriteRequest{Mode: Replace, Content: bytes.NewReader(data)}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("readplain", func(b *testing.B) {
		for b.Loop() {
			d, _ := os.ReadFile(dir + "/a/b/g")
			Sum(d)
		}
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			r.Read(b.Context(), "a/b/g", ReadRequest{})
		}
	})
}
