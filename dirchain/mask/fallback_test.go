package mask

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"brainbox/dirchain"
)

// field is a fallback over a small repository, and a directory outside of it.
type field struct {
	*Fallback
	dir, outside string
	area         *area
	calls        int
	trace        func(call string)
	fail         func(call string) error
}

func newField(t testing.TB, opts dirchain.Options) *field {
	t.Helper()
	f := &field{dir: repository(t), outside: t.TempDir(), area: &area{}}
	write(t, f.outside+"/secret", "secret")
	opts.Protect = []string{PolicyDir}
	opts.Trace = func(call string) error {
		if f.calls++; f.trace != nil {
			f.trace(call)
		}
		if f.fail != nil {
			return f.fail(call)
		}
		return nil
	}
	root, err := dirchain.OpenRoot(f.dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	f.Fallback, f.calls = &Fallback{Root: root, Scratch: f.area}, 0
	return f
}

// misuse is a target, or a repository, that is refused.
type misuse struct {
	name   string
	target string
	setup  func(f *field) error
	want   Code
	png    []byte
}

func misuses() []misuse {
	link := func(to, name string) func(f *field) error {
		return func(f *field) error { return os.Symlink(strings.ReplaceAll(to, "OUT", f.outside), f.dir+"/"+name) }
	}
	list := []misuse{
		{name: "bk/FB5 a directory is a link to outside", target: "a/b/x-mask.png", want: InvalidTarget, setup: link("OUT", "a")},
		{name: "bk/FB6 a link to a file inside", target: raftClaude, want: AliasDenied, setup: link("raft.png", raftClaude)},
		{name: "bk/FB6 a link to the policy", target: raftClaude, want: AliasDenied, setup: link("../context/policies/crew.md", raftClaude)},
		{name: "bk/FB6 a dangling link inside", target: raftClaude, want: AliasDenied, setup: link("none.png", raftClaude)},
		{name: "bk/FB7 a link to outside", target: raftClaude, want: InvalidTarget, setup: link("OUT/secret", raftClaude)},
		{name: "bk/FB8 a directory", target: raftClaude, want: AliasDenied, setup: func(f *field) error {
			return os.Mkdir(f.dir+"/"+raftClaude, 0o755)
		}},
		{name: "a FIFO", target: raftClaude, want: AliasDenied, setup: func(f *field) error {
			return syscall.Mkfifo(f.dir+"/"+raftClaude, 0o600)
		}},
		{name: "a directory is a file", target: raft + "/x-mask.png", want: AliasDenied},
		{name: "the policy", target: "context/policies/crew-mask.png", want: PolicyDenied},
		{name: "the policy in another spelling", target: "Context/ｐolicies/crew-mask.png", want: PolicyDenied},
		{name: "the policy by a link", target: "p/crew-mask.png", want: PolicyDenied, setup: link("context/policies", "p")},
		{name: "a repository of git", target: ".git/refs/heads/x-mask.png", want: InvalidTarget},
		{name: "a repository of git in another spelling", target: "assets/．GIT/x-mask.png", want: InvalidTarget},
		{name: "a repository of git by a link", target: "g/x-mask.png", want: InvalidTarget, setup: func(f *field) error {
			return errors.Join(os.Mkdir(f.dir+"/.git", 0o755), link(".git", "g")(f))
		}},
		{name: "no PNG", target: raftClaude, want: InvalidPNG, png: []byte("GIF89a")},
		{name: "bk/FB14 the scratch area is outside", target: ScratchDir + "/x-mask.png", want: InvalidTarget, setup: func(f *field) error {
			return errors.Join(os.RemoveAll(f.dir+"/.brain"), os.Symlink(f.outside, f.dir+"/.brain"))
		}},
		{name: "the scratch area is elsewhere", target: ScratchDir + "/x-mask.png", want: AliasDenied, setup: func(f *field) error {
			return errors.Join(os.RemoveAll(f.dir+"/"+ScratchDir), os.Symlink("../assets", f.dir+"/"+ScratchDir))
		}},
		{name: "a directory of the scratch area is elsewhere", target: ScratchDir + "/out/x-mask.png", want: AliasDenied, setup: link("../../assets", ScratchDir+"/out")},
		{name: "the scratch area by a link", target: "s", want: AliasDenied, setup: link(ScratchDir, "s")},
	}
	for _, target := range []string{
		"", ".", "..", "a/..", "assets/../raft-mask.png", "../r-mask.png", ScratchDir, ScratchDir + "/", "/x-mask.png", "assets/", "a//b", "./x", "a\x00b", ScratchDir + "/..",
	} {
		list = append(list, misuse{name: "bk/FB15 " + target, target: target, want: InvalidTarget})
	}
	return list
}

// TestFallbackRefuses: nothing is made, inside or outside; the same fallback then
// writes what is allowed.
func TestFallbackRefuses(t *testing.T) {
	for _, tt := range misuses() {
		t.Run(tt.name, func(t *testing.T) {
			each(t, func(t *testing.T, opts dirchain.Options) {
				f := newField(t, opts)
				if tt.setup != nil {
					try(t, tt.setup(f))
				}
				png := picture("mask")
				if tt.png != nil {
					png = tt.png
				}
				f.trace = func(call string) {
					if call == "mkdirat" || call == "write" || call == "renameat2" {
						t.Errorf("%s is called", call)
					}
				}
				before := tree(t, f.dir) + tree(t, f.outside)
				res := f.Write(t.Context(), tt.target, png)
				if res.OK || res.Code != tt.want || len(res.Changes) != 0 {
					t.Errorf("result: %+v, want %s", res, tt.want)
				}
				if after := tree(t, f.dir) + tree(t, f.outside); after != before {
					t.Errorf("before:\n%safter:\n%s", before, after)
				}
				f.trace = nil
				if res = f.Write(t.Context(), "ok/x-mask.png", picture("mask")); !res.OK || len(res.Changes) != 1 {
					t.Errorf("the control: %+v", res)
				}
			})
		})
	}
}

// TestFallbackNeeds: what a mask needs beside its place.
func TestFallbackNeeds(t *testing.T) {
	const target = ScratchDir + "/x-mask.png"
	f := newField(t, dirchain.Options{SkipSync: true})
	before := tree(t, f.dir)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	f.area.prepare = func() error { return errors.New("not ignored: brain doctor --fix") }
	for what, got := range map[string]Result{
		"an area that cannot be prepared": f.Write(t.Context(), target, picture("mask")),
		"a context that is done":          f.Write(cancelled, raftClaude, picture("mask")),
		"no area":                         (&Fallback{Root: f.Root}).Write(t.Context(), target, picture("mask")),
		"no root":                         (&Fallback{}).Write(t.Context(), raftClaude, picture("mask")),
		"too many bytes":                  f.Write(t.Context(), raftClaude, append(picture(""), make([]byte, MaxBytes)...)),
	} {
		want := map[string]Code{"a context that is done": Cancelled, "too many bytes": PayloadTooLarge}[what]
		if want == "" {
			want = ApplicationFailed
		}
		if got.OK || got.Code != want {
			t.Errorf("%s: %+v, want %s", what, got, want)
		}
	}
	if after := tree(t, f.dir); after != before || f.area.pruned != 0 {
		t.Errorf("pruned %d times, before:\n%safter:\n%s", f.area.pruned, before, after)
	}
	f.area.prepare = nil
	if res := f.Write(t.Context(), target, picture("mask")); !res.OK || f.area.pruned != 1 {
		t.Errorf("the control: %+v", res)
	}
}

func TestFallbackWrites(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o022))
	tests := []struct {
		name, target string
		setup        func(f *field) error
		at           string
		mode         os.FileMode
		scratch      bool
	}{
		{"a new mask", raftClaude, nil, raftClaude, 0o644, false},
		{"a file directly in the root", "x-mask.png", nil, "x-mask.png", 0o644, false},
		{"bk/MN6 a directory is a link inside", "in/raft-mask.png", func(f *field) error {
			return os.Symlink("assets", f.dir+"/in")
		}, raftClaude, 0o644, false},
		{"bk/FB16 nested scratch", ScratchDir + "/a/b/c/x-mask.png", nil, ScratchDir + "/a/b/c/x-mask.png", 0o644, true},
		{"what leads into the scratch area is scratch", "s/x-mask.png", func(f *field) error {
			return os.Symlink(ScratchDir, f.dir+"/s")
		}, ScratchDir + "/x-mask.png", 0o644, true},
		{"bk/FB17 a private mask stays so", raftClaude, func(f *field) error {
			return os.WriteFile(f.dir+"/"+raftClaude, []byte("old"), 0o600)
		}, raftClaude, 0o600, false},
		{"a mask that is open stays so", raftClaude, func(f *field) error {
			return errors.Join(os.WriteFile(f.dir+"/"+raftClaude, nil, 0o600), os.Chmod(f.dir+"/"+raftClaude, 0o666))
		}, raftClaude, 0o666, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			each(t, func(t *testing.T, opts dirchain.Options) {
				f := newField(t, opts)
				if tt.setup != nil {
					try(t, tt.setup(f))
				}
				f.trace = func(string) { narrow(t, f.dir+"/assets", tt.mode) }
				res := f.Write(t.Context(), tt.target, picture("mask"))
				if !res.OK || res.Outcome != "" || len(res.Changes) != 1 || res.Changes[0].Path != tt.at {
					t.Errorf("result: %+v", res)
				}
				st, err := os.Lstat(f.dir + "/" + tt.at)
				if err != nil || st.Mode() != tt.mode || read(t, f.dir+"/"+tt.at) != string(picture("mask")) {
					t.Errorf("%v, %v, want %v", st.Mode(), err, tt.mode)
				}
				if (f.area.prepared == 1) != tt.scratch || (f.area.pruned == 1) != tt.scratch {
					t.Errorf("scratch: %+v", f.area)
				}
			})
		})
	}
}

