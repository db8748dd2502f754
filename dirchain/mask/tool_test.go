package mask

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"brainbox/dirchain"
)

// asker is a host that has masks painted, and nothing else.
type asker struct {
	asked   []string
	decline error
	then    func()
}

func (a *asker) RequestMask(_ context.Context, imagePath, instruction string) ([]byte, error) {
	a.asked = append(a.asked, imagePath+": "+instruction)
	if a.then != nil {
		a.then()
	}
	if a.decline != nil {
		return nil, a.decline
	}
	return picture("mask"), nil
}

// applier writes masks too, as a result says.
type applier struct {
	asker
	got []Request
	res Result
	err error
}

func (a *applier) ApplyMask(_ context.Context, req Request) (Result, error) {
	a.got = append(a.got, req)
	return a.res, a.err
}

func toolOver(f *field, b Backend) *Tool {
	return &Tool{Backend: b, Root: f.Root, Configured: f.dir, Scratch: f.area}
}

// TestToolRefuses: before the person is asked, and without a trace.
func TestToolRefuses(t *testing.T) {
	link := func(to, name string) func(f *field) error {
		return func(f *field) error { return os.Symlink(strings.ReplaceAll(to, "OUT", f.outside), f.dir+"/"+name) }
	}
	tests := []struct {
		name, image, instruction string
		setup                    func(f *field) error
	}{
		{"bk/MN3 beside the root", "../x.png", "", nil},
		{"bk/MN3 absolute", "/assets/raft.png", "", nil},
		{"bk/MN3 U+0000", "assets/raft.png\x00", "", nil},
		{"bk/MN3 a link to outside", "out/x.png", "", link("OUT", "out")},
		{"bk/MN3 a link to a file outside", "assets/l.png", "", link("OUT/secret", "assets/l.png")},
		{"bk/MN3 a dangling link to outside", "assets/l.png", "", link("OUT/none.png", "assets/l.png")},
		{"bk/MN3 the root", "assets/..", "", nil},
		{"bk/MN3 nothing", "", "", nil},
		{"bk/MN7 the mask of Claude is outside", raft, "", link("OUT/new.png", raftClaude)},
		{"bk/MN7 the mask of Pi is outside", raft, "", link("OUT/new.png", raftPi)},
		{"the mask would be the policy's", "context/policies/crew.png", "", nil},
		{"an escape sequence in the extension", "assets/raft.png\x1b[2J", "", nil},
		{"a line in the extension", "assets/raft.png\nSafe: yes", "", nil},
		{"no UTF-8 in the extension", "assets/raft.\xff", "", nil},
		{"a link to an escape sequence, as the canonical name of Pi", "assets/l.png", "", func(f *field) error {
			return os.Symlink("x.\x1bc", f.dir+"/assets/l.png")
		}},
		{"a long path", strings.Repeat("a", MaxPath-3) + ".png", "", nil},
		{"a long instruction", raft, strings.Repeat("i", MaxInstruction+1), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, b := range []Backend{Claude, Pi} {
				f := newField(t, dirchain.Options{SkipSync: true})
				if tt.setup != nil {
					try(t, tt.setup(f))
				}
				if strings.Contains(tt.name, "of Claude") && b == Pi || strings.Contains(tt.name, "of Pi") && b == Claude {
					continue
				}
				before := tree(t, f.dir) + tree(t, f.outside)
				for _, host := range []Host{&asker{}, &applier{}} {
					rep, err := toolOver(f, b).Request(t.Context(), host, tt.image, tt.instruction)
					if err == nil || rep != (Report{}) || !strings.HasPrefix(err.Error(), ToolName+": ") {
						t.Errorf("%v: %+v, %v", b, rep, err)
					}
					a, ok := host.(*asker)
					if !ok {
						a = &host.(*applier).asker
					}
					if len(a.asked) != 0 {
						t.Errorf("%v: the person was asked: %q", b, a.asked)
					}
				}
				if after := tree(t, f.dir) + tree(t, f.outside); after != before {
					t.Errorf("%v: before:\n%safter:\n%s", b, before, after)
				}
				if _, err := toolOver(f, b).Request(t.Context(), &asker{}, "context/notes/a.png", "more sky"); err != nil {
					t.Errorf("%v: the control: %v", b, err)
				}
			}
		})
	}
}

