package files

import (
	"strings"
	"testing"
	"time"
)

// judged is a project whose rules are also asked about what lies beneath a folder.
func judged(t *testing.T, rules string) *shop {
	t.Helper()
	return newShop(t, setup{rules: rules})
}

// A search of a folder gives nothing of a file that the rules would not let be read.
func TestGrepAsksAboutFiles(t *testing.T) {
	for name, rules := range map[string]string{
		"denied":          `{"*":"allow","path_read":{"*.env":"deny"}}`,
		"asked about":     `{"*":"allow","path_read":{"*.env":"ask"}}`,
		"by the surface":  `{"*":"allow","grep":{"*":"allow","*.env":"deny"}}`,
		"asked, by grep":  `{"*":"allow","grep":{"*":"allow","*.env":"ask"}}`,
		"an agent's rule": `{"*":"allow","path_read":{"src/*.env":"deny"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := judged(t, rules)
			s.put("src/x.env", "KEY=hunter2 two\n")
			s.call("read_file", in("path", "src/x.env")) // whatever it gives, it is no reason below
			for _, input := range []map[string]any{in("pattern", "two"), in("pattern", "two", "path", "src"), in("pattern", "two", "path", "src/..")} {
				a := s.call("grep", input).want(t, "")
				if got := paths(a); strings.Contains(got, "x.env") || !strings.Contains(got, "src/a.txt") {
					t.Errorf("%v found %s", input, got)
				}
				if n := a.out["skipped"].(map[string]any)["withheld"]; n != 1.0 {
					t.Errorf("%v withheld", n)
				}
			}
		})
	}
}

// What is denied cannot be had under another name, nor moved, removed or overwritten with
// the folder that it is in.
func TestFoldersTakeNothingAlong(t *testing.T) {
	for _, c := range []struct {
		rules, tool string
		input       map[string]any
		code        string
	}{
		{`"path_read":{"*.env":"deny"}`, "rename", in("from", "src/x.env", "to", "src/plain"), "not allowed"},
		{`"path_read":{"*.env":"deny"}`, "rename", in("from", "src", "to", "other"), "policy_denied"},
		{`"path_read":{"src/*":"deny"}`, "rename", in("from", "src", "to", "other"), "policy_denied"},
		{`"path_write":{"src/deep/*":"deny"}`, "rename", in("from", "src", "to", "other"), "policy_denied"},
		{`"path_write":{"src/deep/*":"deny"}`, "remove", in("path", "src", "recursive", true), "policy_denied"},
		{`"path_write":{"src/deep/*":"ask"}`, "remove", in("path", "src", "recursive", true), "policy_denied"},
		{`"path_write":{"other/deep/*":"deny"}`, "rename", in("from", "src", "to", "other"), "policy_denied"},
		{`"write":{"*":"allow","src/deep/*":"deny"}`, "remove", in("path", "src", "recursive", true), "policy_denied"},
		{`"bash":"allow"`, "remove", in("path", "lib", "recursive", true), "policy_denied"}, // lib/.git
		{`"bash":"allow"`, "rename", in("from", "lib", "to", "other"), "policy_denied"},
		{`"bash":"allow"`, "rename", in("from", "made", "to", ".config"), "policy_denied"}, // .config/git
		{`"path_read":{"*.env":"deny"}`, "fs.write", in("root", "work", "path", "src/x.env", "mode", "append", "data", "x"), "not allowed"},
	} {
		t.Run(c.tool+" "+c.rules, func(t *testing.T) {
			s := judged(t, `{"*":"allow",`+c.rules+`}`)
			s.put("src/x.env", "KEY=hunter2\n")
			s.put("src/deep/er/f", "f")
			s.put("lib/.git/hooks/pre-commit", "#!/bin/sh\n")
			s.put("free/er/f", "f")
			s.call("fs.write", in("root", "work", "path", "made/git/config", "mode", "create", "data", "f")).want(t, "")
			s.refused(c.tool, c.input, c.code)
			s.call("rename", in("from", "free", "to", "freed")).want(t, "")
			s.call("remove", in("path", "freed", "recursive", true)).want(t, "")
		})
	}
}

// Without rules to ask, no folder is taken for what is in it.
func TestFoldersNeedRules(t *testing.T) {
	s := newShop(t, setup{})
	s.put("free/f", "two")
	s.roots.SetRules(nil, "")
	s.refused("grep", in("pattern", "two"), "policy_denied")
	s.refused("rename", in("from", "free", "to", "freed"), "policy_denied")
	s.refused("remove", in("path", "free", "recursive", true), "policy_denied")
	s.call("grep", in("pattern", "two", "path", "free/f")).want(t, "")
	s.call("rename", in("from", "free/f", "to", "f")).want(t, "")
	s.call("remove", in("path", "free")).want(t, "")
}

// A pattern whose repetitions make it long is refused before it is compiled, and a slow one
// ends with the time of the call, also within one line.
func TestGrepPatternBombs(t *testing.T) {
	s := newShop(t, setup{})
	s.put("src/line", strings.Repeat("a", 64<<10))
	began := time.Now()
	for _, p := range []string{
		strings.Repeat("(.?){1000}", 400), strings.Repeat("a{1000}", 500), `((a{10}){10}){10}` + strings.Repeat("(b{900,}){1}", 20),
	} {
		s.call("grep", in("pattern", p)).want(t, "pattern_invalid")
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("refusing took %v", took)
	}
	s.call("grep", in("pattern", `a{1000}$`, "path", "src/line")).want(t, "")

	v, err := decode(`{"pattern":"` + strings.Repeat("(.?){700}", 2) + `b"}`)
	if err != nil {
		t.Fatal(err)
	}
	c, err := planGrep(s.roots, v)
	if err != nil {
		t.Fatal(err)
	}
	f := &search{grep: c, began: time.Now().Add(50*time.Millisecond - searchTime)}
	began = time.Now()
	_ = f.lines(t.Context(), "src/line", []byte(strings.Repeat("a", 64<<10)))
	if took := time.Since(began); f.why != "time" || took > time.Minute {
		t.Errorf("%q after %v", f.why, took)
	}
	if c.size < 4000 {
		t.Errorf("the program has %d instructions", c.size)
	}
}
