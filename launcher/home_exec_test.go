package launcher

import "testing"

// TestHomeOfAWrapper: a wrapper's program must be told the home that it is granted. With
// "keep" it was told the supervised one, which no rule covers.
func TestHomeOfAWrapper(t *testing.T) {
	for _, c := range []struct {
		exec       bool
		kind, want string
	}{
		{true, "keep", "/t/7/home"}, {true, "run", "/t/7/home"}, {true, "dir", "/d"}, {false, "keep", "/d"}, {false, "run", "/t/7/home"},
	} {
		f := &Facts{Exec: c.exec, RunDir: "/t/7", Home: HomeFact{Kind: c.kind, Dir: "/d"}}
		if got := f.homeDir(); got != c.want {
			t.Errorf("exec %v, home %q: %q, want %q", c.exec, c.kind, got, c.want)
		}
	}
}
