package files

import (
	"encoding/base64"
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// What may not be read, naming the path that was submitted: bk/CT1, esc/BR-07.
func TestReadRefuses(t *testing.T) {
	s := newShop(t, setup{root: func(r *Root) { r.Hide = []string{".env", "keys", "later"} }})
	s.link(s.outside+"/secret", "out")
	s.link(s.outside, "outdir")
	s.link("loop", "loop")
	s.link("/proc/self/root"+s.outside+"/secret", "magic")
	s.link(s.outside+"/none", "dangling")
	s.link("src", "in")
	s.put("later", "hidden by its name")
	if err := unix.Mkfifo(s.dir+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(s.outside+"/secret", s.dir+"/hard"); err != nil {
		t.Fatal(err)
	}
	for path, code := range map[string]string{
		"../etc/passwd": "invalid_target", "/etc/passwd": "invalid_target", "../outside/secret": "invalid_target",
		"src/../../outside/secret": "invalid_target", "out": "invalid_target", "outdir/secret": "invalid_target",
		"magic": "invalid_target", "dangling": "invalid_target", "loop": "invalid_target", "a\x00b": "invalid_target",
		"a\\b": "invalid_target", "": "invalid_target", strings.Repeat("a", 1025): "invalid_target",
		"fifo": "alias_denied", "src": "alias_denied", ".": "alias_denied", "hard": "alias_denied",
		"none": "not_found", "src/none/x": "not_found", "src/a.txt/x": "invalid_target",
		"later": "policy_denied", "LATER": "policy_denied", ".env": "policy_denied", "src/../.env": "policy_denied", "keys/x": "policy_denied",
	} {
		for _, name := range []string{"read_file", "grep"} {
			input := in("path", path)
			if name == "grep" {
				if path == "src" || path == "." {
					continue // what grep is for
				}
				input["pattern"] = "."
			}
			want := code
			if name == "grep" && path == "hard" {
				continue // counted as unreadable, see TestGrep
			}
			a := s.call(name, input).want(t, want)
			if short := path; len(short) < 200 && !strings.Contains(a.message, quoted(short)) {
				t.Errorf("%s: %q does not name %q", name, a.message, path)
			}
		}
	}
	for path, want := range map[string]string{ // positive controls: a link inside, and text that stays inside
		"src/a.txt": "one\ntwo\nthree\n", "in/a.txt": "one\ntwo\nthree\n", "src/../src/./a.txt": "one\ntwo\nthree\n",
	} {
		if a := s.call("read_file", in("path", path)).want(t, ""); a.out["text"] != want {
			t.Errorf("%q: %v", path, a.out)
		}
	}
}

// What is hidden is so under another name too, that a program inside gave it.
func TestHiddenMoves(t *testing.T) {
	s := newShop(t, setup{root: func(r *Root) { r.Hide = []string{"conf/.env", "vault"} }})
	if a := s.call("read_file", in("path", "src/a.txt")); a.code != "" { // positive control
		t.Fatal(a)
	}
	s2 := newShop(t, setup{})
	for _, f := range []string{"conf/.env", "conf/plain", "vault/key"} {
		s2.put(f, "token=1")
	}
	s2.open(setup{}, Root{Name: "work", Dir: s2.roots.all[0].Dir, Hide: []string{"conf/.env", "vault"}})
	for from, to := range map[string]string{"conf": "moved", "vault": "open"} {
		if err := os.Rename(s2.dir+"/"+from, s2.dir+"/"+to); err != nil {
			t.Fatal(err)
		}
	}
	for path, code := range map[string]string{"moved/.env": "policy_denied", "open/key": "policy_denied", "moved/plain": ""} {
		s2.call("read_file", in("path", path)).want(t, code)
		s2.call("grep", in("path", path, "pattern", "token")).want(t, code)
	}
	a := s2.call("grep", in("pattern", "token")).want(t, "")
	if got := paths(a); got != "moved/plain" {
		t.Errorf("found in %q", got)
	}
	s2.put("judged/.env", "token=2") // plain, when it is judged
	s2.put("plain/key", "token=2")
	s2.between = func() {
		if err := errors.Join(exchange(s2.dir+"/judged", s2.dir+"/moved"), exchange(s2.dir+"/plain", s2.dir+"/open")); err != nil {
			t.Error(err)
		}
	}
	s2.call("read_file", in("path", "judged/.env")).want(t, "topology_changed")
	s2.between() // and back
	for _, path := range []string{"judged", "judged/.env", "plain", "plain/key", "."} {
		a := s2.call("grep", in("path", path, "pattern", "token=1"))
		if got := paths(a); got != "" && got != "moved/plain" && got != "judged/plain" {
			t.Errorf("grep in %q: %q %q", path, a.code, got)
		}
		s2.between()
	}
	s2.between = nil
	s2.call("read_file", in("path", "judged/.env")).want(t, "") // positive control
}

// How much is read, and as what: bk/CT2, bk/CT3, bk/F8.
func TestReadText(t *testing.T) {
	s := newShop(t, setup{})
	s.put("big", strings.Repeat("x", MaxRead+1))
	s.put("utf", strings.Repeat("é", MaxRead/2)+"é")
	s.put("odd", "x"+strings.Repeat("é", MaxRead/2))
	s.put("binary", "a\xffb")
	s.put("empty", "")
	for _, c := range []struct {
		path      string
		offset    int
		bytes     float64
		truncated bool
	}{
		{"big", 0, MaxRead, true},
		{"big", 1, MaxRead, false},
		{"big", MaxRead + 1, 0, false},
		{"big", 1 << 40, 0, false},
		{"utf", 0, MaxRead, true},
		{"odd", 0, MaxRead - 1, true},
		{"odd", MaxRead - 1, 2, false},
		{"empty", 0, 0, false},
	} {
		a := s.call("read_file", in("path", c.path, "offset", c.offset)).want(t, "")
		text, _ := a.out["text"].(string)
		if float64(len(text)) != c.bytes || a.out["bytes"] != c.bytes || a.out["truncated"] != c.truncated {
			t.Errorf("%s at %d: %d bytes, told %v, truncated %v", c.path, c.offset, len(text), a.out["bytes"], a.out["truncated"])
		}
	}
	s.call("read_file", in("path", "binary")).want(t, "encoding_invalid")
	s.call("read_file", in("path", "utf", "offset", 1)).want(t, "encoding_invalid") // within a character
	s.call("read_file", in("path", "utf", "limit", 1)).want(t, "encoding_invalid")  // less than one
	s.call("read_file", in("path", "utf", "limit", MaxRead+1)).want(t, "invalid_request")
	s.put("huge", "")
	if err := os.Truncate(s.dir+"/huge", 1<<40); err != nil {
		t.Fatal(err)
	}
	s.call("read_file", in("path", "huge")).want(t, "payload_too_large") // bk/F6: not read first
	a := s.call("read_file", in("path", "binary", "encoding", "base64")).want(t, "")
	if raw, err := base64.StdEncoding.DecodeString(a.out["data"].(string)); err != nil || string(raw) != "a\xffb" {
		t.Errorf("%q, %v", raw, err)
	}
}

// A pattern and a path are what they are: bk/CT4, bk/CT5, bk/CT6, bk/F4, bk/F5, esc/BR-05.
func TestGrep(t *testing.T) {
	s := newShop(t, setup{})
	s.put("-x", "-rf --include=* (\n@file")
	s.put("src/deep/b.txt", "two\n"+strings.Repeat("y", 2000)+"two")
	s.put(".git/config", "two")
	s.put("sub/.git/config", "two")
	s.put("bin", "two\x00")
	s.put("latin", "two\xff")
	s.put("esc\x1b[2J", "two")
	s.link("src/a.txt", "linked")
	if err := os.Link(s.outside+"/secret", s.dir+"/hard"); err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"-rf", "--include=\\*", "@file", "\\("} {
		for _, path := range []string{"-x", "."} {
			if a := s.call("grep", in("pattern", pattern, "path", path)).want(t, ""); paths(a) != "-x" {
				t.Errorf("%q in %q: %v", pattern, path, a.out)
			}
		}
	}
	for _, pattern := range []string{"(", "[", "a**", "\\1", "(?<x", "*"} {
		if a := s.call("grep", in("pattern", pattern)).want(t, "pattern_invalid"); a.message == "" {
			t.Error("no reason")
		}
	}
	a := s.call("grep", in("pattern", "two")).want(t, "")
	if paths(a) != "src/a.txt src/deep/b.txt src/deep/b.txt" || a.out["truncated"] != false {
		t.Errorf("%v", a.out)
	}
	if m := a.out["matches"].([]any)[0].(map[string]any); m["line"] != 2.0 || m["text"] != "two" {
		t.Errorf("%v", m)
	}
	if m := a.out["matches"].([]any)[2].(map[string]any); len(m["text"].(string)) != searchLine || m["cut"] != true {
		t.Errorf("%v", m)
	}
	if k := a.out["skipped"].(map[string]any); k["binary"] != 2.0 || k["unreadable"] != 2.0 {
		t.Errorf("skipped %v", k)
	}
	if a = s.call("grep", in("pattern", "the secret")).want(t, ""); len(a.out["matches"].([]any)) != 0 {
		t.Errorf("none is an empty list: %v", a.out)
	}
	if a = s.call("grep", in("pattern", "two", "max_results", 2)).want(t, ""); a.out["truncated"] != true || a.out["reason"] != "results" {
		t.Errorf("%v", a.out)
	}
	for _, bad := range []map[string]any{
		in("pattern", ""), in("pattern", strings.Repeat("a", MaxPattern+1)), in("pattern", "a", "max_results", MaxResults+1),
		in("pattern", "a", "env", map[string]any{}), in("pattern", "a", "cwd", "/"), in("path", "src"),
	} {
		s.call("grep", bad).want(t, "invalid_request")
	}
}

func paths(a answer) string {
	var all []string
	list, _ := a.out["matches"].([]any)
	for _, m := range list {
		all = append(all, m.(map[string]any)["path"].(string))
	}
	return strings.Join(all, " ")
}
