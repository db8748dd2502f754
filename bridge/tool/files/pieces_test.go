package files

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"brainbox/dirchain"
)

// chunk is one piece of a file.
func chunk(path, whole string, from, to int) map[string]any {
	return in("root", "work", "path", path, "mode", "create", "data", base64.StdEncoding.EncodeToString([]byte(whole[from:to])), "encoding", "base64",
		"chunk", in("offset", from, "total", len(whole), "sha256", dirchain.Sum([]byte(whole)).String()))
}

// A file in pieces: contract bridge-and-gate §E.6.
func TestPieces(t *testing.T) {
	s := newShop(t, setup{})
	text := strings.Repeat("\x00\xff pieces ", 1000)
	for _, bad := range []map[string]any{
		chunk("src/big", text, 10, 20), // before the first
		in("path", "src/x", "mode", "create", "data", "x"),
		in("root", "other", "path", "src/x", "mode", "create", "data", "x"),
		in("root", "work", "path", "src/x", "mode", "truncate", "data", "x"),
		in("root", "work", "path", "src/x", "mode", "create", "data", "x", "expected_sha256", never),
		in("root", "work", "path", "src/x", "mode", "create", "data", "x", "perm", 0o4755),
		in("root", "work", "path", "src/x", "mode", "create", "data", "!", "encoding", "base64"),
		in("root", "work", "path", "src/x", "mode", "create", "data", "x", "chunk", in("offset", 0, "total", MaxPieced+1, "sha256", never)),
		in("root", "work", "path", "src/x", "mode", "create", "data", "xx", "chunk", in("offset", 0, "total", 1, "sha256", never)),
		in("root", "work", "path", "src/x", "mode", "create", "data", "", "chunk", in("offset", 0, "total", 1, "sha256", never)),
		in("root", "work", "path", "src/x", "mode", "create", "data", "x", "chunk", in("offset", 0, "total", 1, "sha256", never)), // not its hash
		in("root", "work", "path", ".git/x", "mode", "create", "data", "x", "chunk", in("offset", 0, "total", 2, "sha256", never)),
	} {
		if a := s.refused("fs.write", bad, s.call("fs.write", bad).code); a.code == "" {
			t.Errorf("%v was done", bad)
		}
	}
	before := s.tree()
	for _, p := range [][2]int{{0, 4000}, {4000, 9000}} {
		if a := s.call("fs.write", chunk("src/big", text, p[0], p[1])).want(t, ""); a.out["received"] != float64(p[1]) {
			t.Errorf("%v", a.out)
		}
	}
	s.call("fs.write", chunk("src/big", text, 4000, 5000)).want(t, "chunk_order")
	if s.tree() != before {
		t.Error("a piece made a file")
	}
	// Who is asked sees the last piece, and that there is more.
	if r := s.reading("fs.write", chunk("src/big", text, 9000, len(text))); r.Earlier != 9000 || r.Size != int64(len(text)) {
		t.Errorf("%d of %d bytes came before", r.Earlier, r.Size)
	}
	if r := s.reading("fs.write", chunk("src/one", text, 0, len(text))); r.Earlier != 0 {
		t.Errorf("%d bytes came before", r.Earlier)
	}
	a := s.call("fs.write", chunk("src/big", text, 9000, len(text))).want(t, "")
	if s.text("src/big") != text || a.out["sha256"] != dirchain.Sum([]byte(text)).String() {
		t.Errorf("%v", a.out)
	}
	p := s.tools["fs.write"].(*pieces)
	if len(p.all) != 0 || p.held != 0 {
		t.Errorf("kept: %d files, %d bytes", len(p.all), p.held)
	}
	s.call("fs.write", chunk("src/big2", text, len(text)-1, len(text))).want(t, "chunk_order")
}

// Modes, and what a plain write of the method may meet.
func TestWriteModes(t *testing.T) {
	s := newShop(t, setup{})
	old := dirchain.Sum([]byte(s.text("src/a.txt"))).String()
	w := func(mode, path string, more ...any) map[string]any {
		m := in("root", "work", "path", path, "mode", mode, "data", "new")
		for k, v := range in(more...) {
			m[k] = v
		}
		return m
	}
	s.refused("fs.write", w("create", "src/a.txt"), "stale_base")
	s.refused("fs.write", w("replace", "src/none"), "not_found")
	s.refused("fs.write", w("append", "src/none"), "not_found")
	s.refused("fs.write", w("replace", "src/a.txt", "expected_sha256", never), "stale_base")
	s.refused("fs.write", w("append", "src/a.txt", "expected_sha256", never), "stale_base")
	s.call("fs.write", w("append", "src/a.txt", "expected_sha256", old)).want(t, "")
	if got := s.text("src/a.txt"); got != "one\ntwo\nthree\nnew" {
		t.Errorf("%q", got)
	}
	s.call("fs.write", w("replace", "src/a.txt")).want(t, "")
	if got := s.text("src/a.txt"); got != "new" {
		t.Errorf("%q", got)
	}
	s.between = func() { _ = swap(s, "src", mkdirFile) }
	s.call("fs.write", w("replace", "src/a.txt")).want(t, "target_changed")
}

