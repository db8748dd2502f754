package files

import (
	"os"
	"strings"
	"testing"

	"brainbox/dirchain"
)

const never = "0000000000000000000000000000000000000000000000000000000000000000"

// Where nothing is written: bk/CT11, bk/CT12, bk/F7, esc/BR-07.
func TestWriteRefuses(t *testing.T) {
	s := newShop(t, setup{root: func(r *Root) { r.Hide = []string{".env"} }})
	base := s.put("src/real", "real")
	s.put("hooked", "x")
	s.link("src", "in")
	s.link("src/real", "toreal")
	s.link(s.outside, "outdir")
	s.link(s.outside+"/new", "dangling")
	if err := os.Link(s.outside+"/secret", s.dir+"/hard"); err != nil {
		t.Fatal(err)
	}
	secret := dirchain.Sum([]byte("the secret")).String()
	for path, code := range map[string]string{
		"../x": "invalid_target", "/x": "invalid_target", "src/../x": "invalid_target", "": "invalid_target", ".": "invalid_target",
		"src//x": "invalid_target", "src/": "invalid_target", "a\x00b": "invalid_target", "a\nb": "invalid_target",
		".git/config": "policy_denied", ".GIT/config": "policy_denied", ".git": "policy_denied", ".brain/x": "policy_denied",
		"context/policies/p": "policy_denied", "context/\uff50olicies/p": "policy_denied", ".env": "policy_denied", ".brain/scratch/../x": "invalid_target",
		"in/x": "alias_denied", "outdir/x": "invalid_target", "dangling": "invalid_target", "toreal": "alias_denied", "src/real/x": "invalid_target",
	} {
		s.refused("write_file", in("path", path, "content", "evil", "base", nil), code)
		if path != "dangling" && path != "outdir/x" {
			s.refused("fs.write", in("root", "work", "path", path, "mode", "create", "data", "evil"), code)
		}
		s.refused("apply_staged", in("files", []any{
			in("path", "src/good", "content", "good", "base", nil), in("path", path, "content", "evil", "base", nil),
		}), code)
	}
	s.refused("write_file", in("path", "hard", "content", "evil", "base", secret), "alias_denied")
	s.refused("edit_file", in("path", "hard", "old_string", "the", "new_string", "a", "base", secret), "alias_denied")
	s.refused("edit_file", in("path", "in/real", "old_string", "real", "new_string", "a", "base", base), "alias_denied")
	for _, path := range []string{"new", "src/new", ".brain/scratch/new", "deep/er/new"} { // positive controls
		s.call("write_file", in("path", path, "content", "good", "base", nil)).want(t, "")
		if got := s.text(path); got != "good" {
			t.Errorf("%s is %q", path, got)
		}
	}
}

// What is replaced is what was read: bk/CT10, bk/CT9, bk/F6.
func TestWriteBase(t *testing.T) {
	s := newShop(t, setup{})
	base := dirchain.Sum([]byte("one\ntwo\nthree\n")).String()
	s.refused("write_file", in("path", "src/a.txt", "content", "x", "base", nil), "stale_base")
	s.refused("write_file", in("path", "src/a.txt", "content", "x", "base", never), "stale_base")
	s.refused("write_file", in("path", "src/none", "content", "x", "base", base), "not_found")
	s.refused("write_file", in("path", "src/a.txt", "content", "x"), "invalid_request")
	s.refused("write_file", in("path", "src/a.txt", "content", "x", "base", strings.ToUpper(base)), "invalid_request")
	s.refused("write_file", in("path", "src/a.txt", "content", strings.Repeat("x", MaxContent+1), "base", base), "payload_too_large")
	if err := os.Chmod(s.dir+"/src/a.txt", 0o640); err != nil {
		t.Fatal(err)
	}
	a := s.call("write_file", in("path", "src/a.txt", "content", "$& \\1\x00\n", "base", base)).want(t, "")
	if got := s.text("src/a.txt"); got != "$& \\1\x00\n" || a.out["sha256"] != dirchain.Sum([]byte(got)).String() || a.out["created"] != false {
		t.Errorf("%q, told %v", got, a.out)
	}
	if st, err := os.Stat(s.dir + "/src/a.txt"); err != nil || st.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	s.refused("write_file", in("path", "src/a.txt", "content", "y", "base", base), "stale_base")
	s.call("write_file", in("path", "src/b", "content", strings.Repeat("x", 900<<10), "base", nil)).want(t, "")
	if got := len(s.text("src/b")); got != 900<<10 {
		t.Errorf("%d bytes", got)
	}
}

