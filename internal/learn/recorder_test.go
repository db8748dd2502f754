package learn

import (
	"strconv"
	"strings"
	"sync"
	"testing"

	"brainbox/internal/explain"
	"brainbox/launcher"
)

func TestRecorder(t *testing.T) {
	var asked int
	r := Recorder{Name: func(tid int) string { asked++; return strconv.Itoa(tid) }}
	saw := func(path string, tid int, v launcher.Verdict, moot bool) {
		s := &explain.Seen{TID: tid, Moot: moot, Certainty: explain.Proven, Judgement: launcher.Judgement{Verdict: v}}
		s.Path = path
		r.Saw(s)
	}
	saw("/b", 1, launcher.Allowed, false)
	saw("/a", 2, launcher.Allowed, false)
	saw("/b", 3, launcher.Allowed, false)
	saw("/b", 4, launcher.Refused, false)
	saw("/gone", 5, launcher.Refused, true)
	got := r.Uses()
	if len(got) != 3 || got[0].Path != "/a" || got[1].By != "1" || got[1].Count != 2 || got[1].First != 0 || got[2].Judgement.Verdict != launcher.Refused || asked != 3 {
		t.Errorf("asked %d times, %+v", asked, got)
	}
}

// What the program chooses does not fill the memory, and what was too much is counted; the
// threads that say it may be many.
func TestRecorderIsBounded(t *testing.T) {
	var r Recorder
	const threads = 4
	var done sync.WaitGroup
	for n := range threads {
		done.Go(func() {
			for i := range maxUses/threads + 5 {
				s := &explain.Seen{Certainty: explain.Likely}
				s.Path = strconv.Itoa(n) + "/" + strconv.Itoa(i)
				r.Saw(s)
			}
		})
	}
	done.Wait()
	if len(r.Uses()) != maxUses || r.Dropped() != threads*5 {
		t.Errorf("%d uses, %d dropped", len(r.Uses()), r.Dropped())
	}
	var long Recorder
	name := strings.Repeat("n", 1<<20)
	for i := range maxBytes>>20 + 1 {
		s := &explain.Seen{Certainty: explain.Likely}
		s.Path, s.Dest = strconv.Itoa(i), name
		long.Saw(s)
	}
	if n := len(long.Uses()); n == 0 || n > maxBytes>>20 || long.Dropped() != maxBytes>>20+1-n {
		t.Errorf("%d uses of long names, %d dropped", n, long.Dropped())
	}
	in := input(t)
	in.Dropped = r.Dropped()
	if text := string(New(in).TOML()); text[:len("# WARNING: 20")] != "# WARNING: 20" {
		t.Error(text)
	}
}
