package dirchain

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// The benchmarks come in pairs: what the package does, and what a program does that
// trusts the tree. docs/benchmarks.md has the ratios, measured in turns.

func benchRoot(b *testing.B, opts Options) (dir string, r *Root) {
	b.Helper()
	dir = b.TempDir()
	if err := os.MkdirAll(dir+"/src/pkg", 0o755); err != nil {
		b.Fatal(err)
	}
	r, err := OpenRoot(dir, opts)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = r.Close() })
	return dir, r
}

func BenchmarkWrite(b *testing.B) {
	const size = 4 << 10
	data := bytes.Repeat([]byte("x"), size)
	plain := func(dir string) error {
		f, err := os.CreateTemp(dir, "x")
		if err != nil {
			return err
		}
		_, err = f.Write(data)
		return errors.Join(err, f.Close(), os.Rename(f.Name(), dir+"/f"))
	}
	base := Sum(data)
	protect := []string{".git", ".brainbox.toml", ".vscode", "src/.git"}
	for _, bench := range []struct {
		name string
		opts Options
		base *Hash
	}{
		{"dirchain", Options{}, nil},
		{"without openat2", Options{NoOpenat2: true}, nil},
		{"with a base", Options{}, &base},
		{"with four protected places", Options{Protect: protect}, nil},
	} {
		b.Run(bench.name, func(b *testing.B) {
			bench.opts.SkipSync = true
			dir, r := benchRoot(b, bench.opts)
			if err := plain(dir + "/src/pkg"); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				req := WriteRequest{Mode: Replace, Content: bytes.NewReader(data), Base: bench.base}
				if _, err := r.Write(b.Context(), "src/pkg/f", req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("os", func(b *testing.B) {
		dir, _ := benchRoot(b, Options{})
		b.ReportAllocs()
		for b.Loop() {
			if err := plain(dir + "/src/pkg"); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkRead(b *testing.B) {
	for _, size := range []int{4 << 10, 64 << 10, 1 << 20} {
		dir, r := benchRoot(b, Options{})
		name := filepath.Join(dir, "src", "pkg", "f")
		if err := os.WriteFile(name, make([]byte, size), 0o600); err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("dirchain/%d", size), func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if got, err := r.Read(b.Context(), "src/pkg/f", ReadRequest{}); err != nil || len(got.Data) != size {
					b.Fatal(len(got.Data), err)
				}
			}
		})
		b.Run(fmt.Sprintf("os/%d", size), func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				data, err := os.ReadFile(name)
				if err != nil || Sum(data) == (Hash{}) {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkHold(b *testing.B) {
	dir, r := benchRoot(b, Options{})
	if err := os.WriteFile(dir+"/src/pkg/f", nil, 0o600); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		held, err := r.Hold("src/pkg/f")
		if err != nil {
			b.Fatal(err)
		}
		held.Close()
	}
}
