package protect

import "testing"

// BenchmarkMatch is the spelling view of one path.
func BenchmarkMatch(b *testing.B) {
	j, _, err := Compile(Seat{}, Options{DataRoot: "/home/u/.local/state/brainbox"})
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct{ name, path string }{
		{"relative", "src/internal/server/handler_test.go"},
		{"absolute", "/home/u/work/project/src/internal/server/handler_test.go"},
		{"capitals", "src/Internal/Server/README.md"},
		{"hit", "project/.git/hooks/pre-commit"},
		{"run", "home/.config/git/ignore"},
		{"unicode", "docs/\u00fcbersicht/\u0391\u03a3.md"},
		{"deep", "a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t/u/v/w/x/y/z"},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = j.Match(c.path, "/home/u/work/project")
			}
		})
	}
}

func BenchmarkFold(b *testing.B) {
	for _, s := range []string{"handler_test.go", "README.md", "\u00dcbersicht", ".gi\u200ct"} {
		b.Run(s, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = Fold(s)
			}
		})
	}
}
