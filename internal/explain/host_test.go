package explain

import (
	"testing"

	"brainbox/internal/needs"
)

// The name of a program's choice is not carried to a file system that others serve: there only
// the kernel's cache is asked.
func TestLookOnHost(t *testing.T) {
	needs.Kernel(t)
	dir := realTemp(t)
	put(t, dir, "d/", "d/f", "link -> d/f")
	local, foreign := func(int) bool { return true }, func(int) bool { return false }
	for _, c := range []struct {
		name    string
		make    bool
		local   func(int) bool
		want    string
		unknown bool
	}{
		{"/d/f", false, isLocal, "/d/f", false},
		{"/link", false, local, "/d/f", false},
		{"/d/new", true, local, "/d/new", false},
		{"/d/never-asked-for", false, local, "", false},
		{"/d/never-asked-for-either", false, foreign, "", true},
		{"/never-asked-for/f", true, foreign, "", true},
	} {
		got := lookOnHost(dir+c.name, c.make, c.local)
		closeFD(got.fd)
		if want := c.want; want != "" && got.path != dir+want || want == "" && got.fd >= 0 || got.unknown != c.unknown {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	if got := lookOnHost("/proc/self/status", false, local); got.fd >= 0 {
		t.Errorf("of this process: %+v", got)
	}
}
