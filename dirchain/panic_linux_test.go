package dirchain

import (
	"os"
	"testing"
)

// bomb is a content that panics after its first byte.
type bomb struct{ sent bool }

func (b *bomb) Read(p []byte) (int, error) {
	if b.sent {
		panic("the content fails")
	}
	b.sent = true
	return copy(p, "x"), nil
}

// TestWritePanic: a panic of the caller's own code leaves nothing behind and
// nothing held (contract brainkit §4.2 step Z).
func TestWritePanic(t *testing.T) {
	both(t, func(t *testing.T, opts Options) {
		dir := t.TempDir()
		r := open(t, dir, opts)
		before := stillOpen(t)
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			_, _ = r.Write(t.Context(), "d/f", WriteRequest{Content: &bomb{}, Parents: true})
		}()
		if left := names(t, dir); left != "" {
			t.Errorf("left behind: %s", left)
		}
		if got := stillOpen(t); got != before {
			t.Errorf("%d descriptors are open, want %d", got, before)
		}
		if _, err := r.Write(t.Context(), "d/f", WriteRequest{Content: text("x"), Parents: true}); err != nil {
			t.Errorf("the next write: %v", err)
		}
	})
}

func stillOpen(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}
