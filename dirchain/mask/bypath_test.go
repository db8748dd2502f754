package mask

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"brainbox/dirchain"
)

// The tests of this file put another platform in place of this one. They show what
// the code does there, not what that platform's file systems do.

// newElsewhere is a fallback on a platform without held directories.
func newElsewhere(t *testing.T) *field {
	t.Helper()
	f := newField(t, dirchain.Options{SkipSync: true})
	f.platform = "plan9"
	return f
}

// TestElsewhereScratch: bk/FB19, there is no scratch mask by path, however it is
// asked for, and nothing is made on the way.
func TestElsewhereScratch(t *testing.T) {
	for target, setup := range map[string]func(f *field) error{
		ScratchDir + "/x-mask.png":     nil,
		ScratchDir + "/n/m/x-mask.png": func(f *field) error { return os.RemoveAll(f.dir + "/.brain") },
		"s/x-mask.png":                 func(f *field) error { return os.Symlink(ScratchDir, f.dir+"/s") },
		"s/n/x-mask.png":               func(f *field) error { return os.Symlink("./.brain/../.brain/scratch/a", f.dir+"/s") },
	} {
		f := newElsewhere(t)
		if setup != nil {
			try(t, setup(f))
		}
		before := tree(t, f.dir)
		res := f.Write(t.Context(), target, picture("mask"))
		if res.OK || res.Code != ApplicationFailed || len(res.Changes) != 0 {
			t.Errorf("bk/FB19 %s: %+v", target, res)
		}
		if after := tree(t, f.dir); after != before || f.area.prepared+f.area.pruned+f.calls != 0 {
			t.Errorf("bk/FB19 %s: %+v, %d calls, before:\n%safter:\n%s", target, f.area, f.calls, before, after)
		}
		if res = f.Write(t.Context(), raftClaude, picture("mask")); !res.OK {
			t.Errorf("the control: %+v", res)
		}
	}
}

// TestElsewhereRefuses: by its path too a mask stays inside and replaces files only.
func TestElsewhereRefuses(t *testing.T) {
	for _, tt := range misuses() {
		t.Run(tt.name, func(t *testing.T) {
			f := newElsewhere(t)
			if tt.setup != nil {
				try(t, tt.setup(f))
			}
			png := picture("mask")
			if tt.png != nil {
				png = tt.png
			}
			before := tree(t, f.dir) + tree(t, f.outside)
			want := tt.want
			if inScratch(tt.target) && want == AliasDenied || strings.Contains(tt.name, "FB14") {
				want = ApplicationFailed // before it is known where it leads
			}
			if res := f.Write(t.Context(), tt.target, png); res.OK || res.Code != want || len(res.Changes) != 0 {
				t.Errorf("result: %+v, want %s", res, want)
			}
			if after := tree(t, f.dir) + tree(t, f.outside); after != before {
				t.Errorf("before:\n%safter:\n%s", before, after)
			}
		})
	}
	f := newElsewhere(t)
	try(t, os.Symlink("none", f.dir+"/dangling"))
	if res := f.Write(t.Context(), "dangling/x-mask.png", picture("mask")); res.OK || res.Code != AliasDenied {
		t.Errorf("a directory is a link to nothing: %+v", res)
	}
	held, err := os.Open(f.dir)
	try(t, err)
	defer held.Close()
	nameless, err := dirchain.NewRoot(held, dirchain.Options{})
	try(t, err)
	defer nameless.Close()
	other := &Fallback{Root: nameless, platform: f.platform}
	if res := other.Write(t.Context(), raftClaude, picture("mask")); res.OK || res.Code != ApplicationFailed {
		t.Errorf("a root without a path: %+v", res)
	}
	try(t, os.RemoveAll(f.dir))
	if res := f.Write(t.Context(), raftClaude, picture("mask")); res.OK || res.Code != ApplicationFailed {
		t.Errorf("the root is gone: %+v", res)
	}
}

// TestElsewhereWrites: bk/FB20, an ordinary mask is written, and nothing is promised.
func TestElsewhereWrites(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o022))
	for _, tt := range []struct {
		name, target, at string
		setup            func(f *field) error
		mode             os.FileMode
	}{
		{"a new one", raftClaude, raftClaude, nil, 0o644},
		{"a file directly in the root", "x-mask.png", "x-mask.png", nil, 0o644},
		{"new directories", "n/m/x-mask.png", "n/m/x-mask.png", nil, 0o644},
		{"a directory is a link inside", "in/new/x-mask.png", "assets/new/x-mask.png", func(f *field) error {
			return os.Symlink("assets", f.dir+"/in")
		}, 0o644},
		{"a mode is kept", raftClaude, raftClaude, func(f *field) error {
			return errors.Join(os.WriteFile(f.dir+"/"+raftClaude, nil, 0o600), os.Chmod(f.dir+"/"+raftClaude, 0o660))
		}, 0o660},
		{"bk/FB9 an entry is replaced", raftClaude, raftClaude, func(f *field) error {
			return os.Link(f.dir+"/context/policies/crew.md", f.dir+"/"+raftClaude)
		}, 0o600},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newElsewhere(t)
			policies := tree(t, f.dir+"/context")
			if tt.setup != nil {
				try(t, tt.setup(f))
			}
			res := f.Write(t.Context(), tt.target, picture("mask"))
			if !res.OK || res.Outcome != byPathNote || len(res.Changes) != 1 || res.Changes[0].Path != tt.at ||
				*res.Changes[0].SHA256 != dirchain.Sum(picture("mask")) {
				t.Errorf("bk/FB20: %+v", res)
			}
			st, err := os.Lstat(f.dir + "/" + tt.at)
			if err != nil || st.Mode() != tt.mode || read(t, f.dir+"/"+tt.at) != string(picture("mask")) {
				t.Errorf("bk/FB20: %v, %v, want %v", st.Mode(), err, tt.mode)
			}
			if got := tree(t, f.dir+"/context"); got != policies || f.area.prepared+f.area.pruned != 0 {
				t.Errorf("policies:\n%swant:\n%s", got, policies)
			}
		})
	}
}
