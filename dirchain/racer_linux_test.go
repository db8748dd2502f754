package dirchain

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// writes is for a longer run: go test ./dirchain -run TestRacer -dirchain.writes=100000.
var writes = flag.Int("dirchain.writes", 5_000, "mediated writes in each race (with -short at most 2000)")

func TestRacer(t *testing.T) {
	parent := racer{"g", "p", "link", 0}
	paused := racer{"g", "p", "link", 300}
	grand := racer{"", "g", "glink", 300}
	leaf := racer{"g/p", "f", "flink", 300}
	for name, tt := range map[string]struct {
		racers []racer
		mode   Mode
		base   bool
	}{
		"esc/DC-04 a directory and a link":         {racers: []racer{parent}, mode: CreateOrReplace},
		"esc/DC-04 two racers":                     {racers: []racer{paused, grand}, mode: CreateOrReplace},
		"esc/DC-01 esc/DC-04 the leaf and a link":  {racers: []racer{leaf}, mode: CreateOrReplace},
		"esc/DC-01 as fast as it can":              {racers: []racer{{"g/p", "f", "flink", 0}}, mode: Replace},
		"esc/DC-02 esc/DC-04 leaf and grandparent": {racers: []racer{leaf, grand}, mode: Replace},
		"esc/DC-04 the leaf and another file":      {racers: []racer{{"g/p", "f", "other", 0}}, mode: Replace, base: true},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, opts Options) { testRacer(t, opts, tt.racers, tt.mode, tt.base) })
		})
	}
}

func testRacer(t *testing.T, opts Options, racers []racer, mode Mode, base bool) {
	g := newGround(t)
	symlink(t, g.to("g/p"), g.in("g/link"))
	symlink(t, g.to("g"), g.in("glink"))
	symlink(t, g.to("g/p/f"), g.in("g/p/flink"))
	putText(t, g.in("g/p/other"), "other")
	o := watch(t, g.out)
	before := openFiles()
	r, err := OpenRoot(g.root, opts)
	if err != nil {
		t.Fatal(err)
	}
	n := *writes
	if testing.Short() {
		n = min(n, 2000)
	}
	if _, err = r.Write(t.Context(), target, WriteRequest{Mode: mode, Content: text("old")}); err != nil {
		t.Errorf("control: %v", err)
	}
	began, tally := time.Now(), tally{}
	t.Run("racing", func(t *testing.T) { // its end is that of the racers
		for _, c := range racers {
			c.start(t, g)
		}
		for i := range n {
			tally.write(t, r, i, mode, base)
		}
	})
	_ = r.Close()
	t.Logf("%d writes in %v: %v", n, time.Since(began).Round(time.Millisecond), tally)
	o.untouched(t)
	if after := openFiles(); !slices.Equal(before, after) {
		t.Errorf("descriptors: %q, before %q", after, before)
	}
	all := inside(t, g.root)
	if left := temps(all); len(left) != tally["kept"] {
		t.Errorf("left %q, told %d", left, tally["kept"])
	}
	if base && len(places(all, "other")) == 0 && len(places(all, "old")) == 0 && tally["ok"] == 0 {
		t.Error("both files are lost")
	}
	if tally["ok"] == n {
		t.Errorf("no race: %v", tally)
	}
}

// tally counts what became of the writes.
type tally map[string]int

func (c tally) write(t *testing.T, r *Root, i int, mode Mode, base bool) {
	t.Helper()
	content := fmt.Sprintf("write %d", i)
	req := WriteRequest{Mode: mode, Content: text(content)}
	if base {
		got, err := r.Read(t.Context(), target, ReadRequest{})
		if err != nil {
			c.told(t, err)
			return
		}
		req.Base = &got.SHA256
	}
	got, err := r.Write(t.Context(), target, req)
	if got.Kept != "" {
		c["kept"]++
	}
	if err != nil {
		if got.Applied {
			t.Errorf("applied, and %v", err)
		}
		c.told(t, err)
		return
	}
	c["ok"]++
	// It may be away already, but what is there is never the secret.
	if got, err := r.Read(t.Context(), target, ReadRequest{}); err == nil && string(got.Data) == "secret" {
		t.Error("the secret was read")
	}
}

// told counts an error, which has a type.
func (c tally) told(t *testing.T, err error) {
	t.Helper()
	var o outcome
	o.told(err)
	if !o.Typed {
		t.Errorf("no type: %v", err)
	}
	c[strings.Join(o.Is, "+")]++
}
