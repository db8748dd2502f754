package launcher

import (
	"testing"

	"brainbox/internal/needs"
)

// A tracer is stopped for before the filter is run, and again before it is run a second time:
// what it turns an allowed call into is judged as any other. Nothing stops a thread between
// the answer that lets the kernel go on and the call.
func TestATracerMakesNoRefusedCall(t *testing.T) {
	needs.Notify(t)
	needs.LandlockABI(t, 1)
	const once = "getpid 0\nvsock 97\nunshare 1\nio_uring 38\nmount 1\nnone 14\nturned 6\n" // getpid: the positive control
	const want = "openat at its entry:\n" + once + "getppid by a filter:\n" + once
	for _, isolation := range []string{"landlock", "namespaces"} {
		t.Run(isolation, func(t *testing.T) {
			if isolation == "namespaces" {
				needs.Userns(t)
			}
			for _, w := range []*watcher{newWatcher(), nil} {
				var o Options
				if w != nil {
					o.Observe = w.observe
				}
				dir := resolved(t.TempDir())
				compileWatched(t, dir)
				f, p := planWith(t, "debug", isolation, dir, "exec ./watched tracer >out", false)
				if p.Refusal != nil {
					t.Fatal(p.Refusal)
				}
				if res, err := p.Run(f, o); err != nil || res.Status != 0 {
					t.Fatalf("%+v, %v", res, err)
				}
				if got := read(t, dir+"/out"); got != want {
					t.Errorf("watched %v, the program noted\n%s\nwant\n%s", w != nil, got, want)
				}
				if w != nil && (w.refused["socket"] == 0 || w.refused["mount"] == 0) {
					t.Errorf("nobody was told: %v", w.refused)
				}
			}
		})
	}
}