// An edit is literal and unambiguous: bk/CT7, bk/CT8, bk/CT9, bk/F1, bk/F2, bk/F3.
func TestEdit(t *testing.T) {
	s := newShop(t, setup{})
	edit := func(old, text, base string) map[string]any {
		return in("path", "f", "old_string", old, "new_string", text, "base", base)
	}
	base := s.put("f", "OLD aaa end end")
	for _, c := range []struct{ old, code, says string }{
		{"none", "match_failed", "found 0 times"},
		{"end", "match_failed", "found 2 times"},
		{"aa", "match_failed", "found 2 times"},
		{"", "invalid_request", "old_string"},
	} {
		if a := s.refused("edit_file", edit(c.old, "x", base), c.code); !strings.Contains(a.message, c.says) {
			t.Errorf("%q: %q does not say %q", c.old, a.message, c.says)
		}
	}
	s.refused("edit_file", edit("OLD", "x", never), "stale_base")
	s.refused("edit_file", in("path", "f", "old_string", "OLD", "new_string", "x"), "invalid_request")
	s.refused("edit_file", in("path", "f", "old_string", "OLD", "new_string", "x", "base", nil), "invalid_request")
	for _, text := range []string{"$&-$$", "\\1", "$`", "$1${x}", "%s", ""} {
		base = s.put("f", "<OLD>")
		s.call("edit_file", edit("OLD", text, base)).want(t, "")
		if got := s.text("f"); got != "<"+text+">" {
			t.Errorf("%q: %q", text, got)
		}
	}
	base = s.put("f", "OLD")
	s.put("f", "changed since OLD")
	s.refused("edit_file", edit("OLD", "x", base), "stale_base")
}

// Several files, or none: contract brainkit §8.3, bk/M36.
func TestStaged(t *testing.T) {
	s := newShop(t, setup{})
	base := s.put("src/old", "old")
	one := func(path, text string, base any) map[string]any {
		return in("path", path, "content", text, "base", base)
	}
	for name, c := range map[string]struct {
		files []any
		code  string
	}{
		"none":            {[]any{}, "invalid_request"},
		"one is stale":    {[]any{one("new/a", "a", nil), one("src/old", "x", never)}, "stale_base"},
		"one exists":      {[]any{one("new/a", "a", nil), one("src/old", "x", nil)}, "stale_base"},
		"one path twice":  {[]any{one("new/a", "a", nil), one("new/a", "b", nil)}, "invalid_request"},
		"one in another":  {[]any{one("new", "a", nil), one("new/a", "b", nil)}, "invalid_request"},
		"a key too many":  {[]any{in("path", "new/a", "content", "a", "base", nil, "mode", 1)}, "invalid_request"},
		"one is too long": {[]any{one("new/a", strings.Repeat("x", MaxContent+1), nil)}, "payload_too_large"},
	} {
		if a := s.refused("apply_staged", in("files", c.files), c.code); a.code == "" {
			t.Errorf("%s was done", name)
		}
	}
	many := []any{}
	for range 33 {
		many = append(many, one("x", "", nil))
	}
	s.refused("apply_staged", in("files", many), "invalid_request")
	a := s.call("apply_staged", in("files", []any{one("new/a", "A", nil), one("src/old", "new", base), one("new/b", "B", nil)})).want(t, "")
	if got := s.text("new/a") + s.text("src/old") + s.text("new/b"); got != "AnewB" || a.out["complete"] != true {
		t.Errorf("%q, %v", got, a.out)
	}
	if f := a.out["files"].([]any); len(f) != 3 || f[1].(map[string]any)["sha256"] != dirchain.Sum([]byte("new")).String() {
		t.Errorf("%v", f)
	}
}

