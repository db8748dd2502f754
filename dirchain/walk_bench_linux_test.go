package dirchain

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"testing"
)

// BenchmarkWalk compares with filepath.WalkDir: 100 000 files in 100 directories,
// and in one.
func BenchmarkWalk(b *testing.B) {
	for _, dirs := range []int{100, 1} {
		dir := b.TempDir()
		many(b, dir, dirs, 100_000/dirs)
		r, err := OpenRoot(dir, Options{})
		if err != nil {
			b.Fatal(err)
		}
		want := 100_000 + dirs
		b.Run(fmt.Sprintf("WalkDir/dirs=%d", dirs), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				n := 0
				err := filepath.WalkDir(dir, func(string, fs.DirEntry, error) error { n++; return nil })
				if err != nil || n != want+1 {
					b.Fatal(n, err)
				}
			}
		})
		b.Run(fmt.Sprintf("Walk/dirs=%d", dirs), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				n := 0
				err := r.Walk(b.Context(), "", WalkLimits{Entries: want}, func(Entry) error { n++; return nil })
				if err != nil || n != want {
					b.Fatal(n, err)
				}
			}
		})
		if err = r.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