// TestFallbackReplacesTheEntry: bk/FB9, a mask that is also a name of a policy file
// gets a file of its own.
func TestFallbackReplacesTheEntry(t *testing.T) {
	each(t, func(t *testing.T, opts dirchain.Options) {
		f := newField(t, opts)
		policy := f.dir + "/context/policies/crew.md"
		try(t, os.Link(policy, f.dir+"/"+raftClaude))
		before := tree(t, f.dir+"/context")
		if res := f.Write(t.Context(), raftClaude, picture("mask")); !res.OK {
			t.Errorf("bk/FB9: %+v", res)
		}
		if after := tree(t, f.dir+"/context"); after != before || read(t, f.dir+"/"+raftClaude) != string(picture("mask")) {
			t.Errorf("bk/FB9: before:\n%safter:\n%s", before, after)
		}
		if st, err := os.Stat(policy); err != nil || st.Sys().(*syscall.Stat_t).Nlink != 1 {
			t.Errorf("bk/FB9: %+v, %v", st, err)
		}
	})
}

// TestFallbackScratchExchanged: bk/FB14, the way to the scratch area is exchanged
// for a link to outside while the mask is written.
func TestFallbackScratchExchanged(t *testing.T) {
	const target = ScratchDir + "/n/m/x-mask.png"
	exchange := func(f *field) error {
		return errors.Join(os.Rename(f.dir+"/.brain", f.dir+"/moved"), os.Symlink(f.outside, f.dir+"/.brain"))
	}
	for _, moment := range []string{"prepare", "mkdirat", "fill", "publish", "renameat2"} {
		t.Run(moment, func(t *testing.T) {
			each(t, func(t *testing.T, opts dirchain.Options) {
				f := newField(t, opts)
				before, done := tree(t, f.dir+"/.brain"), false
				f.area.prepare = func() error {
					if moment == "prepare" {
						done = true
						return exchange(f)
					}
					return nil
				}
				f.trace = func(call string) {
					if call == moment && !done {
						done = true
						try(t, exchange(f))
					}
				}
				res := f.Write(t.Context(), target, picture("mask"))
				if want := map[bool]Code{true: AliasDenied, false: TopologyChanged}[moment == "prepare"]; res.OK || res.Code != want || !done {
					t.Errorf("bk/FB14: %+v, want %s", res, want)
				}
				if got := entries(t, f.outside); got != "secret" {
					t.Errorf("bk/FB14: outside: %s", got)
				}
				if after := tree(t, f.dir+"/moved"); after != before || f.area.pruned != 0 {
					t.Errorf("bk/FB14: before:\n%safter:\n%s", before, after)
				}
				f = newField(t, opts)
				if res = f.Write(t.Context(), target, picture("mask")); !res.OK {
					t.Errorf("the control: %+v", res)
				}
			})
		})
	}
}
