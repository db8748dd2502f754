package spawn

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func BenchmarkTrue(b *testing.B) {
	runtime.LockOSThread()
	for name, ns := range map[string]bool{"vfork": false, "namespaces": true} {
		b.Run(name, func(b *testing.B) {
			runtime.LockOSThread()
			r := &Request{Path: "/usr/bin/true", Argv: []string{"true"}, Unconfined: true, Stdio: [3]int{0, 1, 2}, Session: true, DieWithParent: true}
			if ns {
				m := newRoom(b)
				m.ns.Net = true
				r.Namespaces = m.ns
			}
			var st, wt time.Duration
			for b.Loop() {
				t0 := time.Now()
				c, err := Start(r)
				if err != nil {
					b.Fatal(err)
				}
				st += time.Since(t0)
				t0 = time.Now()
				if ns {
					ended(b, c)
					wt += time.Since(t0)
					c.Init.End()
					unix.Close(c.PidFD)
				} else {
					wait(b, c)
				}
			}
			b.ReportMetric(float64(st.Microseconds())/float64(b.N), "start-us")
			b.ReportMetric(float64(wt.Microseconds())/float64(b.N), "end-us")
		})
	}
}
