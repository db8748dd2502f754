package dirchain

import (
	"testing"

	"golang.org/x/sys/unix"
)

// The mediated writes of the escape matrix, section C.
func TestMediatedVectors(t *testing.T) {
	linked := []string{"ErrLink", "ErrNotDirectory"}
	leafByLink := func(g ground) injection { return injection{Do: "swap", A: g.in(target), B: g.to("g/p/f")} }
	runVectors(t, []vector{
		{
			name: "esc/DC-01 the name becomes a link before it is opened", op: replaces, want: linked,
			inject: func(g ground, c []string) []injection {
				return leafByLink(g).at(temp(c) - 2) // the old file is opened and looked at before
			},
			after: has("g/p/f.away=old", "g/p/f=L---------"),
		},
		{
			name: "esc/DC-01 the name becomes a link before publication", op: replaces, want: []string{"ErrChanged"},
			inject: func(g ground, c []string) []injection { return leafByLink(g).at(first(c, "publish")) },
			after:  has("g/p/f.away=old", "g/p/f=L---------"),
		},
		{
			name: "esc/DC-01 a file that is read becomes a link", op: op{Kind: "read", Path: target}, want: linked,
			inject: func(g ground, c []string) []injection { return leafByLink(g).at(len(c) - 5) },
		},
		{
			name: "esc/DC-02 a middle directory becomes a link", op: replaces, want: linked,
			inject: func(g ground, c []string) []injection {
				return injection{Do: "swap", A: g.in("g/p"), B: g.to("g/p")}.at(2)
			},
			after: has("g/p.away/f=old"),
		},
		{
			name: "esc/DC-03 the parent leaves the tree", op: replaces, want: []string{"ErrChanged"},
			inject: func(g ground, c []string) []injection {
				return injection{Do: "move", A: g.in("g/p"), B: g.base + "/elsewhere"}.at(first(c, "publish"))
			},
			after: func(t *testing.T, g ground, _, _ string) {
				t.Helper()
				if got := read(t, g.base+"/elsewhere/f") + names(t, g.base+"/elsewhere"); got != "oldf" {
					t.Errorf("elsewhere: %q", got)
				}
			},
		},
		{
			name: "esc/DC-05 the file has a name outside", op: replaces, want: []string{"ErrLinked"},
			hostile: func(t *testing.T, g ground) { remove(t, g.in(target)); hardlink(t, g.to("f"), g.in(target)) },
		},
		{
			name: "esc/DC-05 a file that is read has a name outside",
			op:   op{Kind: "read", Path: target}, want: []string{"ErrLinked"},
			hostile: func(t *testing.T, g ground) { remove(t, g.in(target)); hardlink(t, g.to("f"), g.in(target)) },
		},
		{
			name: "esc/DC-07 names that one could guess are links", op: replaces,
			hostile: func(t *testing.T, g ground) {
				for _, name := range []string{"f.tmp", ".f.tmp", "f~", ".#f", "f.new", ".brainbox-0000000000000000.tmp.x"} {
					symlink(t, g.to("f"), g.in("g/p/"+name))
				}
			},
			after: has(target + "=new"),
		},
		{
			name: "esc/DC-07 the random name is taken", op: replaces,
			inject: func(_ ground, c []string) []injection {
				return injection{Do: "errno", Errno: int(unix.EEXIST)}.at(temp(c))
			},
			after: has(target + "=new"),
		},
		{
			name: "esc/DC-09 a mount on the way", op: replaces, want: []string{"ErrMount"}, opens: true,
			inject: func(g ground, _ []string) []injection {
				return injection{Do: "bind", A: g.to("g/p"), B: g.in("g/p")}.at(1)
			},
			after: has(target + "=old"),
		},
		{
			name: "esc/DC-09 a mount on the file", op: op{Kind: "read", Path: target}, want: []string{"ErrMount"},
			inject: func(g ground, _ []string) []injection {
				return injection{Do: "bind", A: g.to("f"), B: g.in(target)}.at(1)
			},
		},
		{
			name: "esc/DC-12 the new file becomes a link before its mode is set", op: replaces, want: []string{"ErrChanged"},
			inject: func(g ground, c []string) []injection {
				return injection{Do: "temp-link", B: g.to("f")}.at(first(c, "fchmod"))
			},
			after: func(t *testing.T, g ground, _, after string) {
				t.Helper()
				has(target+"=old")(t, g, "", after)
			},
		},
		{
			name: "esc/DC-14 a link to a file that is not there",
			op:   op{Path: "l", Mode: CreateOrReplace, Content: "x"}, want: linked,
			hostile: func(t *testing.T, g ground) { symlink(t, g.to("newfile"), g.in("l")) },
		},
		{
			name: "esc/DC-14 and one that must not be there", op: op{Path: "l", Content: "x"}, want: []string{"ErrExist"},
			hostile: func(t *testing.T, g ground) { symlink(t, g.to("newfile"), g.in("l")) },
		},
		{
			name: "esc/DC-14 a directory on the way is one", op: op{Path: "l/x/y", Content: "x", Parents: true}, want: linked,
			hostile: func(t *testing.T, g ground) { symlink(t, g.to("newdir"), g.in("l")) },
		},
		{
			name: "esc/DC-15 a link to a secret is read", op: op{Kind: "read", Path: "r"}, want: linked,
			benign:  func(t *testing.T, g ground) { putText(t, g.in("r"), "fine") },
			hostile: func(t *testing.T, g ground) { remove(t, g.in("r")); symlink(t, g.to("f"), g.in("r")) },
		},
		{
			name: "esc/DC-16 a file is opened behind a link to a directory", op: op{Kind: "read", Path: "d/f"}, want: linked,
			benign:  func(t *testing.T, g ground) { mkdir(t, g.in("d")); putText(t, g.in("d/f"), "fine") },
			hostile: func(t *testing.T, g ground) { setAway(t, g.in("d")); symlink(t, g.to("g/p"), g.in("d")) },
		},
		{
			name: "esc/DC-16 a target is held there", op: op{Kind: "hold", Path: "d/f"}, want: linked,
			benign:  func(t *testing.T, g ground) { mkdir(t, g.in("d")); putText(t, g.in("d/f"), "fine") },
			hostile: func(t *testing.T, g ground) { setAway(t, g.in("d")); symlink(t, g.to("g/p"), g.in("d")) },
		},
		{
			name: "esc/DC-21 the content is not what was approved",
			op:   op{Path: target, Mode: Replace, Content: "new", Digest: "new"},
			inject: func(g ground, c []string) []injection {
				return injection{Do: "temp-overwrite", B: "bad"}.at(first(c, "publish") - 3)
			},
			want: []string{"ErrChanged"}, after: has(target + "=old"),
		},
		{
			name: "esc/DC-21 the file is not what was approved",
			op:   op{Path: target, Mode: Replace, Content: "new", Base: "old"},
			inject: func(g ground, c []string) []injection {
				return injection{Do: "overwrite", A: g.in(target), B: "one"}.at(first(c, "fill"))
			},
			want: []string{"ErrStale"}, after: has(target + "=one"),
		},
	})
}

func setAway(t *testing.T, path string) {
	t.Helper()
	if err := away(path); err != nil {
		t.Fatal(err)
	}
}