// TestToolWithoutAHost: bk/MN4, what the host cannot do is told first.
func TestToolWithoutAHost(t *testing.T) {
	f := newField(t, dirchain.Options{SkipSync: true})
	for _, host := range []Host{nil, struct{}{}, "host"} {
		if _, err := toolOver(f, Claude).Request(t.Context(), host, "../x.png", ""); err == nil ||
			!strings.Contains(err.Error(), ToolName) || !strings.Contains(err.Error(), "cannot ask") {
			t.Errorf("bk/MN4: %v", err)
		}
	}
	a := &asker{}
	if _, err := (&Tool{}).Request(t.Context(), a, raft, ""); err == nil || len(a.asked) != 0 {
		t.Errorf("bk/MN4 nobody could write it: %v, asked %q", err, a.asked)
	}
	if f.calls != 0 {
		t.Errorf("bk/MN4: %d system calls", f.calls)
	}
}

// TestToolDeclined: bk/MN5, what the person says is an error, and nothing is written.
func TestToolDeclined(t *testing.T) {
	f := newField(t, dirchain.Options{SkipSync: true})
	before, no := tree(t, f.dir), errors.New("the person closed the editor")
	for _, host := range []Host{&asker{decline: no}, &applier{asker: asker{decline: no}}} {
		_, err := toolOver(f, Claude).Request(t.Context(), host, raft, "")
		if !errors.Is(err, no) || !strings.Contains(err.Error(), "in words") {
			t.Errorf("bk/MN5: %v", err)
		}
		if a, ok := host.(*applier); ok && len(a.got) != 0 {
			t.Errorf("bk/MN5: applied %+v", a.got)
		}
	}
	if after := tree(t, f.dir); after != before {
		t.Errorf("bk/MN5: before:\n%safter:\n%s", before, after)
	}
}

// TestToolFallback: what is written where, and what is told.
func TestToolFallback(t *testing.T) {
	link := func(to, name string) func(f *field) error {
		return func(f *field) error { return os.Symlink(to, f.dir+"/"+name) }
	}
	tests := []struct {
		name, image string
		backend     Backend
		setup       func(f *field) error
		at, told    string
	}{
		{"plain", raft, Claude, nil, raftClaude, raftClaude},
		{"plain, Pi", raft, Pi, nil, raftPi, raftPi},
		{"bk/MN1 through a link", "in/raft.png", Claude, link("assets", "in"), raftClaude, "in/raft-mask.png"},
		{"through a link, Pi", "in/raft.png", Pi, link("assets", "in"), raftPi, raftPi},
		{"the image is a link", "l.png", Claude, link(raft, "l.png"), "l-mask.png", "l-mask.png"},
		{"the image is a link, Pi", "l.png", Pi, link(raft, "l.png"), raftPi, raftPi},
		{"bk/MN6 a missing directory behind a link", "in/new/x.png", Claude, link("assets", "in"), "assets/new/x-mask.png", "in/new/x-mask.png"},
		{"cleaned as text", "in/../assets/raft.png", Claude, link("context", "in"), raftClaude, raftClaude},
		{"scratch", ScratchDir + "/a/s.png", Claude, nil, ScratchDir + "/a/s-mask.png", ScratchDir + "/a/s-mask.png"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newField(t, dirchain.Options{SkipSync: true})
			if tt.setup != nil {
				try(t, tt.setup(f))
			}
			rep, err := toolOver(f, tt.backend).Request(t.Context(), &asker{}, tt.image, "")
			if err != nil || rep.MaskPath != tt.told || rep.ImagePath != tt.image || rep.Bytes != len(picture("mask")) || rep.Note == "" {
				t.Errorf("%+v, %v", rep, err)
			}
			if st, err := os.Lstat(f.dir + "/" + tt.at); err != nil || !st.Mode().IsRegular() {
				t.Errorf("%v, %v", st, err)
			}
		})
	}
	t.Run("bk/MN2 the root is configured through a link", func(t *testing.T) {
		f := newField(t, dirchain.Options{SkipSync: true})
		alias := t.TempDir() + "/alias"
		try(t, os.Symlink(f.dir, alias))
		for b, want := range map[Backend]string{Claude: raftClaude, Pi: f.dir + "/" + raftPi} {
			tool := toolOver(f, b)
			tool.Configured = alias
			if rep, err := tool.Request(t.Context(), &asker{}, raft, ""); err != nil || rep.MaskPath != want {
				t.Errorf("bk/MN2 %v: %+v, %v, want %q", b, rep, err, want)
			}
		}
	})
	t.Run("what fails is told with its code's words", func(t *testing.T) {
		f := newField(t, dirchain.Options{SkipSync: true})
		try(t, os.Mkdir(f.dir+"/"+raftClaude, 0o755))
		if _, err := toolOver(f, Claude).Request(t.Context(), &asker{}, raft, ""); CodeOf(err) != AliasDenied {
			t.Errorf("a directory: %v", err)
		}
	})
}

