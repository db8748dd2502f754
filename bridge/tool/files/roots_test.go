package files

import (
	"os"
	"strings"
	"testing"

	"brainbox/dirchain"
)

func openRoot(t *testing.T, dir string) *dirchain.Root {
	t.Helper()
	r, err := dirchain.OpenRoot(dir, dirchain.Options{SkipSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// Roots that cannot be told apart, and what is no root.
func TestRootsRefuse(t *testing.T) {
	base := t.TempDir()
	for _, d := range []string{"/a/sub", "/ab", "/c"} {
		if err := os.MkdirAll(base+d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	a, sub, ab, c := openRoot(t, base+"/a"), openRoot(t, base+"/a/sub"), openRoot(t, base+"/ab"), openRoot(t, base+"/c")
	for name, list := range map[string][]Root{
		"none":             nil,
		"not open":         {{Name: "a"}},
		"no name":          {{Dir: a}},
		"a path as a name": {{Name: "../a", Dir: a}},
		"a long name":      {{Name: strings.Repeat("a", 65), Dir: a}},
		"one name":         {{Name: "a", Dir: a}, {Name: "a", Dir: c}},
		"one place":        {{Name: "a", Dir: a}, {Name: "b", Dir: a}},
		"in each other":    {{Name: "a", Dir: a}, {Name: "b", Dir: sub}},
		"known as another": {{Name: "a", Dir: a}, {Name: "b", Dir: c, At: base + "/a/x"}},
		"a relative place": {{Name: "a", Dir: a, At: "a"}},
		"everything":       {{Name: "a", Dir: a, At: "/"}},
		"a deny outside":   {{Name: "a", Dir: a, Deny: []string{"../x"}}},
		"a hidden root":    {{Name: "a", Dir: a, Hide: []string{"."}}},
	} {
		if rs, err := NewRoots(list...); err == nil {
			rs.Close()
			t.Errorf("%s: accepted", name)
		}
	}
	rs, err := NewRoots(Root{Name: "a", Dir: a}, Root{Name: "ab", Dir: ab}, Root{Name: "c", Dir: c}) // positive control
	if err != nil {
		t.Fatal(err)
	}
	rs.Close()
}

// A call names its root; each is judged, and met, in its own place.
func TestSeveralRoots(t *testing.T) {
	s := newShop(t, setup{})
	for _, d := range []string{"/lib", "/docs"} {
		if err := os.MkdirAll(s.outside+d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	work := s.roots.all[0].Dir
	lib, docs := openRoot(t, s.outside+"/lib"), openRoot(t, s.outside+"/docs")
	if err := os.WriteFile(s.outside+"/docs/d", []byte("docs"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.open(setup{}, Root{Name: "work", Dir: work}, Root{Name: "lib", Dir: lib}, Root{Name: "docs", Dir: docs, ReadOnly: true})
	s.link(s.outside+"/lib", "tolib")
	s.refused("write_file", in("root", "none", "path", "x", "content", "", "base", nil), "invalid_target")
	s.refused("write_file", in("root", "", "path", "x", "content", "", "base", nil), "invalid_request")
	s.refused("write_file", in("root", "docs", "path", "x", "content", "", "base", nil), "policy_denied")
	s.refused("write_file", in("path", "tolib/x", "content", "", "base", nil), "invalid_target") // a link from one to another
	s.refused("read_file", in("root", "lib", "path", "../secret"), "invalid_target")
	s.call("write_file", in("root", "lib", "path", "new/x", "content", "lib", "base", nil)).want(t, "")
	s.call("write_file", in("root", "work", "path", "x", "content", "work", "base", nil)).want(t, "")
	if got, err := os.ReadFile(s.outside + "/lib/new/x"); err != nil || string(got) != "lib" || s.text("x") != "work" {
		t.Errorf("%q, %v", got, err)
	}
	if a := s.call("read_file", in("root", "docs", "path", "d")).want(t, ""); a.out["text"] != "docs" {
		t.Errorf("%v", a.out)
	}
	if a := s.call("grep", in("root", "lib", "pattern", "lib")).want(t, ""); paths(a) != "new/x" {
		t.Errorf("%v", a.out)
	}
	r := s.reading("read_file", in("root", "docs", "path", "d"))
	if r.Value != s.outside+"/docs/d" || r.Targets[0].Base != s.outside+"/docs" {
		t.Errorf("%+v", r)
	}
	if way, err := s.roots.Resolve(t.Context(), s.dir+"/../outside/secret", false); err == nil {
		t.Errorf("resolved to %v", way)
	}
}

// No program of the host runs in the project, whatever lies there: esc/BR-09.
func TestNothingIsStarted(t *testing.T) {
	s := newShop(t, setup{root: func(r *Root) { r.Deny = nil }})
	marker := s.outside + "/marker"
	evil := "#!/bin/sh\ntouch " + marker + "\n"
	for _, name := range []string{".git/hooks/post-checkout", ".git/hooks/pre-commit", "git", "grep", "bash", "make"} {
		s.put(name, evil)
		if err := os.Chmod(s.dir+"/"+name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.put(".git/config", "[core]\n\tfsmonitor = \"touch "+marker+"\"\n\tpager = touch "+marker+"\n")
	s.put("Makefile", "all:\n\ttouch "+marker+"\n")
	t.Setenv("PATH", s.dir+":"+os.Getenv("PATH"))
	s.put("src/f", "x")
	for _, c := range []struct {
		tool  string
		input map[string]any
	}{
		{"read_file", in("path", "src/f")},
		{"grep", in("pattern", "x")},
		{"grep", in("pattern", "--pre=touch "+marker)},
		{"write_file", in("path", "src/g", "content", "x", "base", nil)},
		{"rename", in("from", "src/g", "to", "src/h")},
		{"remove", in("path", "src/h")},
		{"mkdir", in("path", "m")},
	} {
		s.call(c.tool, c.input).want(t, "")
	}
	if _, err := os.Lstat(marker); err == nil {
		t.Error("something ran")
	}
}

// Nothing but its own fields is in an input: esc/BR-08.
func TestNoOverrides(t *testing.T) {
	s := newShop(t, setup{})
	base := s.put("src/f", "x")
	for name, input := range map[string]map[string]any{
		"read_file": in("path", "src/f"), "grep": in("pattern", "x"), "write_file": in("path", "src/n", "content", "", "base", nil),
		"edit_file":    in("path", "src/f", "old_string", "x", "new_string", "y", "base", base),
		"apply_staged": in("files", []any{in("path", "src/n2", "content", "", "base", nil)}),
		"mkdir":        in("path", "m"), "rename": in("from", "src/n", "to", "src/o"), "remove": in("path", "src/o"),
		"fs.write": in("root", "work", "path", "src/p", "mode", "create", "data", ""),
	} {
		for _, key := range []string{"env", "cwd", "stdin", "fd", "Path", "follow", "force", "uid"} {
			input[key] = "x"
			if a := s.refused(name, input, "invalid_request"); !strings.Contains(a.message, key) {
				t.Errorf("%s: %q does not name %q", name, a.message, key)
			}
			delete(input, key)
		}
	}
	for _, name := range []string{"write_file", "edit_file", "rename", "remove"} { // positive controls, in this order
		input := map[string]map[string]any{
			"write_file": in("path", "src/n", "content", "", "base", nil), "rename": in("from", "src/n", "to", "src/o"), "remove": in("path", "src/o"),
			"edit_file": in("path", "src/f", "old_string", "x", "new_string", "y", "base", base),
		}[name]
		s.call(name, input).want(t, "")
	}
}
