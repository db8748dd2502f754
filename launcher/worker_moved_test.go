package launcher

import (
	"context"
	"os"
	"strings"
	"testing"
)

// What the rules were decided on may be replaced by a link before the launch: the link's end
// keeps to none of them.
func TestWorkerRefusesWhatWasReplaced(t *testing.T) {
	root := resolved(t.TempDir())
	w := newWorker(t, "cat secret $READ/secret; echo broken >$STATE/secret; test -s $STATE/kept")
	shm, err := os.MkdirTemp("/dev/shm", "brainbox-test-") //nolint:usetesting // state is on a tmpfs
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(shm) })
	w.State, w.Read = shm+"/state", []string{root + "/read"}
	w.Env["STATE"], w.Env["READ"] = w.State, w.Read[0]
	for _, dir := range []string{w.State, w.Read[0], root + "/other"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, root+"/other/secret", "as it was\n")
	write(t, w.State+"/kept", "kept\n")
	for _, name := range []string{w.Repo, w.State, w.Read[0], ""} {
		s := workerStart{w: &w, look: w.look, launch: w.launch}
		s.probe = func(ctx context.Context, look *workerLook) *WorkerRefusal {
			r := w.tryProbe(ctx, look)
			if r == nil && name != "" {
				replace(t, name, root+"/other")
			}
			return r
		}
		run, err := s.start(t.Context(), TurnAutonomous)
		if err == nil {
			said := run.collect()
			res, werr := run.Wait()
			if name != "" || werr != nil || res.Status != 0 {
				t.Errorf("%q was replaced: started, %+v, %v, said %q", name, res, werr, said)
			}
		} else if name == "" || !strings.Contains(err.Error(), name+`" was replaced during the start`) {
			t.Errorf("%q: %v", name, err)
		}
		if text := readSmall(root + "/other/secret"); text != "as it was\n" {
			t.Fatalf("outside: %q", text)
		}
		if name != "" {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(name+".away", name); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// replace puts a link in the place of a folder.
func replace(t *testing.T, name, to string) {
	t.Helper()
	if err := os.Rename(name, name+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, name); err != nil {
		t.Fatal(err)
	}
}
