package dirchain

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// entry does what is done to whole entries.
func (p op) entry(ctx context.Context, r *Root, o *outcome) {
	var err error
	switch p.Kind {
	case "mkdir":
		var got MkdirResult
		got, err = r.Mkdir(ctx, p.Path, MkdirRequest{Parents: p.Parents})
		o.Applied = got.Created
	case "rename":
		var got RenameResult
		got, err = r.Rename(ctx, p.Path, p.To, RenameRequest{Replace: p.Mode != Create})
		o.Applied = got.Renamed
	case "remove":
		var got RemoveResult
		got, err = r.Remove(ctx, p.Path, RemoveRequest{Base: hashOf(p.Base)})
		o.Applied = got.Removed
	case "remove tree":
		var got RemoveTreeResult
		got, err = r.RemoveTree(ctx, p.Path, RemoveTreeRequest{})
		o.Applied = got.Removed
	case "batch":
		var got []BatchResult
		got, err = r.Batch(ctx, []BatchEntry{
			{Path: p.Path, WriteRequest: p.request()}, {Path: p.To, WriteRequest: p.request()},
		})
		for _, g := range got {
			o.Applied = o.Applied || g.Applied
		}
	}
	o.told(err)
}

// entryScenarios are the effects on whole entries.
var entryScenarios = map[string]op{
	"mkdir":                   {Kind: "mkdir", Path: "g/p/n"},
	"mkdir with parents":      {Kind: "mkdir", Path: "g/p/x/y/n", Parents: true},
	"rename":                  {Kind: "rename", Path: target, To: "g/p/n"},
	"rename elsewhere":        {Kind: "rename", Path: target, To: "g/e/n"},
	"rename over a file":      {Kind: "rename", Path: "decoy/f", To: target, Mode: Replace},
	"remove":                  {Kind: "remove", Path: target},
	"remove with a base":      {Kind: "remove", Path: target, Base: "old"},
	"remove a directory":      {Kind: "remove", Path: "g/e"},
	"esc/DC-11 remove a tree": {Kind: "remove tree", Path: "g/p"},
	"batch":                   {Kind: "batch", Path: target, To: "g/e/n", Mode: CreateOrReplace, Content: "new"},
}

// TestEverySwapOfEntries does every interference at every call of the other
// effects: nothing outside is touched or opened, nothing that somebody else has put
// there is lost, and what is told is true.
func TestEverySwapOfEntries(t *testing.T) {
	inMemory(t)
	for name, p := range entryScenarios {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, opts Options) { everySwapOfEntries(t, attack{Opts: opts, Op: p}) })
		})
	}
}

func everySwapOfEntries(t *testing.T, a attack) {
	t.Helper()
	g := newGround(t)
	control := g.another(t, 0)
	a.Root = control.root
	got := perform(a)
	if got.Err != "" || !got.Applied || len(got.Leaked) > 0 || len(temps(inside(t, a.Root))) > 0 {
		t.Fatalf("control: %+v", got)
	}
	n := len(got.Calls)
	o := watch(t, g.out)
	kinds := maps.Clone(swaps(g, op{Path: target}))
	maps.DeleteFunc(kinds, func(_ string, in injection) bool { // no new file of ours is there
		return strings.HasPrefix(in.Do, "temp-") || a.Op.Path == "decoy/f" && strings.Contains(in.A+in.B, "decoy")
	})
	turn, step := 0, 1
	if testing.Short() {
		step = 3
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		for at := 1 + turn%step; at <= n && !t.Failed(); at += step {
			turn++
			g := g.another(t, turn)
			in := swaps(g, op{Path: target})[kind]
			in.N, in.Lax = at, true
			c := swapped{attack: a, ground: g, kind: kind, at: at}
			c.Root, c.Inject = g.root, []injection{in}
			c.judgeEntry(t, perform(c.attack))
			if got := o.events(t); len(got) > 0 {
				t.Errorf("%s at %d: outside: %q", kind, at, got)
			}
		}
	}
	o.untouched(t)
}

func (c swapped) judgeEntry(t *testing.T, o outcome) {
	t.Helper()
	all := c.everything(t)
	fail := func(format string, args ...any) {
		t.Helper()
		what, calls := fmt.Sprintf(format, args...), o.Calls[:min(c.at, len(o.Calls))]
		t.Errorf("%s at %d (%s): %s\n%+v\n%v", c.kind, c.at, calls, what, o, all)
	}
	switch {
	case len(o.Leaked) > 0:
		fail("descriptors are left")
	case o.Err != "" && !o.Typed:
		fail("the error has no type")
	case o.Err == "" && !o.Applied:
		fail("neither an effect nor an error")
	case !o.Applied && len(places(all, "old")) == 0 && c.Op.Kind != "remove tree" && c.Inject[0].Do != "overwrite":
		fail("the old text is lost")
	}
	if len(places(all, "other")) == 0 && c.Inject[0].Do == "file" && o.Fired > 0 && !c.mayTake() {
		fail("the text of another is lost")
	}
	for _, name := range temps(all) {
		if !strings.Contains(o.Err, filepath.Base(name)) {
			fail("%q is left", name)
		}
	}
}

// mayTake: what another has put there before the look is what is meant.
func (c swapped) mayTake() bool {
	return c.Op.Kind == "remove tree" || c.Op.Kind == "remove" && c.Op.Base == "" && c.Op.Path == target ||
		c.Op.Kind == "batch" || c.Op.Kind == "rename" && c.Op.Mode != Create
}
