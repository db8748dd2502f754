package dirchain

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestRacerOfOperations: the operations on entries and trees are raced as writes
// are, on two levels and at their own target, by a protected directory too. Nothing
// happens outside, and what is protected stays, wherever it is at the moment.
func TestRacerOfOperations(t *testing.T) {
	for name, racers := range map[string][]racer{
		"esc/DC-04 esc/DC-11 a directory and a link":     {{"g", "p", "link", 3000}, {"", "g", "glink", 3000}},
		"esc/DC-11 a tree and a link":                    {{"g/p", "t", "tlink", 3000}},
		"esc/DC-10 esc/DC-11 a tree and a protected one": {{"g/p", "t", "prot", 3000}, {"g", "p", "link", 3000}},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, opts Options) { raceOperations(t, opts, racers) })
		})
	}
}

func raceOperations(t *testing.T, opts Options, racers []racer) {
	g := newGround(t)
	symlink(t, g.to("g/p"), g.in("g/link"))
	symlink(t, g.to("g"), g.in("glink"))
	symlink(t, g.to("g/p"), g.in("g/p/tlink"))
	mkdir(t, g.in("g/p/t"))
	mkdir(t, g.in("g/p/prot"))
	putText(t, g.in("g/p/prot/keep"), "protected")
	o := watch(t, g.out)
	before := openFiles()
	opts.Protect, opts.SkipSync = []string{"g/p/prot"}, true
	r, err := OpenRoot(g.root, opts)
	if err != nil {
		t.Fatal(err)
	}
	n := 2000
	if testing.Short() {
		n = 200
	}
	rounds, done, told := 0, map[string]int{}, ""
	t.Run("racing", func(t *testing.T) { // its end is that of the racers
		for _, c := range racers {
			c.start(t, g)
		}
		for began := time.Now(); rounds < n || len(done) < len(entryOperations) && time.Since(began) < time.Minute; rounds++ {
			for name, op := range entryOperations {
				err := op(t.Context(), r)
				if err == nil {
					done[name]++
				} else if strings.Contains(err.Error(), ".tmp") {
					told += err.Error()
				}
			}
		}
	})
	_ = r.Close()
	t.Logf("of %d: %v", rounds, done)
	for name := range entryOperations {
		if done[name] == 0 || done[name] == rounds {
			t.Errorf("%s succeeded %d times of %d: no race", name, done[name], rounds)
		}
	}
	o.untouched(t)
	if after := openFiles(); !slices.Equal(before, after) {
		t.Errorf("descriptors: %q, before %q", after, before)
	}
	all := inside(t, g.root)
	if len(places(all, "protected")) != 1 {
		t.Errorf("what was protected is in %q", places(all, "protected"))
	}
	for _, left := range temps(all) {
		if !strings.Contains(told, filepath.Base(left)) {
			t.Errorf("left and not told: %q", left)
		}
	}
}

// entryOperations are in each other's way: each has its turn when the others were
// led astray.
var entryOperations = map[string]func(ctx context.Context, r *Root) error{
	"mkdir": func(ctx context.Context, r *Root) error {
		_, err := r.Mkdir(ctx, "g/p/t/a/b", MkdirRequest{Parents: true})
		return err
	},
	"batch": func(ctx context.Context, r *Root) error {
		_, err := r.Batch(ctx, []BatchEntry{
			{Path: "g/p/t/f", WriteRequest: WriteRequest{Mode: CreateOrReplace, Content: text("x"), Parents: true}},
			{Path: "g/p/t/a/f", WriteRequest: WriteRequest{Mode: CreateOrReplace, Content: text("x"), Parents: true}},
		})
		return err
	},
	"rename": func(ctx context.Context, r *Root) error {
		_, err := r.Rename(ctx, "g/p/t/f", "g/p/n", RenameRequest{Replace: true})
		return err
	},
	"remove": func(ctx context.Context, r *Root) error {
		_, err := r.Remove(ctx, "g/p/n", RemoveRequest{})
		return err
	},
	"remove tree": func(ctx context.Context, r *Root) error {
		_, err := r.RemoveTree(ctx, "g/p/t/a", RemoveTreeRequest{})
		return err
	},
}
