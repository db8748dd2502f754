package mask

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"brainbox/dirchain"
)

// TestCaptureBaseRefuses: whatever cannot be applied is refused before the editor
// opens, without waiting for anything.
func TestCaptureBaseRefuses(t *testing.T) {
	in := func(f func(dir string) error) func(t *testing.T, h *host) {
		return func(t *testing.T, h *host) { t.Helper(); try(t, f(h.dir)) }
	}
	large := func(name string) func(dir string) error {
		return func(dir string) error {
			return errors.Join(os.WriteFile(dir+name, nil, 0o600), os.Truncate(dir+name, MaxBytes+1))
		}
	}
	tests := []struct {
		name, image string
		setup       func(t *testing.T, h *host)
		want        Code
	}{
		{"bk/HM11 bk/M37 the mask is a link to the policy", raft, in(func(dir string) error {
			return os.Symlink("../context/policies/crew.md", dir+"/"+raftClaude)
		}), AliasDenied},
		{"bk/HM11 bk/M37 the mask is a name of the policy", raft, in(func(dir string) error {
			return os.Link(dir+"/context/policies/crew.md", dir+"/"+raftClaude)
		}), AliasDenied},
		{"the mask is a directory", raft, in(func(dir string) error { return os.Mkdir(dir+"/"+raftClaude, 0o755) }), AliasDenied},
		{"bk/HM13", "assets/../assets/raft.png", nil, InvalidTarget},
		{"bk/HM14 bk/M37", "context/policies/crew.png", nil, PolicyDenied},
		{"bk/HM15", ".brain/other/x.png", nil, InvalidTarget},
		{"bk/HM17 no image", "assets/raft.txt", nil, InvalidTarget},
		{"bk/HM17 missing", "assets/none.png", nil, MissingImage},
		{"bk/HM17 missing with its directory", "none/none.png", nil, MissingImage},
		{"bk/HM22 a FIFO", "assets/fifo.png", in(func(dir string) error {
			return syscall.Mkfifo(dir+"/assets/fifo.png", 0o600)
		}), AliasDenied},
		{"bk/HM22 the mask is a FIFO", raft, in(func(dir string) error {
			return syscall.Mkfifo(dir+"/"+raftClaude, 0o600)
		}), AliasDenied},
		{"a link to an image", "assets/link.png", in(func(dir string) error {
			return os.Symlink("raft.png", dir+"/assets/link.png")
		}), AliasDenied},
		{"an image with two names", raft, in(func(dir string) error {
			return os.Link(dir+"/"+raft, dir+"/other.png")
		}), AliasDenied},
		{"through a link", "link/raft.png", in(func(dir string) error { return os.Symlink("assets", dir+"/link") }), AliasDenied},
		{"a file as a directory", raft + "/x.png", nil, AliasDenied},
		{"bk/HM3 a large image", "assets/large.png", in(large("/assets/large.png")), PayloadTooLarge},
		{"bk/HM3 a large mask", raft, in(large("/" + raftClaude)), PayloadTooLarge},
		{"a name for which the mask's is too long", "assets/" + strings.Repeat("a", 248) + ".png", in(func(dir string) error {
			return os.WriteFile(dir+"/assets/"+strings.Repeat("a", 248)+".png", nil, 0o600)
		}), InvalidTarget},
		{"no root", raft, func(_ *testing.T, h *host) { h.Root = nil }, ApplicationFailed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			each(t, func(t *testing.T, opts dirchain.Options) {
				h := newHost(t, opts)
				if tt.setup != nil {
					tt.setup(t, h)
				}
				before := tree(t, h.dir)
				base, err := h.CaptureBase(t.Context(), tt.image)
				var r *Refusal
				if !errors.As(err, &r) || r.Code != tt.want || base != (Base{}) {
					t.Errorf("%+v, %v, want %s", base, err, tt.want)
				}
				if after := tree(t, h.dir); after != before {
					t.Errorf("before:\n%safter:\n%s", before, after)
				}
				if h.Root != nil {
					h.base(t, "context/notes/a.png") // the control
				}
			})
		})
	}
}
