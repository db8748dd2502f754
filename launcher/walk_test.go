package launcher

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brainbox/policy"
)

// walked is what a walk through dir finds, one line each.
func walked(g grantWalk, dir string) []string {
	w := &Want{Grant: policy.Grant{Right: policy.RightWrite}}
	g.grant(dir, deviceOf(dir), w)
	list := []string{}
	for _, e := range g.entries {
		list = append(list, strings.TrimPrefix(e.Path, dir)+": "+e.Note)
	}
	return list
}

func deviceOf(path string) uint64 {
	p := openPath(path)
	defer p.close()
	return p.Dev
}

// esc/FS-21, esc/MD-08: what no rule can hold is found on request.
func TestWalkGrants(t *testing.T) {
	dir := checkout(t, "a/plain: x", "a/twice: x", "b/set-uid: x", "b/set-gid: x", "b/folder/", "out -> ..", "c\n\x1b[31m: x")
	if got := walked(grantWalk{found: 10, names: 100}, dir); len(got) != 0 { // positive control
		t.Fatalf("found %q in an ordinary tree", got)
	}
	other := filepath.Join(filepath.Dir(dir), "outside")
	l, err := net.Listen("unix", dir+"/sock")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, err := range []error{
		os.Link(dir+"/a/twice", other), os.Link(dir+"/c\n\x1b[31m", other+"2"),
		os.Chmod(dir+"/b/set-uid", 0o755|os.ModeSetuid), os.Chmod(dir+"/b/set-gid", 0o755|os.ModeSetgid),
		os.Chmod(dir+"/b/folder", 0o755|os.ModeSetgid), // harmless: files get the folder's group
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	const alias = "it has another name, which may lie outside: a write changes both"
	want := []string{
		"/a/twice: " + alias, "/b/set-gid: a set-id file", "/b/set-uid: a set-id file", "/c\n\x1b[31m: " + alias, "/sock: a socket",
	}
	if diff := cmp.Diff(want, walked(grantWalk{found: 10, names: 100}, dir)); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
	want = append(want[:2:2], ": and 3 more that are not listed")
	if diff := cmp.Diff(want, walked(grantWalk{found: 2, names: 100}, dir)); diff != "" {
		t.Errorf("found with a limit (-want +got):\n%s", diff)
	}
	want = []string{"/a/twice: " + alias, "/b: the walk ended here: what lies beyond was not looked at"}
	if diff := cmp.Diff(want, walked(grantWalk{found: 10, names: 4}, dir)); diff != "" {
		t.Errorf("found by a short walk (-want +got):\n%s", diff)
	}
}
