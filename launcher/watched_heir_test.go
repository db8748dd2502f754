package launcher

import (
	"net"
	"os"
	"os/exec"
	"testing"

	"brainbox/internal/needs"
)

// A program that outlives whoever answers its calls cannot answer them itself: what its filter
// refuses stays refused, whether it was watched or only its connects were brokered.
func TestNobodyInheritsTheListener(t *testing.T) {
	needs.Notify(t)
	needs.LandlockABI(t, 1)
	if dir := os.Getenv("HEIR_DIR"); dir != "" {
		f, p, o := heir(t, dir, os.Getenv("HEIR_KIND"), os.Getenv("HEIR_SOCKET"))
		_, err := p.Run(f, o)
		t.Fatal("it is killed before", err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"watched", "brokered", "both"} {
		t.Run(kind, func(t *testing.T) {
			dir := resolved(t.TempDir())
			compileWatched(t, dir)
			socks, err := os.MkdirTemp("", "heir") //nolint:usetesting // TempDir is too long for a socket
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(socks) })
			l, err := net.Listen("unix", socks+"/s") //nolint:noctx // a test's own
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = l.Close() })
			heir(t, dir, kind, socks+"/s") // may skip
			cmd := exec.CommandContext(t.Context(), exe, "-test.run=^TestNobodyInheritsTheListener$")
			cmd.Env = append(os.Environ(), "HEIR_DIR="+dir, "HEIR_KIND="+kind, "HEIR_SOCKET="+socks+"/s")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
			const alive = "filter 0 listener 16 ready\n" // a filter is loaded: the positive control
			if got := waitFor(t, dir+"/log", "ready\n"); got != alive {
				t.Errorf("with a listener the program noted %q", got)
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if got, want := waitFor(t, dir+"/log", "end\n"), alive+"listener 16 vsock 1 io_uring 1 connect 38 end\n"; got != want {
				t.Errorf("the program noted %q, want %q", got, want)
			}
		})
	}
}

// heir is the run of the program; socket is listed where connects are to be brokered.
func heir(t *testing.T, dir, kind, socket string) (*Facts, *Plan, Options) {
	t.Helper()
	var o Options
	if kind != "brokered" {
		o.Observe = newWatcher().observe
	}
	var sockets []string
	if kind != "watched" {
		sockets = []string{socket}
	}
	f, p := planIn(t, "landlock", dir, "exec ./watched heir log", sockets...)
	if p.Refusal != nil || (p.Broker != nil) != (kind != "watched") {
		t.Skipf("needs: a broker: %+v", p.Refusal) // gating: Landlock may judge sockets itself
	}
	return f, p, o
}
