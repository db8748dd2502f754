package confirm

import (
	"strings"
	"testing"
)

// BenchmarkFirst is the whole table over commands that nothing matches.
func BenchmarkFirst(b *testing.B) {
	for name, command := range map[string]string{
		"short":  "go test ./...",
		"git":    "git -C sub status --short --branch",
		"script": strings.Repeat("echo hello world; ", 500),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if p, ok := (Patterns{}).First(command); ok {
					b.Fatal(p.Source())
				}
			}
		})
	}
}
