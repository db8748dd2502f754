package main

import (
	"strings"
	"testing"

	"brainbox/bridge/wire"
)

func TestRooted(t *testing.T) {
	both := []wire.Root{{Name: "repo", Path: "/w/repo"}, {Name: "docs", Path: "/w/repo/docs"}, {Name: "other", Path: "/o"}}
	for _, test := range []struct {
		name, root, cwd, arg string
		roots                []wire.Root
		want                 string // root:rel; empty: refused
		says                 string
	}{
		{"in the root", "", "/w/repo", "a", both, "repo:a", ""},
		{"in a folder of it", "", "/w/repo/x/y", "a", both, "repo:x/y/a", ""},
		{"up from a folder", "", "/w/repo/x/y", "../a", both, "repo:x/a", ""},
		{"up to the root", "", "/w/repo/x", "./../a/./b/", both, "repo:a/b", ""},
		{"the innermost root", "", "/w/repo/docs", "a", both, "docs:a", ""},
		{"up out of the inner root", "", "/w/repo/docs", "../a", both, "repo:a", ""},
		{"absolute", "", "/", "/w/repo/docs/a", both, "docs:a", ""},
		{"absolute, named", "repo", "/", "/w/repo/docs/a", both, "repo:docs/a", ""},
		{"another root by name", "other", "/w/repo/x", "a", both, "other:a", ""},
		{"its own root by name", "repo", "/w/repo/docs", "a", both, "repo:docs/a", ""},
		{"outside of all roots", "", "/tmp", "a/b", both, "repo:a/b", ""},
		{"a root is no prefix of a name", "", "/w/repository", "a", both, "repo:a", ""},
		{"the bridge names none", "", "/tmp", "a", nil, ":a", ""},
		{"the bridge names none, the user one", "x", "/tmp", "a", nil, "x:a", ""},
		{"the whole file system", "", "/tmp", "a", []wire.Root{{Name: "all", Path: "/"}}, "all:tmp/a", ""},

		{"out of the root", "", "/w/repo", "../a", both, "", "leads out"},
		{"out of the root, from outside", "", "/tmp", "../a", both, "", "leads out"},
		{"absolute, outside", "", "/w/repo", "/etc/passwd", both, "", "in no root"},
		{"absolute, of another root", "other", "/w/repo", "/w/repo/a", both, "", "in no root"},
		{"absolute, none known", "", "/w/repo", "/w/repo/a", nil, "", "in no root"},
		{"a root itself", "", "/w/repo", ".", both, "", "a root itself"},
		{"a root itself, absolute", "", "/", "/w/repo/", both, "", "a root itself"},
		{"no such root", "nope", "/w/repo", "a", both, "", "no root"},
		{"behind a name", "", "/w/repo", "a/../b", both, "", `".." behind`},
		{"absolute, behind a name", "", "/w/repo", "/w/../etc", both, "", `".." behind`},
		{"empty", "", "/w/repo", "", both, "", "no path"},
		{"a zero byte", "", "/w/repo", "a\x00b", both, "", "no path"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := rooter{roots: test.roots, name: test.root, cwds: []string{test.cwd}}
			at, err := r.find(test.arg)
			if test.want == "" {
				if err == nil || !strings.Contains(err.Error(), test.says) {
					t.Errorf("%+v, %v", at, err)
				}
				return
			}
			if err != nil || at.root+":"+at.rel != test.want {
				t.Errorf("%+v, %v, want %s", at, err, test.want)
			}
		})
	}
}

// Whatever is typed, what is asked for is below a root that was named.
func FuzzRooted(f *testing.F) {
	f.Add("/w/repo/x", "../a", "")
	f.Add("/", "/w/repo/../b", "repo")
	f.Fuzz(func(t *testing.T, cwd, arg, name string) {
		r := rooter{roots: []wire.Root{{Name: "repo", Path: "/w/repo"}, {Name: "o", Path: "/o"}}, name: name, cwds: []string{cwd}}
		at, err := r.find(arg)
		if err != nil {
			return
		}
		if at.root != "repo" && at.root != "o" || name != "" && at.root != name {
			t.Errorf("root %q", at.root)
		}
		for part := range strings.SplitSeq(at.rel, "/") {
			if part == "" || part == "." || part == ".." {
				t.Errorf("%q in %q becomes %q", arg, cwd, at.rel)
			}
		}
	})
}