// Entries: what is judged and moved is the link, not what it leads to.
func TestEntries(t *testing.T) {
	s := newShop(t, setup{root: func(r *Root) { r.Hide = []string{"keep/hidden"} }})
	base := s.put("src/f", "f")
	s.put("keep/hidden/x", "x")
	s.put("full/a", "a")
	s.link(s.outside, "outdir")
	s.link("src", "in")
	for _, c := range []struct {
		tool  string
		input map[string]any
		code  string
	}{
		{"mkdir", in("path", "src"), "exists"},
		{"mkdir", in("path", "src/f", "parents", true), "exists"},
		{"mkdir", in("path", "a/b"), "not_found"},
		{"mkdir", in("path", "in/x"), "alias_denied"},
		{"mkdir", in("path", ".git/x"), "policy_denied"},
		{"mkdir", in("path", "../x"), "invalid_target"},
		{"mkdir", in("path", "x", "mode", 511), "invalid_request"},
		{"mkdir", in("path", "outdir/x"), "invalid_target"},
		{"rename", in("from", "none", "to", "x"), "not_found"},
		{"rename", in("from", "src/f", "to", "src/a.txt"), "exists"},
		{"rename", in("from", "src/f", "to", ".git/hooks/post-commit"), "policy_denied"},
		{"rename", in("from", ".git", "to", "x"), "policy_denied"},
		{"rename", in("from", "context", "to", "x"), "policy_denied"},
		{"rename", in("from", "keep", "to", "x"), "policy_denied"},
		{"rename", in("from", "src/f", "to", "in/g"), "alias_denied"},
		{"rename", in("from", "src", "to", "src/x/y"), "not_found"},
		{"rename", in("from", "src/f", "to", "g", "base", never), "stale_base"},
		{"rename", in("from", "src/f", "to", "outdir/g"), "invalid_target"},
		{"remove", in("path", "none"), "not_found"},
		{"remove", in("path", "full"), "not_empty"},
		{"remove", in("path", "src/f", "base", never), "stale_base"},
		{"remove", in("path", "keep", "recursive", true), "policy_denied"},
		{"remove", in("path", ".git", "recursive", true), "policy_denied"},
		{"remove", in("path", "in/f"), "alias_denied"},
		{"remove", in("path", "outdir/secret"), "invalid_target"},
		{"remove", in("path", "."), "invalid_target"},
		{"remove", in("path", "full", "recursive", true, "base", base), "invalid_request"},
	} {
		s.refused(c.tool, c.input, c.code)
	}
	for _, c := range []struct {
		tool  string
		input map[string]any
	}{
		{"mkdir", in("path", "made")},
		{"mkdir", in("path", "m/n/o", "parents", true)},
		{"mkdir", in("path", "m/n/o", "parents", true)},
		{"rename", in("from", "src/f", "to", "made/g", "base", base)},
		{"rename", in("from", "made/g", "to", "src/a.txt", "replace", true)},
		{"rename", in("from", "outdir", "to", "still-a-link")},
		{"remove", in("path", "still-a-link")},
		{"remove", in("path", "src/a.txt", "base", base)},
		{"remove", in("path", "full", "recursive", true)},
		{"remove", in("path", "in", "recursive", true)},
	} {
		s.call(c.tool, c.input).want(t, "")
	}
	got := s.tree()
	for _, gone := range []string{"full", "still-a-link", "work/in", "a.txt"} {
		if strings.Contains(got, gone) {
			t.Errorf("%s is there:\n%s", gone, got)
		}
	}
	for _, there := range []string{"outside/secret=the secret", "work/m/n/o ", "work/src "} {
		if !strings.Contains(got, there) {
			t.Errorf("%s is not there:\n%s", there, got)
		}
	}
}
