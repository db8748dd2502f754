package launcher

import (
	"fmt"
	"os"
	"testing"
)

// benchCheckout has nested repositories, each of which is 5 names to protect or to watch.
func benchCheckout(b *testing.B, repos int) string {
	b.Helper()
	dir := resolved(b.TempDir()) + "/co"
	for i := range repos + 1 {
		git := fmt.Sprintf("%s/vendor/%03d/.git", dir, i)
		if i == 0 {
			git = dir + "/.git"
		}
		if err := os.MkdirAll(git+"/hooks", 0o755); err != nil {
			b.Fatal(err)
		}
		for _, name := range []string{"HEAD", "config"} {
			if err := os.WriteFile(git+"/"+name, []byte("[core]\n\tbare = false\n"), 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	return dir
}

func BenchmarkInside(b *testing.B) {
	for _, repos := range []int{0, 30} {
		dir := benchCheckout(b, repos)
		p, f := lookInside(b, dir, "")
		b.Run(fmt.Sprintf("look at %d repositories", repos+1), func(b *testing.B) {
			for range b.N {
				f.Inside.close()
				f.observeInside(p)
			}
		})
		b.Run(fmt.Sprintf("plan for %d repositories", repos+1), func(b *testing.B) {
			for range b.N {
				newPlan(p, f, true)
			}
			b.ReportMetric(float64(len(newPlan(p, f, true).Mounts)), "mounts")
		})
		b.Run(fmt.Sprintf("plan for landlock, %d repositories", repos+1), func(b *testing.B) {
			for range b.N {
				newPlan(p, f, false)
			}
		})
		b.Run(fmt.Sprintf("look again at %d repositories", repos+1), func(b *testing.B) {
			plan := newPlan(p, f, true)
			for range b.N {
				plan.After(f)
			}
		})
	}
}
