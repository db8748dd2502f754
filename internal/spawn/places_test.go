package spawn

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestMountsThatAreRefused(t *testing.T) {
	dir := func(p string) Mount { return Mount{Kind: KindDir, Path: p} }
	file := func(p string) Mount { return Mount{Kind: KindFile, Path: p} }
	bind := func(p string) Mount { return Mount{Kind: KindBind, Path: p, Source: "/s", Held: 9} }
	tmpfs := func(p string) Mount { return Mount{Kind: KindFS, Path: p, FSType: "tmpfs"} }
	proc := func(p string) Mount { return Mount{Kind: KindFS, Path: p, FSType: "proc"} }
	link := func(p string) Mount { return Mount{Kind: KindSymlink, Path: p, Source: "/etc"} }
	mask := func(p string) Mount { return Mount{Kind: KindMask, Path: p, Held: 9} }
	self := func(p string) Mount { return Mount{Kind: KindSelf, Path: p, Held: 9} }
	over := func(p string) Mount { m := bind(p); m.Over = 10; return m }
	grant := func(p string) Mount { return Mount{Kind: KindGrant, Path: p} }
	for _, c := range []struct {
		name   string
		refuse bool
		list   []Mount
	}{
		{"a folder below a bound tree, which would appear in the host's", true, []Mount{dir("/w"), bind("/w"), dir("/w/x")}},
		{"a file below a bound tree", true, []Mount{dir("/w"), bind("/w"), file("/w/x")}},
		{"a link below a bound tree", true, []Mount{dir("/w"), bind("/w"), link("/w/x")}},
		{"a folder below a link, which leads to the host's", true, []Mount{link("/e"), dir("/e/x")}},
		{"a folder below a file", true, []Mount{file("/e"), dir("/e/x")}},
		{"a folder below what is not made", true, []Mount{dir("/a/b")}},
		{"a folder in proc", true, []Mount{dir("/proc"), proc("/proc"), dir("/proc/x")}},
		{"a path upwards", true, []Mount{dir("/../x")}},
		{"a path with two spellings", true, []Mount{dir("/a/")}},
		{"a relative path", true, []Mount{dir("a")}},
		{"the root", true, []Mount{bind("/")}},
		{"a NUL in a path", true, []Mount{dir("/a\x00b")}},
		{"a NUL in an option", true, []Mount{dir("/a"), {Kind: KindFS, Path: "/a", FSType: "tmpfs", Options: []string{"size=1\x00"}}}},
		{"an empty option", true, []Mount{dir("/a"), {Kind: KindFS, Path: "/a", FSType: "tmpfs", Options: []string{""}}}},
		{"the same twice", true, []Mount{dir("/a"), file("/a")}},
		{"a bind that hides what was made", true, []Mount{dir("/a"), dir("/a/b"), bind("/a")}},
		{"a file system that hides what was made", true, []Mount{dir("/a"), dir("/a/b"), tmpfs("/a")}},
		{"a bind to a link", true, []Mount{link("/a"), bind("/a")}},
		{"a bind to nothing", true, []Mount{bind("/a")}},
		{"a bind to a name in a bound tree, not held", true, []Mount{dir("/w"), bind("/w"), bind("/w/x")}},
		{"a bind of nothing held", true, []Mount{dir("/w"), {Kind: KindBind, Path: "/w", Source: "/s"}}},
		{"a bind of a source with two spellings", true, []Mount{dir("/w"), {Kind: KindBind, Path: "/w", Source: "/s/../t", Held: 9}}},
		{"a mask of an own place", true, []Mount{dir("/a"), mask("/a")}},
		{"a mask of a link", true, []Mount{link("/a"), mask("/a")}},
		{"a mask of nothing held", true, []Mount{dir("/w"), bind("/w"), {Kind: KindMask, Path: "/w/x"}}},
		{"a mask of nothing held beside proc", true, []Mount{dir("/proc"), proc("/proc"), dir("/w"), bind("/w"), {Kind: KindMask, Path: "/w/keys"}}},
		{"a mask of nothing held in a part of proc", true, []Mount{dir("/proc"), proc("/proc"), {Kind: KindMask, Path: "/proc/1/environ"}}},
		{"a self-bind of nothing held in proc", true, []Mount{dir("/proc"), proc("/proc"), {Kind: KindSelf, Path: "/proc/keys"}}},
		{"a self-bind of an own place", true, []Mount{dir("/a"), self("/a")}},
		{"a seal of a bind", true, []Mount{dir("/w"), bind("/w"), {Kind: KindSeal, Path: "/w"}}},
		{"a seal of a file system that is bound over", true, []Mount{dir("/w"), tmpfs("/w"), bind("/w"), {Kind: KindSeal, Path: "/w"}}},
		{"a grant of a bound tree", true, []Mount{dir("/w"), bind("/w"), grant("/w")}},
		{"a grant of a link", true, []Mount{link("/w"), grant("/w")}},
		{"no kind", true, []Mount{{Path: "/a"}}},

		{"folders, files and links", false, []Mount{dir("/a"), dir("/a/b"), file("/a/b/c"), link("/a/d")}},
		{"a tmpfs and what is made in it", false, []Mount{dir("/a"), tmpfs("/a"), dir("/a/b"), {Kind: KindSeal, Path: "/a"}}},
		{"binds to a folder and to a file", false, []Mount{dir("/w"), bind("/w"), file("/f"), bind("/f")}},
		{"a bind in a bound tree", false, []Mount{dir("/w"), bind("/w"), over("/w/x"), mask("/w/x/y"), self("/w/z")}},
		{"a mask in proc", false, []Mount{dir("/proc"), proc("/proc"), {Kind: KindMask, Path: "/proc/keys"}}},
		{"grants", false, []Mount{dir("/a"), grant("/a"), grant("/"), dir("/proc"), proc("/proc"), grant("/proc")}},
	} {
		if err := checkMounts(c.list); (err != nil) != c.refuse {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestNamespacesThatAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		ns     Namespaces
		held   bool
		refuse bool
	}{
		"loopback of the caller's network":   {ns: Namespaces{Loopback: true}, refuse: true},
		"a long host name":                   {ns: Namespaces{Hostname: strings.Repeat("h", 65)}, refuse: true},
		"a relative working directory":       {ns: Namespaces{Dir: "w"}, refuse: true},
		"a working directory without a name": {held: true, refuse: true},
		"too many mounts":                    {ns: Namespaces{Mounts: make([]Mount, maxMounts+1)}, refuse: true},
		"nothing":                            {},
		"all of it":                          {ns: Namespaces{Net: true, Loopback: true, Hostname: strings.Repeat("h", 64), Dir: "/w"}, held: true},
	} {
		if err := c.ns.check(c.held); (err != nil) != c.refuse {
			t.Errorf("%s: %v", name, err)
		}
	}
	r := Request{Path: "/bin/true", Argv: []string{"true"}, Unconfined: true, Namespaces: &Namespaces{Loopback: true}}
	if r.check() == nil {
		t.Error("a request with refused namespaces is accepted")
	}
	r.Namespaces = &Namespaces{}
	if err := Become(&r); !isStep(err, StepPrepare, unix.EINVAL) { // which would leave them out
		t.Errorf("Become with namespaces: %v", err)
	}
}
