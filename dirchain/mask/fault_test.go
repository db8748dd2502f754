package mask

import (
	"context"
	"errors"
	"os"
	"path"
	"strings"
	"syscall"
	"testing"

	"brainbox/dirchain"
)

// TestApplyMode: bk/HM23, a mask keeps the mode of the one it replaces.
func TestApplyMode(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	each(t, func(t *testing.T, opts dirchain.Options) {
		for _, mode := range []os.FileMode{0o640, 0o600, 0o444, 0o666, 0o755} {
			h := newHost(t, opts)
			withMask(t, h)
			try(t, os.Chmod(h.dir+"/"+raftClaude, mode))
			h.trace = func(string) error { narrow(t, h.dir+"/assets", mode); return nil }
			applied(t, h)
			if st, err := os.Stat(h.dir + "/" + raftClaude); err != nil || st.Mode() != mode {
				t.Errorf("bk/HM23: %v, %v, want %v", st.Mode(), err, mode)
			}
		}
		h := newHost(t, opts)
		applied(t, h)
		if st, err := os.Stat(h.dir + "/" + raftClaude); err != nil || st.Mode() != 0o600 {
			t.Errorf("bk/HM24: %v, %v", st.Mode(), err)
		}
	})
}

// narrow: no temporary file may be read or written by more than mode says, or its
// owner.
func narrow(t *testing.T, dir string, mode os.FileMode) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range list {
		if st, err := e.Info(); err == nil && strings.HasPrefix(e.Name(), ".brainbox-") && st.Mode()&^(mode|0o600) != 0 {
			t.Errorf("%s has %v, want at most %v", e.Name(), st.Mode(), mode)
		}
	}
}

// TestApplyDirectoryNotSynced: bk/HM25, the mask is in place and that is told.
func TestApplyDirectoryNotSynced(t *testing.T) {
	h := newHost(t, dirchain.Options{})
	synced := 0
	h.trace = func(call string) error {
		if call == "fsync" {
			if synced++; synced == 2 {
				return syscall.EIO
			}
		}
		return nil
	}
	res := h.Apply(t.Context(), caller(), h.base(t, raft), Request{raft, raftClaude, picture("mask")})
	if res.OK || res.Code != ApplicationFailed || len(res.Changes) != 1 || *res.Changes[0].SHA256 != dirchain.Sum(picture("mask")) {
		t.Errorf("bk/HM25: %+v", res)
	}
	if len(h.results) != 1 || len(h.results[0].Changes) != 1 || read(t, h.dir+"/"+raftClaude) != string(picture("mask")) {
		t.Errorf("recorded: %+v", h.results)
	}
	applied(t, newHost(t, dirchain.Options{}))
}

// TestApplyEveryCallFails: whichever call fails, the mask is the old one or the
// whole new one, the result says which, and nothing else is left.
func TestApplyEveryCallFails(t *testing.T) {
	for _, image := range []string{raft, ScratchDir + "/a/s.png"} {
		for _, old := range []bool{false, true} {
			everyCall(t, image, old, dirchain.Options{SkipSync: true})
			everyCall(t, image, old, dirchain.Options{SkipSync: true, NoOpenat2: true})
		}
	}
	everyCall(t, raft, true, dirchain.Options{})
}

func everyCall(t *testing.T, image string, old bool, opts dirchain.Options) {
	t.Helper()
	mask, err := Claude.MaskPath(image)
	try(t, err)
	h := newHost(t, opts)
	dir := h.dir + "/" + path.Dir(mask)
	for n, failed := 1, "none yet"; failed != ""; n++ {
		try(t, os.RemoveAll(h.dir+"/"+mask))
		if old {
			write(t, h.dir+"/"+mask, string(picture("old")))
		}
		h.results, h.unlocked, failed = nil, 0, ""
		base, before, calls := h.base(t, image), entries(t, dir), 0
		h.trace = func(call string) error {
			if calls++; calls == n {
				failed = call
				return syscall.EIO
			}
			return nil
		}
		res := h.Apply(t.Context(), caller(), base, Request{image, mask, picture("mask")})
		h.trace = nil
		got, err := os.ReadFile(h.dir + "/" + mask)
		written := err == nil && string(got) == string(picture("mask"))
		switch {
		case len(h.results) != 1 || h.unlocked > 1:
			t.Errorf("call %d, %s: recorded %+v, unlocked %d times", n, failed, h.results, h.unlocked)
		case written != (len(res.Changes) == 1):
			t.Errorf("call %d, %s: %+v, but the file has %q, %v", n, failed, res, got, err)
		case !written && (old && string(got) != string(picture("old")) || !old && err == nil || res.OK):
			t.Errorf("call %d, %s: %+v, and the file has %q", n, failed, res, got)
		case failed == "" && (!res.OK || n < 20):
			t.Errorf("the control, %d calls: %+v", n, res)
		}
		clean(t, dir, failed, before)
	}
}

