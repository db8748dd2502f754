package dirchain

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// scenarios are the effects that are interfered with: with the new text always
// "new", and "oldnew" for an append.
var scenarios = map[string]op{
	"create":                    {Path: "g/p/n", Content: "new"},
	"create with parents":       {Path: "g/p/x/y/n", Content: "new", Parents: true},
	"replace":                   {Path: target, Mode: Replace, Content: "new"},
	"replace with a base":       {Path: target, Mode: Replace, Content: "new", Base: "old"},
	"append":                    {Path: target, Mode: Append, Content: "new"},
	"create or replace, there":  {Path: target, Mode: CreateOrReplace, Content: "new"},
	"create or replace, absent": {Path: "g/p/n", Mode: CreateOrReplace, Content: "new"},
	"edit":                      {Path: target, Kind: "edit", Old: "old", Content: "new"},
}

func (p op) existing() bool { return p.Path == target }
func (p op) guarded() bool  { return p.Base != "" || p.Mode == Append || p.Kind == "edit" }

func (p op) after() string {
	if p.Mode == Append {
		return "old" + p.Content
	}
	return p.Content
}

// swaps are the interferences, with what they need.
func swaps(g ground, p op) map[string]injection {
	leaf := g.in(p.Path)
	all := map[string]injection{
		"parent by a link":            {Do: "swap", A: g.in("g/p"), B: g.to("g/p")},
		"parent by a link inside":     {Do: "swap", A: g.in("g/p"), B: g.in("decoy")},
		"parent exchanged":            {Do: "exchange", A: g.in("g/p"), B: g.in("g/link")},
		"parent by a directory":       {Do: "exchange", A: g.in("g/p"), B: g.in("decoy")},
		"grandparent by a link":       {Do: "swap", A: g.in("g"), B: g.to("g")},
		"root by a link":              {Do: "swap", A: g.root, B: g.out},
		"leaf by a link":              {Do: "swap", A: leaf, B: g.to("g/p/f")},
		"leaf by a link to no file":   {Do: "swap", A: leaf, B: g.to("g/p/new")},
		"leaf by another file":        {Do: "file", A: leaf, B: "other"},
		"leaf by a directory":         {Do: "dir", A: leaf},
		"new file by a link":          {Do: "temp-link", B: g.to("g/p/f")},
		"new file by another":         {Do: "temp-file", B: "other"},
		"new file removed":            {Do: "temp-gone"},
		"new file in a decoy as well": {Do: "temp-name", B: g.in("decoy")},
	}
	if p.existing() {
		all["leaf overwritten in place"] = injection{Do: "overwrite", A: leaf, B: "other"}
		all["leaf narrowed"] = injection{Do: "chmod", A: leaf}
	}
	if p.Parents { // the leaf's directory is not there yet
		maps.DeleteFunc(all, func(name string, _ injection) bool { return strings.HasPrefix(name, "leaf") })
	}
	return all
}

// prepare makes what the swaps of a root need.
func (g ground) prepare(t *testing.T) {
	t.Helper()
	if err := os.MkdirAll(g.in("decoy"), 0o755); err != nil {
		t.Fatal(err)
	}
	putText(t, g.in("decoy/f"), "decoy")
	symlink(t, g.to("g/p"), g.in("g/link"))
}

// another is a fresh root beside the same outside.
func (g ground) another(t *testing.T, i int) ground {
	t.Helper()
	g.root = fmt.Sprintf("%s/root-%d", g.base, i)
	for _, dir := range []string{"g/p", "g/e"} {
		if err := os.MkdirAll(g.in(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	putText(t, g.in(target), "old")
	g.prepare(t)
	return g
}

// TestEverySwap does every interference at every call of every effect.
func TestEverySwap(t *testing.T) {
	inMemory(t)
	for name, p := range scenarios {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, opts Options) { everySwap(t, attack{Opts: opts, Op: p}) })
		})
	}
}

// Where the file system, or a filter, does not know the flags of renameat2 nothing
// is written: any other way could lose what is there.
func TestWithoutExchange(t *testing.T) {
	for name, p := range scenarios {
		for _, errno := range []unix.Errno{unix.EINVAL, unix.ENOSYS} {
			t.Run(name+" "+errno.Error(), func(t *testing.T) {
				g := newGround(t)
				before := inside(t, g.root)
				a := attack{Root: g.root, Op: p, Inject: []injection{
					{Call: "renameat2", N: 1, On: true, Do: "errno", Errno: int(errno)},
				}}
				if got := perform(a); !got.is("ErrFilesystem") || got.Applied {
					t.Errorf("%+v", got)
				}
				if diff := cmp.Diff(before, inside(t, g.root)); diff != "" {
					t.Errorf("-before +after:\n%s", diff)
				}
			})
		}
	}
}

func everySwap(t *testing.T, a attack) {
	g := newGround(t)
	n := len(dryRun(t, g.another(t, 0), a))
	o := watch(t, g.out)
	turn, step := 0, 1
	if testing.Short() {
		step = 3
	}
	for _, kind := range slices.Sorted(maps.Keys(swaps(g, a.Op))) {
		for at := 1 + turn%step; at <= n && !t.Failed(); at += step {
			turn++
			g := g.another(t, turn)
			in := swaps(g, a.Op)[kind]
			in.N = at
			c := swapped{attack: a, ground: g, kind: kind, at: at}
			c.Root, c.Inject = g.root, append([]injection{in}, a.Inject...)
			c.judge(t, perform(c.attack))
			if got := o.events(t); len(got) > 0 {
				t.Errorf("%s at %d: outside: %q", kind, at, got)
			}
		}
	}
	o.untouched(t)
}

