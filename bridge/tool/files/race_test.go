package files

import (
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"brainbox/dirchain"
)

// What is exchanged between the decision and the effect is not met: esc/BR-07.
func TestExchangedAfterDecision(t *testing.T) {
	for name, c := range map[string]struct {
		change func(s *shop) error
		code   string
	}{
		"control: nothing":          {func(*shop) error { return nil }, ""},
		"the parent is a link":      {func(s *shop) error { return swap(s, "src", func(p string) error { return os.Symlink(s.outside, p) }) }, "alias_denied"},
		"the parent is another one": {func(s *shop) error { return swap(s, "src", mkdirFile) }, "topology_changed"},
		"the file is a link": {func(s *shop) error {
			return swap(s, "src/a.txt", func(p string) error { return os.Symlink(s.outside+"/secret", p) })
		}, "alias_denied"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t, setup{})
			base := dirchain.Sum([]byte(s.text("src/a.txt"))).String()
			done := false
			s.between = func() {
				if err := c.change(s); err != nil && !done {
					t.Error(err)
				}
				done = true
			}
			a := s.call("edit_file", in("path", "src/a.txt", "old_string", "two", "new_string", "2", "base", base))
			if a.code != c.code {
				t.Errorf("edit: %q (%s), want %q", a.code, a.message, c.code)
			}
			s2 := newShop(t, setup{})
			s2.between = func() {
				if err := c.change(s2); err != nil {
					t.Error(err)
				}
			}
			if a := s2.call("read_file", in("path", "src/a.txt")); a.code != c.code {
				t.Errorf("read: %q (%s), want %q", a.code, a.message, c.code)
			}
			if got, err := os.ReadFile(s.outside + "/secret"); err != nil || string(got) != "the secret" {
				t.Errorf("%q, %v", got, err)
			}
			if all, err := os.ReadDir(s.outside); err != nil || len(all) != 1 {
				t.Errorf("outside: %v, %v", all, err)
			}
		})
	}
}

func swap(s *shop, name string, instead func(path string) error) error {
	if err := os.Rename(s.dir+"/"+name, s.dir+"/away"); err != nil {
		return err
	}
	return instead(s.dir + "/" + name)
}

// A program that renames all the time: nothing leaves the project, and what is read is
// never the secret: esc/BR-07.
func TestRacingRenamer(t *testing.T) {
	s := newShop(t, setup{})
	s.put("d/f", "inside")
	s.link(s.outside, "dlink")
	s.link(s.outside+"/secret", "d/flink")
	if err := os.WriteFile(s.outside+"/f", []byte("the secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := s.call("read_file", in("path", "d/f")).want(t, "") // positive control
	stop := make(chan struct{})
	var racer sync.WaitGroup
	racer.Go(func() {
		for round := 0; ; round++ {
			select {
			case <-stop:
				return
			default:
			}
			for _, pair := range [][2]string{{"d", "dlink"}, {"d/f", "d/flink"}} {
				_ = exchange(s.dir+"/"+pair[0], s.dir+"/"+pair[1])
				time.Sleep(50 * time.Microsecond)
				_ = exchange(s.dir+"/"+pair[0], s.dir+"/"+pair[1])
				time.Sleep(time.Duration(round%8) * time.Millisecond) // for a whole call to go through on any machine
			}
		}
	})
	tally := map[string]int{}
	through := func() bool {
		return tally["write_file "] > 0 && tally["read_file "] > 0 && tally["write_file topology_changed"]+tally["write_file alias_denied"] > 0
	}
	for began := time.Now(); time.Since(began) < time.Second || !through() && time.Since(began) < time.Minute; {
		for _, c := range []struct {
			tool  string
			input map[string]any
		}{
			{"read_file", in("path", "d/f")},
			{"write_file", in("path", "d/new", "content", "x", "base", nil)},
			{"write_file", in("path", "d/f", "content", "inside", "base", before.out["sha256"])},
			{"remove", in("path", "d/new")},
			{"grep", in("pattern", "secret")},
		} {
			a := s.call(c.tool, c.input)
			tally[c.tool+" "+a.code]++
			if text, _ := a.out["text"].(string); strings.Contains(text, "secret") || paths(a) != "" {
				t.Fatalf("%s: %v", c.tool, a.out)
			}
		}
	}
	close(stop)
	racer.Wait()
	t.Log(tally)
	if all, err := os.ReadDir(s.outside); err != nil || len(all) != 2 {
		t.Errorf("outside: %v, %v", all, err)
	}
	for _, name := range []string{"/f", "/secret"} {
		if got, err := os.ReadFile(s.outside + name); err != nil || string(got) != "the secret" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if !through() {
		t.Error("nothing went through: no race")
	}
}

// Two edits of one file: one sees what the other made, bk/CT18; two files do not wait for
// each other, bk/CT19.
func TestParallelEdits(t *testing.T) {
	s := newShop(t, setup{})
	for round := range 20 {
		base := s.put("f", "<OLD>")
		var all sync.WaitGroup
		answers := make([]answer, 2)
		for i := range answers {
			all.Go(func() {
				answers[i] = s.call("edit_file", in("path", "f", "old_string", "OLD", "new_string", string(rune('a'+i)), "base", base))
			})
		}
		all.Wait()
		ok, refused := 0, 0
		for i, a := range answers {
			switch a.code {
			case "":
				if ok++; s.text("f") != "<"+string(rune('a'+i))+">" {
					t.Errorf("round %d: %q", round, s.text("f"))
				}
			case "stale_base", "topology_changed", "not allowed":
				refused++
			default:
				t.Errorf("round %d: %+v", round, a)
			}
		}
		if ok != 1 || refused != 1 {
			t.Errorf("round %d: %+v", round, answers)
		}
	}
	a := plan(t, s.tools["edit_file"], `{"path":"f","old_string":"a","new_string":"","base":"`+never+`"}`).Locks()
	b := plan(t, s.tools["write_file"], `{"path":"f","content":"a","base":null}`).Locks()
	c := plan(t, s.tools["write_file"], `{"path":"g","content":"a","base":null}`).Locks()
	if len(a) != 1 || a[0] != "path:"+s.dir+"/f" || b[0] != a[0] || c[0] == a[0] {
		t.Errorf("locks %v %v %v", a, b, c)
	}
	many := plan(t, s.tools["apply_staged"], `{"files":[{"path":"z","content":"","base":null},{"path":"a","content":"","base":null}]}`).Locks()
	if len(many) != 2 || many[0] != "path:"+s.dir+"/a" {
		t.Errorf("locks are not sorted: %v", many)
	}
	if read := plan(t, s.tools["read_file"], `{"path":"f"}`).Locks(); len(read) != 0 {
		t.Errorf("a read takes %v", read)
	}
}