// What is kept of pieces has bounds, in number, in bytes and in time.
func TestPiecesBounds(t *testing.T) {
	s := newShop(t, setup{})
	p := s.tools["fs.write"].(*pieces)
	now := time.Now()
	p.now = func() time.Time { return now }
	begin := func(path string, total int) answer {
		return s.call("fs.write", in("root", "work", "path", path, "mode", "create", "data", "x",
			"chunk", in("offset", 0, "total", total, "sha256", never)))
	}
	begin("a", MaxPieced).want(t, "")
	begin("b", 2).want(t, "overloaded")
	begin("a", MaxPieced).want(t, "") // the same one anew
	now = now.Add(uploadIdle + time.Second)
	for _, name := range strings.Split("cdefghij", "") {
		begin(name, 10).want(t, "")
	}
	begin("k", 10).want(t, "overloaded")
	if p.held != 80 {
		t.Errorf("%d bytes are kept", p.held)
	}
	now = now.Add(uploadIdle + time.Second)
	begin("k", 10).want(t, "") // positive control: the oldest has gone
	if len(p.all) != maxUploads || p.held != 80 {
		t.Errorf("%d files, %d bytes are kept", len(p.all), p.held)
	}
}

// A call that waits for its decision holds no memory, and does not write other pieces than
// those that it was planned with.
func TestPiecesMeanwhile(t *testing.T) {
	s := newShop(t, setup{})
	p := s.tools["fs.write"].(*pieces)
	whole := strings.Repeat("piece", 100)
	send := func(from, to int) answer { return s.call("fs.write", chunk("src/f", whole, from, to)) }
	for name, meanwhile := range map[string]func(){
		"begun anew": func() { s.between = nil; send(0, 50).want(t, "") },
		"gone":       func() { p.drop(only(p)) },
	} {
		send(0, 100).want(t, "")
		s.between = meanwhile
		if send(100, 500).want(t, "chunk_order"); strings.Contains(s.tree(), "src/f") {
			t.Errorf("%s: it was written", name)
		}
		s.between = nil
	}
	send(0, 100).want(t, "")
	send(100, 500).want(t, "") // positive control
	if s.text("src/f") != whole || len(p.all) != 0 || p.held != 0 {
		t.Errorf("%q, %d files, %d bytes", s.text("src/f"), len(p.all), p.held)
	}
	r := s.reading("fs.write", chunk("src/g", whole, 0, 500)) // all in one piece
	if sum := dirchain.Sum([]byte(whole)); r.Size != 500 || string(r.Content) != string(sum[:]) {
		t.Errorf("%+v", r)
	}
	s.call("fs.write", chunk("src/g", whole, 0, 500)).want(t, "")
}

func only(p *pieces) upload {
	for u := range p.all {
		return u
	}
	return upload{}
}

// FuzzPlan: no input makes a tool do anything but refuse or plan, and what it plans has a
// place beneath its root.
func FuzzPlan(f *testing.F) {
	all := newShop(f, setup{})
	f.Add(`{"path":"src/a.txt","content":"x","base":null,"pattern":"(a|b)*","root":"work"}`)
	f.Add(`{"from":"a","to":"../b","replace":true}`)
	f.Add(`{"files":[{"path":"a","content":"","base":null}]}`)
	f.Add(`{"root":"work","path":"x","mode":"append","data":"eA==","encoding":"base64","chunk":{"offset":0,"total":1,"sha256":"` + never + `"}}`)
	f.Add(`{"path":"src/a.txt","old_string":"two","new_string":"$&","base":"` + never + `"}`)
	f.Fuzz(func(t *testing.T, text string) {
		s := *all
		s.t = t
		before := s.tree()
		for name, tl := range s.tools {
			v, err := decode(text)
			if err != nil {
				return
			}
			p, err := tl.Plan(v)
			if err != nil {
				if a := failed(err); a.code == "no refusal" || strings.ContainsFunc(a.message, func(r rune) bool { return r < ' ' || r == 0x7f }) {
					t.Errorf("%s: %+v", name, a)
				}
				continue
			}
			for _, target := range p.Reading().Targets {
				if strings.HasPrefix(target.Path, "..") || target.Base != s.dir && target.Path != s.dir {
					t.Errorf("%s: %+v", name, target)
				}
			}
		}
		if s.tree() != before {
			t.Error("planning changed a file")
		}
	})
}
