package launcher

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// Who is not confined follows no link, on the way or at the end: whoever may write in the
// folder would choose what root empties, opens or makes.
func TestTryFreeFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	ops := func(in, file string) []Operation {
		list := []Operation{
			{Op: OpTruncate, Path: file, Kind: KindRegular},
			{Op: OpRead, Path: file, Kind: KindRegular},
			{Op: OpWrite, Path: file, Kind: KindRegular},
			{Op: OpRename, Path: in + "/a", Dest: in + "/b", Kind: KindRegular},
			{Op: OpLink, Path: in + "/b", Dest: in + "/c", Kind: KindRegular},
			{Op: OpRemove, Path: in + "/c", Kind: KindRegular},
		}
		for kind := KindRegular; kind <= KindFIFO; kind++ {
			list = append(list, Operation{Op: OpCreate, Path: in + "/new" + string('0'+rune(kind)), Kind: kind})
		}
		return list
	}
	in := dir + "/real"
	if err := os.Mkdir(in, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"/f", "/a"} {
		if err := os.WriteFile(in+name, []byte("kept"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"/link": "real", "/name": "real/f"} {
		if err := os.Symlink(to, dir+name); err != nil {
			t.Fatal(err)
		}
	}
	before := shape(t, in)
	list := ops(dir+"/link", dir+"/name")
	list = append(list, ops(dir+"/link", dir+"/link/f")[:3]...)
	tried, err := (&Plan{Umask: 0o022}).TryFree(list)
	if err != nil {
		t.Fatal(err)
	}
	for i, got := range tried {
		// The folder that a name moves from is looked up by its path: the one that it comes to is held.
		if !got.Made || got.Errno != unix.ELOOP {
			t.Errorf("%s: %s", showOperation(list[i]), got)
		}
	}
	if after := shape(t, in); len(after) != len(before) || after[1] != before[1] {
		t.Errorf("%q, and before %q", after, before)
	}
	list = ops(in, in+"/f") // positive control
	if tried, err = (&Plan{Umask: 0o022}).TryFree(list); err != nil {
		t.Fatal(err)
	}
	for i, got := range tried {
		if !got.Made || got.Errno != 0 {
			t.Errorf("%s: %s", showOperation(list[i]), got)
		}
	}
	if text, err := os.ReadFile(in + "/f"); err != nil || string(text) != "kept" {
		t.Errorf("%q, %v", text, err)
	}
}
