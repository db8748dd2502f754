package dirchain

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// TestJudgedAboveIsAllMade: where missing directories were judged by the first of them, all
// of them are made by the operation, and the file in them is new: what somebody moved there
// meanwhile was judged under another name.
func TestJudgedAboveIsAllMade(t *testing.T) {
	t.Run("esc/DC-17", func(t *testing.T) {
		for _, c := range []struct {
			name     string
			from, to string
			moved    func(call string) bool // after which call, once two directories are being made
		}{
			{"control", "", "", func(string) bool { return false }},
			{"a directory", ".git", "a/m", func(call string) bool { return call == "mkdirat" }},
			{"the file", ".git/f", "a/m/f", func(call string) bool { return call != "mkdirat" }},
		} {
			g := newGround(t)
			mkdir(t, g.in(".git"))
			putText(t, g.in(".git/f"), "held")
			made := 0
			r := open(t, g.root, Options{SkipSync: true, Trace: func(call string) error {
				if call == "mkdirat" {
					made++
				}
				if made == 2 && c.moved(call) {
					_ = os.Rename(g.in(c.from), g.in(c.to)) // fails until its place is there
				}
				return nil
			}})
			judged, err := r.Hold("a")
			if err != nil {
				t.Fatal(err)
			}
			_, err = r.Write(t.Context(), "a/m/f", WriteRequest{Mode: CreateOrReplace, Content: text("new"), Parents: true, Held: judged})
			judged.Close()
			if c.from == "" && err != nil || c.from != "" && !errors.Is(err, ErrChanged) {
				t.Errorf("%s: %v", c.name, err)
			}
			if got := listing(t, g.root); c.from != "" && !strings.Contains(got, "a/m/f=held") {
				t.Errorf("%s: it is overwritten:\n%s", c.name, got)
			}
		}
	})
}
