package launcher

import (
	"os"
	"testing"

	"brainbox/policy"
)

// TestCallerTmpIsNoLink: the folder that TMPDIR names is granted, so it is the one that the
// caller named or none.
func TestCallerTmpIsNoLink(t *testing.T) {
	top := resolved(t.TempDir())
	private := mkdir(t, top+"/home/.ssh", 0o700, -1)
	for link, target := range map[string]string{top + "/link": private, top + "/parent": top + "/home"} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	for dir, want := range map[string]bool{
		top + "/link": false, top + "/link/": false, top + "/parent/.ssh": false,
		mkdir(t, top+"/open", 0o750, -1): false, "home/.ssh": false, top + "/missing": false,
		private: true, private + "/": true, // positive control
	} {
		f := &Facts{Place: &Place{EUID: os.Geteuid()}, Environ: []string{"TMPDIR=" + dir}}
		f.observeExec(&policy.Policy{})
		if got := f.CallerTmp.fd > 0; got != want {
			t.Errorf("TMPDIR %q is taken: %v, want %v", dir, got, want)
		}
		f.CallerTmp.close()
	}
}
