package scratch

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestPruneEnds: each file that cannot be removed costs one more walk, so a worker
// that makes many of them could keep a pass, and who waits for it, for hours.
func TestPruneEnds(t *testing.T) {
	var files []string
	for i := range 60 {
		files = append(files, fmt.Sprintf("f%02d:9:1", i))
	}
	a, area := pruned(t, append(files, "young:1:41")...) // one byte too many
	walks, clock := 0, time.Now()
	a.now = func() time.Time { return clock }
	a.hook = func(point, path string) {
		if point != "visit" {
			return
		}
		if strings.HasSuffix(path, "/f00") {
			walks++
			clock = clock.Add(maxTime / 4)
		}
		if !strings.HasSuffix(path, "/young") {
			old(t, area+strings.TrimPrefix(path, Location), time.Duration(8*60+walks)*time.Minute)
		}
	}
	rep := prune(t, a)
	if walks != 4 || !rep.Truncated || len(rep.Failed) != 4 || len(rep.Removed) != 0 {
		t.Errorf("%d walks, %+v", walks, rep)
	}
	a.hook = nil
	if rep = prune(t, a); rep.Truncated || len(rep.Removed) != 1 || len(rep.Failed) != 0 { // control
		t.Errorf("undisturbed: %+v", rep)
	}
}

// TestPruneMemory: paths may be long, and there may be many.
func TestPruneMemory(t *testing.T) {
	a, area := pruned(t, "a:200:1", "b:200:1", "c:200:1", "d:200:1")
	a.room = 2*len(Location+"/a") + 1
	for _, want := range []string{"a:age b:age", "c:age d:age", ""} {
		rep := prune(t, a)
		if got := outcome(rep); got != want || rep.Truncated != strings.Contains(want, "a:age") {
			t.Errorf("report: %s, %+v, want %s", got, rep, want)
		}
	}
	if got := list(t, area); got != "" {
		t.Errorf("left: %s", got)
	}
}

// TestPruneRunsAlone: no write of the area is under way meanwhile.
func TestPruneRunsAlone(t *testing.T) {
	a, _ := pruned(t, "a:200:1")
	visits := 0
	a.hook = func(string, string) {
		if visits++; a.mu.TryRLock() {
			a.mu.RUnlock()
			t.Error("a write could begin")
		}
	}
	prune(t, a)
	if !a.mu.TryRLock() || visits == 0 {
		t.Errorf("%d visits, and then no write could begin", visits)
	}
}
