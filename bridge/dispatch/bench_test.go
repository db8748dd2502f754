package dispatch

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// What a call costs beside an ordinary start of the same program.
func BenchmarkCommand(b *testing.B) {
	dir := b.TempDir()
	tool := filepath.Join(dir, "result")
	if err := os.WriteFile(tool, []byte(good()), 0o600); err != nil {
		b.Fatal(err)
	}
	c, err := NewCommand(CommandConfig{Argv: []string{"cat", tool}, Keeper: ownExecutable, Scratch: dir}, variables())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	var plain, kept time.Duration
	for b.Loop() {
		begun := time.Now()
		if err := exec.Command("cat", tool).Run(); err != nil {
			b.Fatal(err)
		}
		middle := time.Now()
		if got := say(c.Dispatch(context.Background(), request())); got != "succeeded" {
			b.Fatal(got)
		}
		plain, kept = plain+middle.Sub(begun), kept+time.Since(middle)
	}
	b.ReportMetric(float64(plain.Microseconds())/float64(b.N), "plain-µs/op")
	b.ReportMetric(float64(kept.Microseconds())/float64(b.N), "kept-µs/op")
}