// TestToolHosted: bk/FB21, with a host that writes itself nothing is looked at once
// the mask is painted, and nothing at all without a root.
func TestToolHosted(t *testing.T) {
	for b, mask := range map[Backend]string{Claude: raftClaude, Pi: raftPi} {
		f := newField(t, dirchain.Options{SkipSync: true})
		try(t, os.Symlink("assets", f.dir+"/in"))
		before := tree(t, f.dir)
		a := &applier{res: Result{OK: true, Outcome: "not pruned"}}
		a.then = func() { f.calls = 0 }
		rep, err := toolOver(f, b).Request(t.Context(), a, "in/raft.png", "more sky")
		if err != nil || !strings.Contains(rep.Note, "not pruned") || f.calls != 0 {
			t.Errorf("bk/FB21 %v: %+v, %v, %d calls", b, rep, err, f.calls)
		}
		if len(a.got) != 1 || a.got[0].ImagePath != raft || a.got[0].MaskPath != mask || string(a.got[0].PNG) != string(picture("mask")) {
			t.Errorf("bk/MN1 %v: the host got %+v", b, a.got)
		}
		if len(a.asked) != 1 || a.asked[0] != raft+": more sky" {
			t.Errorf("%v: asked %q", b, a.asked)
		}
		for _, bad := range []*applier{{err: errors.New("the host is gone")}, {res: Result{Code: StaleBase, Message: "stale"}}} {
			if _, err := toolOver(f, b).Request(t.Context(), bad, raft, ""); err == nil || len(bad.got) != 1 {
				t.Errorf("%v: %v", b, err)
			}
		}
		if after := tree(t, f.dir); after != before {
			t.Errorf("bk/FB21 %v: before:\n%safter:\n%s", b, before, after)
		}
		rootless(t, b, mask)
	}
}

// rootless: by their text alone.
func rootless(t *testing.T, b Backend, mask string) {
	t.Helper()
	tool := &Tool{Backend: b, Configured: "/brain"}
	for _, image := range []string{"../x.png", "/x.png", "x\x00.png", "a/..", "../brain/x.png", "context/policies/x.png", "x.png\x1b[2J"} {
		a := &applier{res: Result{OK: true}}
		if _, err := tool.Request(t.Context(), a, image, ""); err == nil || len(a.asked) != 0 {
			t.Errorf("bk/MN3 %v %q: %v, asked %q", b, image, err, a.asked)
		}
	}
	a := &applier{res: Result{OK: true}}
	rep, err := tool.Request(t.Context(), a, "none/../assets/raft.png", "")
	if err != nil || rep.MaskPath != mask || len(a.got) != 1 || a.got[0].ImagePath != raft || a.got[0].MaskPath != mask {
		t.Errorf("bk/FB21 %v: %+v, %v, the host got %+v", b, rep, err, a.got)
	}
}

// bridged joins a tool and an operation as a host does.
type bridged struct {
	h    *host
	base Base
}

func (b *bridged) RequestMask(ctx context.Context, imagePath, _ string) (_ []byte, err error) {
	if b.base, err = b.h.CaptureBase(ctx, imagePath); err != nil {
		return nil, err
	}
	return picture("mask"), nil
}

func (b *bridged) ApplyMask(ctx context.Context, req Request) (Result, error) {
	return b.h.ApplyJSON(ctx, caller(), b.base, wire(req.ImagePath, req.MaskPath, req.PNG)), nil
}

// TestToolWithOperation: both halves together.
func TestToolWithOperation(t *testing.T) {
	for b, mask := range map[Backend]string{Claude: raftClaude, Pi: raftPi} {
		h := newHost(t, dirchain.Options{SkipSync: true})
		h.Backend = b
		tool := &Tool{Backend: b, Root: h.Root, Configured: h.dir}
		if _, err := tool.Request(t.Context(), &bridged{h: h}, "assets/none.png", ""); CodeOf(err) != MissingImage {
			t.Errorf("bk/HM17 %v: %v", b, err)
		}
		rep, err := tool.Request(t.Context(), &bridged{h: h}, raft, "")
		if err != nil || rep.MaskPath != mask || read(t, h.dir+"/"+mask) != string(picture("mask")) || len(h.results) != 1 {
			t.Errorf("%v: %+v, %v, recorded %+v", b, rep, err, h.results)
		}
		h.revoked = errors.New("no")
		if _, err = tool.Request(t.Context(), &bridged{h: h}, raft, ""); CodeOf(err) != AuthorityRevoked {
			t.Errorf("%v: %v", b, err)
		}
	}
}