// clean: nothing but the mask is new in dir. When it was the removal that failed,
// the temporary file stays.
func clean(t *testing.T, dir, failed, before string) {
	t.Helper()
	for name := range strings.FieldsSeq(entries(t, dir)) {
		switch {
		case strings.Contains(" "+before+" ", " "+name+" "), strings.HasSuffix(name, "-mask.png"):
		case failed == "unlinkat" && strings.HasPrefix(name, ".brainbox-"):
			try(t, os.Remove(dir+"/"+name))
		default:
			t.Errorf("%s failed, and %s is left", failed, name)
		}
	}
}

// TestApplyPanics: a panic of the host's own code is recorded like a refusal, lets
// the lock go and leaves nothing.
func TestApplyPanics(t *testing.T) {
	tests := []struct {
		name    string
		before  func(h *host)
		changes int
	}{
		{"asked at first", func(h *host) { h.at[1] = func() { panic("no") } }, 0},
		{"asked with the lock", func(h *host) { h.at[2] = func() { panic("no") } }, 0},
		{"asked at last", func(h *host) { h.at[3] = func() { panic("no") } }, 0},
		{"awaiting the lock", func(h *host) { h.locked = func(context.Context) error { panic("no") } }, 0},
		{"preparing", func(h *host) { h.area.prepare = func() error { panic("no") } }, 0},
		{"pruning", func(h *host) { h.area.prune = func() ([]Removal, error) { panic("no") } }, 1},
	}
	const image, mask = ScratchDir + "/a/s.png", ScratchDir + "/a/s-mask.png"
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, dirchain.Options{SkipSync: true})
			base := h.base(t, image)
			tt.before(h)
			func() {
				defer func() {
					if recover() == nil {
						t.Error("no panic")
					}
				}()
				h.Apply(t.Context(), caller(), base, Request{image, mask, picture("mask")})
			}()
			if len(h.results) != 1 || h.results[0].OK || h.results[0].Code != ApplicationFailed || len(h.results[0].Changes) != tt.changes {
				t.Errorf("recorded: %+v", h.results)
			}
			want := "s.png"
			if tt.changes > 0 {
				want = "s-mask.png s.png"
			}
			if got := entries(t, h.dir+"/"+ScratchDir+"/a"); got != want {
				t.Errorf("entries: %s, want %s", got, want)
			}
			h.at, h.locked, h.area.prepare, h.area.prune = nil, nil, nil, nil
			if res := h.Apply(t.Context(), caller(), h.base(t, image), Request{image, mask, picture("mask")}); !res.OK {
				t.Errorf("the next one: %+v", res)
			}
		})
	}
}

func TestApplyScratch(t *testing.T) {
	const image, mask = ScratchDir + "/a/s.png", ScratchDir + "/a/s-mask.png"
	none := errors.New("the scratch area is not ignored: brain doctor --fix")
	removals := []Removal{{Path: ScratchDir + "/old.png", Bytes: 1, Reason: "age"}}
	tests := []struct {
		name    string
		before  func(h *host)
		code    Code // "" is ok
		changes int
		outcome string
		pruned  int
	}{
		{"what is not prepared is refused", func(h *host) { h.area.prepare = func() error { return none } }, ApplicationFailed, 0, "", 0},
		{"without an area", func(h *host) { h.Scratch = nil }, ApplicationFailed, 0, "", 0},
		{"revoked right before publication", func(h *host) { h.at[3] = func() { h.revoked = none } }, AuthorityRevoked, 0, "", 0},
		{"bk/HM20 removals are changes", func(h *host) { h.area.prune = func() ([]Removal, error) { return removals, nil } }, "", 2, "", 1},
		{"bk/HM21 the pruning fails", func(h *host) { h.area.prune = func() ([]Removal, error) { return nil, none } }, "", 1, none.Error(), 1},
		{"bk/HM21 the pruning fails in the middle", func(h *host) {
			h.area.prune = func() ([]Removal, error) { return removals, none }
		}, "", 2, none.Error(), 1},
		{"revoked before the pruning", func(h *host) { h.at[4] = func() { h.revoked = none } }, "", 1, "not pruned", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, dirchain.Options{SkipSync: true})
			base := h.base(t, image)
			tt.before(h)
			res := h.Apply(t.Context(), caller(), base, Request{image, mask, picture("mask")})
			if res.OK != (tt.code == "") || res.Code != tt.code || len(res.Changes) != tt.changes || h.area.pruned != tt.pruned {
				t.Errorf("result: %+v, scratch: %+v", res, h.area)
			}
			if tt.outcome == "" && res.Outcome != "" || !strings.Contains(res.Outcome, tt.outcome) {
				t.Errorf("outcome: %q, want %q", res.Outcome, tt.outcome)
			}
			if tt.changes == 2 && (res.Changes[1].SHA256 != nil || res.Changes[1].Path != removals[0].Path) {
				t.Errorf("bk/HM20: %+v", res.Changes[1])
			}
			want := "s.png"
			if tt.code == "" {
				want = "s-mask.png s.png"
			}
			if got := entries(t, h.dir+"/"+ScratchDir+"/a"); got != want {
				t.Errorf("entries: %s, want %s", got, want)
			}
			if h.unlocked != 1 || len(h.results) != 1 {
				t.Errorf("unlocked %d times, recorded %+v", h.unlocked, h.results)
			}
		})
	}
}
