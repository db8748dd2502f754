package dirchain

import (
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

var (
	replaces = op{Path: target, Mode: Replace, Content: "new"}
	creates  = op{Path: "g/p/n", Content: "new"}
	nested   = op{Path: "g/p/x/y/n", Content: "new", Parents: true}
)

func (g ground) swapParent() injection { return injection{Do: "swap", A: g.in("g/p"), B: g.to("g/p")} }

// The fallback containment of contract brainkit §4.2.
func TestFallbackVectors(t *testing.T) {
	linked := []string{"ErrLink", "ErrNotDirectory"}
	runVectors(t, []vector{
		{
			name: "bk/FB1 esc/DC-02 the parent before the new file is made", op: replaces, want: []string{"ErrChanged"},
			inject: func(g ground, c []string) []injection { return g.swapParent().at(temp(c)) },
			after:  has("g/p.away/f=old", "g/p=L---------"),
		},
		{
			name: "bk/FB1 the parent of a file that is not there", op: creates, want: []string{"ErrChanged"},
			inject: func(g ground, c []string) []injection { return g.swapParent().at(temp(c)) },
			after:  has("g/p.away/f=old", "!g/p.away/n"),
		},
		{
			name: "bk/FB2 the parent before the new file is filled", op: replaces, want: []string{"ErrChanged"},
			inject: func(g ground, c []string) []injection { return g.swapParent().at(first(c, "fill")) },
			after:  has("g/p.away/f=old"),
		},
		{
			name: "bk/FB3 the parent right before publication", op: replaces, want: []string{"ErrChanged"},
			inject: func(g ground, c []string) []injection { return g.swapParent().at(first(c, "publish")) },
			after:  has("g/p.away/f=old"),
		},
		{
			name: "bk/FB3 the parent of a new file right before publication", op: creates, want: []string{"ErrChanged"},
			inject: func(g ground, c []string) []injection { return g.swapParent().at(first(c, "publish")) },
			after:  has("!g/p.away/n"),
		},
		{
			name: "bk/FB4 esc/DC-10 a directory on the way, before one is made in it", op: nested, want: []string{"ErrChanged"},
			inject: func(g ground, c []string) []injection { return g.swapParent().at(first(c, "mkdirat")) },
			after:  has("!g/p.away/x"),
		},
		{
			name: "bk/FB4 esc/DC-10 the directory that was just made", op: nested, want: linked,
			inject: func(g ground, c []string) []injection {
				return injection{Do: "swap", A: g.in("g/p/x"), B: g.to("g/p")}.at(first(c, "mkdirat") + 1)
			},
			after: has("g/p/x=L---------", "!g/p/x.away/y"),
		},
		{
			name: "bk/FB5 a component is a link", op: op{Path: "g/q/f", Mode: CreateOrReplace, Content: "new"}, want: linked,
			benign:  func(t *testing.T, g ground) { mkdir(t, g.in("g/q")) },
			hostile: func(t *testing.T, g ground) { remove(t, g.in("g/q")); symlink(t, g.to("g/p"), g.in("g/q")) },
		},
		{
			name: "bk/FB6 the name is a link inside the root", op: op{Path: "g/p/l", Mode: CreateOrReplace, Content: "new"},
			hostile: func(t *testing.T, g ground) { symlink(t, "f", g.in("g/p/l")) }, want: linked,
		},
		{
			name: "bk/FB7 the name is a link to outside", op: op{Path: "g/p/l", Mode: CreateOrReplace, Content: "new"},
			hostile: func(t *testing.T, g ground) { symlink(t, g.to("f"), g.in("g/p/l")) }, want: linked,
		},
		{
			name: "bk/FB8 esc/DC-06 the name is a directory", op: op{Path: "g/p/d", Mode: CreateOrReplace, Content: "new"},
			hostile: func(t *testing.T, g ground) { mkdir(t, g.in("g/p/d")) }, want: []string{"ErrNotRegular"},
		},
		{
			name: "bk/FB9 the file has another name inside", op: replaces, want: []string{"ErrLinked"},
			hostile: func(t *testing.T, g ground) { hardlink(t, g.in(target), g.in("policy")) },
		},
		{
			name: "bk/FB9 and its entry may be replaced", op: op{Path: target, Mode: Replace, Content: "new", Linked: true},
			hostile: func(t *testing.T, g ground) { hardlink(t, g.in(target), g.in("policy")) },
			after: func(t *testing.T, g ground, before, after string) {
				has("policy=old", target+"=new")(t, g, before, after)
				var st unix.Stat_t
				if err := unix.Lstat(g.in("policy"), &st); err != nil || st.Nlink != 1 {
					t.Errorf("%d names, %v", st.Nlink, err)
				}
			},
		},
		{
			name: "bk/FB12 the renaming fails with EXDEV", op: replaces, want: []string{"EXDEV"},
			inject: func(_ ground, c []string) []injection {
				return injection{Do: "errno", Errno: int(unix.EXDEV)}.at(first(c, "renameat2"))
			},
			after: has(target + "=old"),
		},
		{
			name: "bk/FB12 the renaming fails with EPERM", op: creates, want: []string{"EPERM"},
			inject: func(_ ground, c []string) []injection {
				return injection{Do: "errno", Errno: int(unix.EPERM)}.at(first(c, "renameat2"))
			},
			after: has(target+"=old", "!g/p/n"),
		},
		{
			name: "bk/FB13 the cleanup while the path leads to a file of the same name", op: replaces, want: []string{"EIO"},
			benign: func(t *testing.T, g ground) { mkdir(t, g.in("decoy")) },
			inject: func(g ground, c []string) []injection {
				n := first(c, "fill")
				return []injection{
					{N: n, Do: "temp-name", B: g.in("decoy")},
					{N: n, Do: "swap", A: g.in("g/p"), B: g.in("decoy")},
					{N: n, Do: "errno", Errno: int(unix.EIO)},
				}
			},
			after: func(t *testing.T, g ground, _, after string) {
				t.Helper()
				all := inside(t, g.root)
				if left := temps(all); len(left) != 1 || filepath.Dir(left[0]) != "decoy" || all[left[0]] != "attacker" {
					t.Errorf("left:\n%s", after)
				}
			},
		},
		{
			name: "bk/FB14 the scratch area's directory", want: []string{"ErrChanged"},
			op:     op{Path: ".brain/scratch/.gitignore", Content: "*\n", Parents: true},
			benign: func(t *testing.T, g ground) { mkdir(t, g.in(".brain")); mkdir(t, g.to(".brain")) },
			inject: func(g ground, c []string) []injection {
				return injection{Do: "swap", A: g.in(".brain"), B: g.to(".brain")}.at(first(c, "mkdirat"))
			},
			after: has("!.brain.away/scratch"),
		},
		{
			name:  "bk/FB16 a nested scratch target",
			op:    op{Path: ".brain/scratch/a/b/x-mask.png", Content: "mask", Parents: true},
			after: has(".brain/scratch/a/b/x-mask.png=mask"),
		},
		{
			name: "bk/FB18 the directory is removed while it is held", op: op{Path: "g/e/n", Content: "new"},
			inject: func(g ground, c []string) []injection {
				return injection{Do: "remove", A: g.in("g/e")}.at(temp(c))
			},
			want: []string{"ErrNotExist"}, after: has("!g/e"),
		},
		{
			name: "bk/FB23 something is mounted on a held component", op: replaces, want: []string{"ErrChanged"},
			inject: func(g ground, c []string) []injection {
				return injection{Do: "bind", A: g.to("g/p"), B: g.in("g/p")}.at(first(c, "fill"))
			},
			after: has(target + "=old"),
		},
		{
			name: "bk/FB23 the same directory, mounted on itself", op: replaces, want: []string{"ErrChanged"},
			inject: func(g ground, c []string) []injection {
				return injection{Do: "bind", A: g.in("g/p"), B: g.in("g/p")}.at(first(c, "publish"))
			},
			after: has(target + "=old"),
		},
	})
}

func TestWriteFails(t *testing.T) {
	var all []vector
	for _, errno := range []unix.Errno{unix.ENOSPC, unix.EDQUOT, unix.EIO} {
		all = append(all, vector{
			name: "bk/FB10 " + unix.ErrnoName(errno), op: replaces, want: []string{unix.ErrnoName(errno)},
			inject: func(_ ground, c []string) []injection {
				return injection{Do: "errno", Errno: int(errno)}.at(first(c, "write"))
			},
			after: has(target + "=old"),
		})
	}
	for _, point := range []string{"fill", "publish", "published"} {
		all = append(all, vector{
			name: "bk/FB11 a held descriptor cannot be looked at after " + point, op: replaces, want: []string{"EIO"},
			inject: func(_ ground, c []string) []injection {
				n := first(c, point)
				return injection{Do: "errno", Errno: int(unix.EIO)}.at(n + 1 + slices.Index(c[n:], "statx"))
			},
			after: has(target + "=old"),
		})
	}
	runVectors(t, all)
}

// No path that is none makes a call, and no directory is written to.
func TestPathsOfNoFile(t *testing.T) {
	t.Run("bk/FB15", func(t *testing.T) {
		both(t, func(t *testing.T, opts Options) {
			g := newGround(t)
			mkdir(t, g.in(".brain/scratch"))
			before := listing(t, g.root)
			for _, path := range []string{".", "", "..", "a/..", "/", "g/", "./f", g.root, ".brain/scratch", "g"} {
				p := op{Path: path, Mode: CreateOrReplace, Content: "x", Parents: true}
				got := inChild(t, attack{Root: g.root, Opts: opts, Op: p})
				directory := got.is("ErrNotRegular") && !slices.Contains(got.Calls, "fill")
				if path == "g" || path == ".brain/scratch" {
					if !directory {
						t.Errorf("%q: %+v", path, got)
					}
				} else if !got.is("ErrPath") || len(got.Calls) > 0 {
					t.Errorf("%q: %+v", path, got)
				}
			}
			if after := listing(t, g.root); before != after {
				t.Errorf("%s\nbecame\n%s", before, after)
			}
			p := op{Path: ".brain/scratch/f", Mode: CreateOrReplace, Content: "x"}
			if got := inChild(t, attack{Root: g.root, Opts: opts, Op: p}); got.Err != "" {
				t.Errorf("control: %+v", got)
			}
		})
	})
}