// dryRun is the positive control: without interference the effect is there. It
// gives the calls.
func dryRun(t *testing.T, g ground, a attack) []string {
	t.Helper()
	a.Root = g.root
	got := perform(a)
	if got.Err != "" || !got.Applied || read(t, g.in(a.Op.Path)) != a.Op.after() || len(got.Leaked) > 0 {
		t.Fatalf("control: %+v", got)
	}
	if left := temps(inside(t, g.root)); len(left) > 0 {
		t.Fatalf("control: left %q", left)
	}
	return got.Calls
}

// swapped is one effect with one interference.
type swapped struct {
	attack
	ground
	kind string
	at   int
}

// judge says what may be found afterwards: the new text where it was asked for,
// or an error and the old text; nothing else, and nobody else's things.
func (c swapped) judge(t *testing.T, o outcome) {
	t.Helper()
	all := c.everything(t)
	published := slices.Index(o.Calls, "published") + 1 // 0: not reached
	late := published > 0 && (c.at > published || c.at == published && c.Inject[0].Do == "overwrite")
	fail := func(format string, args ...any) {
		t.Helper()
		what, calls := fmt.Sprintf(format, args...), o.Calls[:min(c.at, len(o.Calls))]
		t.Errorf("%s at %d (%s): %s\n%+v\n%v", c.kind, c.at, calls, what, o, all)
	}
	if len(o.Leaked) > 0 {
		fail("descriptors are left")
	}
	news, olds := places(all, c.Op.after()), places(all, "old")
	if c.Op.Mode == Append { // to what another has put there before the look
		news = append(news, places(all, "other"+c.Op.Content)...)
		news = append(news, places(all, "decoy"+c.Op.Content)...)
	}
	visible := slices.Contains(news, c.Op.Path)
	switch {
	case o.Err == "" && !visible && !late:
		fail("a success that is not there")
	case o.Err == "" && len(news) != 1 && !c.overwritten(late):
		fail("the new text is in %q", news)
	case o.Err != "" && !o.Typed:
		fail("the error has no type")
	case o.Err != "" && o.Applied:
		fail("an error with an effect")
	case o.Err != "" && c.Op.existing() && len(olds) == 0 && !c.overwritten(false):
		fail("the old text is lost")
	case o.Err != "" && len(news) > 0 && !c.movedAway(o):
		fail("an error, and the new text is in %q", news)
	}
	c.judgeOthers(t, o, all, fail)
}

// judgeOthers: what the interference put there is still there, and nothing of ours.
func (c swapped) judgeOthers(t *testing.T, o outcome, all map[string]string, fail func(string, ...any)) {
	t.Helper()
	in := c.Inject[0]
	if st, err := os.Lstat(c.in(target)); in.Do == "chmod" && o.Fired > 0 && (err != nil || st.Mode() != 0o600) {
		fail("%v, %v", st, err)
	}
	others := append(places(all, "other"), places(all, "other"+c.Op.Content)...) // the latter by an append
	if in.B == "other" && o.Fired > 0 && c.Op.guarded() && in.Do != "temp-file" && len(others) == 0 {
		fail("the text of another is lost")
	}
	if published := slices.Index(o.Calls, "published"); published > 0 && in.A == c.in(c.Op.Path) {
		moved := slices.DeleteFunc(slices.Clone(o.Calls[published:]), func(call string) bool { return call != "renameat2" })
		if len(moved) > 3 {
			fail("what another has put there is moved to and fro")
		}
	}
	if decoy := all["decoy/f"]; decoy != "decoy" && in.Do != "exchange" {
		fail("the decoy has %q", decoy)
	}
	for _, name := range temps(all) {
		kept := strings.Contains(o.Err, filepath.Base(name)) && all[name] != c.Op.after()
		theirs := strings.HasPrefix(in.Do, "temp-") &&
			slices.Contains([]string{"other", "attacker", "L---------"}, all[name])
		if !kept && !theirs {
			fail("%q is left", name)
		}
	}
	if o.Err != "" && c.Op.Parents && in.Do != "temp-link" && in.Do != "temp-file" {
		for name := range all {
			if strings.HasSuffix(name, "/x") {
				fail("%q is left", name)
			}
		}
	}
}

// overwritten: the interference writes to the target's file itself.
func (c swapped) overwritten(late bool) bool {
	return c.Inject[0].Do == "overwrite" || late && c.Inject[0].Do == "file"
}

// movedAway: it moved the new file, after that had its name or before.
func (c swapped) movedAway(o outcome) bool {
	in, publish := c.Inject[0], slices.Index(o.Calls, "publish")+1
	return strings.HasPrefix(in.Do, "temp-") || in.A == c.in(c.Op.Path) && publish > 0 && c.at > publish+1
}

// everything is beneath the root, wherever that went.
func (c swapped) everything(t *testing.T) map[string]string {
	t.Helper()
	if _, err := os.Lstat(c.root + awaySuffix); err == nil {
		all := inside(t, c.root+awaySuffix)
		return prefixed(all, "root"+awaySuffix+"/")
	}
	return inside(t, c.root)
}

func prefixed(all map[string]string, with string) map[string]string {
	out := map[string]string{"decoy/f": all["decoy/f"]}
	for name, content := range all {
		if name != "decoy/f" {
			out[with+name] = content
		}
	}
	return out
}

// places are the files that hold a text.
func places(all map[string]string, content string) []string {
	var found []string
	for name, has := range all {
		if has == content {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}
