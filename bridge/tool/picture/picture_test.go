package picture

import (
	"errors"
	"os"
	"strings"
	"testing"

	"brainbox/dirchain/mask"
	"brainbox/gate"
	"brainbox/internal/strictjson"
)

// Refused before a person is bothered, and without a trace: bk/MN3, bk/MN7.
func TestRefuses(t *testing.T) {
	for _, b := range []mask.Backend{mask.Claude, mask.Pi} {
		s := newStudio(t, b, allow)
		s.link(s.outside, "out")
		s.link(s.outside+"/none.png", "dangling.png")
		s.link("assets/raft.png", "l.png")
		own, err := b.MaskPath("assets/other.png")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(s.dir+"/assets/other.png", []byte("image"), 0o600); err != nil {
			t.Fatal(err)
		}
		s.link(s.outside+"/new.png", own)
		before := s.files()
		for _, c := range []struct {
			input map[string]any
			code  string
		}{
			{map[string]any{"imagePath": "../x.png"}, "invalid_target"},
			{map[string]any{"imagePath": "/etc/x.png"}, "invalid_target"},
			{map[string]any{"imagePath": "a\x00.png"}, "invalid_target"},
			{map[string]any{"imagePath": "out/x.png"}, "invalid_target"},
			{map[string]any{"imagePath": "dangling.png"}, "invalid_target"},
			{map[string]any{"imagePath": "assets/other.png"}, "invalid_target"},
			{map[string]any{"imagePath": "context/policies/crew.png"}, "policy_denied"},
			{map[string]any{"imagePath": "assets/none.png"}, "missing_image"},
			{map[string]any{"imagePath": "assets/raft.png", "instruction": strings.Repeat("i", 301)}, "invalid_request"},
			{map[string]any{"imagePath": "assets/raft.png", "maskPath": "assets/x.png"}, "invalid_request"},
			{map[string]any{"imagePath": 1}, "invalid_request"},
			{map[string]any{}, "invalid_request"},
		} {
			out, code, message := s.call(c.input)
			if code != c.code || !strings.HasPrefix(message, mask.ToolName) {
				t.Errorf("%v %v: %q (%s) %v, want %q", b, c.input, code, message, out, c.code)
			}
		}
		if len(s.person.asked) != 0 || s.files() != before {
			t.Errorf("%v: asked %q, files %s", b, s.person.asked, s.files())
		}
		if _, code, message := s.call(map[string]any{"imagePath": "assets/raft.png"}); code != "" { // positive control
			t.Errorf("%v: %q (%s)", b, code, message)
		}
	}
}

// Where the mask is written and what is told: bk/MN1, bk/MN2, bk/MN6.
func TestWrites(t *testing.T) {
	for _, c := range []struct {
		name, image, at, told string
		b                     mask.Backend
	}{
		{"plain", "assets/raft.png", "assets/raft-mask.png", "assets/raft-mask.png", mask.Claude},
		{"plain, Pi", "assets/raft.png", "assets/raft.mask.png", "assets/raft.mask.png", mask.Pi},
		{"bk/MN1 bk/MN6 through a link", "in/raft.png", "assets/raft-mask.png", "in/raft-mask.png", mask.Claude},
		{"bk/MN6 through a link, Pi", "in/raft.png", "assets/raft.mask.png", "assets/raft.mask.png", mask.Pi},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStudio(t, c.b, allow)
			s.link("assets", "in")
			out, code, message := s.call(map[string]any{"imagePath": c.image, "instruction": "the sky"})
			if code != "" || out["maskPath"] != c.told || out["imagePath"] != c.image || out["bytes"] != float64(len(png)) {
				t.Fatalf("%v, %q (%s)", out, code, message)
			}
			if got, err := os.ReadFile(s.dir + "/" + c.at); err != nil || string(got) != png {
				t.Errorf("%q, %v", got, err)
			}
			if len(s.person.asked) != 1 || !strings.HasSuffix(s.person.asked[0], ": the sky") || s.locked != 1 || len(s.results) != 1 {
				t.Errorf("asked %q, locked %d, recorded %d", s.person.asked, s.locked, len(s.results))
			}
		})
	}
	t.Run("bk/MN2 the root is configured through a link", func(t *testing.T) {
		s := newStudio(t, mask.Pi, allow)
		alias := t.TempDir() + "/alias"
		if err := os.Symlink(s.dir, alias); err != nil {
			t.Fatal(err)
		}
		var err error
		if s.tool, err = New(Config{Operation: s.op, Asker: s.person, Configured: alias}); err != nil {
			t.Fatal(err)
		}
		if out, code, message := s.call(map[string]any{"imagePath": "assets/raft.png"}); out["maskPath"] != s.dir+"/assets/raft.mask.png" {
			t.Errorf("%v, %q (%s)", out, code, message)
		}
	})
}

// A host that cannot ask, a turn without a screen, and a person who declines: bk/MN4, bk/MN5.
func TestWithoutMask(t *testing.T) {
	s := newStudio(t, mask.Claude, allow)
	before := s.files()
	for name, c := range map[string]Config{
		"nobody paints": {Operation: s.op}, "no screen": {Operation: s.op, Asker: s.person, Withheld: true},
	} {
		var err error
		if s.tool, err = New(c); err != nil || s.tool.Offered() {
			t.Fatal(name, err)
		}
		if _, code, message := s.call(map[string]any{"imagePath": "../x.png"}); code != "not_supported" || !strings.Contains(message, mask.ToolName) {
			t.Errorf("%s: %q (%s)", name, code, message)
		}
	}
	if _, err := New(Config{Asker: s.person}); err == nil {
		t.Error("nobody could write it")
	}
	s.tool, _ = New(Config{Operation: s.op, Asker: s.person})
	s.person.decline = errors.New("the person \x1b[2J closed the editor")
	if _, code, message := s.call(map[string]any{"imagePath": "assets/raft.png"}); code != "declined" || !strings.Contains(message, "in words") || strings.Contains(message, "\x1b") {
		t.Errorf("%q (%s)", code, message)
	}
	s.person.decline, s.person.png = nil, "GIF89a"
	if _, code, _ := s.call(map[string]any{"imagePath": "assets/raft.png"}); code != "invalid_png" {
		t.Errorf("%q", code)
	}
	if s.files() != before || len(s.person.asked) != 2 {
		t.Errorf("files %s, asked %q", s.files(), s.person.asked)
	}
}

// What changes while the person paints, or right after the decision: bk/HM9, bk/M33, esc/BR-07.
func TestMeanwhile(t *testing.T) {
	away := func(s *studio) error { return os.Rename(s.dir+"/assets", s.dir+"/away") }
	another := func(s *studio) error {
		return errors.Join(away(s), os.Mkdir(s.dir+"/assets", 0o755), os.WriteFile(s.dir+"/assets/raft.png", []byte("image"), 0o600))
	}
	for name, c := range map[string]struct {
		change func(s *studio) error
		code   string
	}{
		"the image":             {func(s *studio) error { return os.WriteFile(s.dir+"/assets/raft.png", []byte("new"), 0o600) }, "stale_base"},
		"another directory":     {another, "topology_changed"},
		"the directory, a link": {func(s *studio) error { return errors.Join(away(s), os.Symlink("context/policies", s.dir+"/assets")) }, "topology_changed"},
	} {
		for _, when := range []string{"painting", "decided"} {
			if name == "the image" && when == "decided" {
				continue // the person sees the new one
			}
			s := newStudio(t, mask.Claude, allow)
			do := func() {
				if err := c.change(s); err != nil {
					t.Error(err)
				}
			}
			if when == "painting" {
				s.person.then = do
			} else {
				s.between = do
			}
			_, code, message := s.call(map[string]any{"imagePath": "assets/raft.png"})
			if code != c.code && (when != "decided" || code != "policy_denied") { // it is derived anew
				t.Errorf("%s, %s: %q (%s), want %q", name, when, code, message, c.code)
			}
			if strings.Contains(s.files(), "mask") {
				t.Errorf("%s, %s: %s", name, when, s.files())
			}
		}
	}
}

// The gate decides about both places: bk/CT20; and Do is for its decision alone.
func TestGate(t *testing.T) {
	for name, rules := range map[string]string{
		"the tool": `{"*":"allow","request_image_mask":"deny"}`, "the mask": `{"*":"allow","path_write":{"*-mask.png":"deny"}}`,
		"the image": `{"*":"allow","path_read":{"*raft.png":"deny"}}`, "nobody": `{"*":"ask"}`,
	} {
		s := newStudio(t, mask.Claude, rules)
		if _, code, message := s.call(map[string]any{"imagePath": "assets/raft.png"}); code != "not allowed" || len(s.person.asked) != 0 {
			t.Errorf("%s: %q (%s), asked %q", name, code, message, s.person.asked)
		}
	}
	s := newStudio(t, mask.Claude, allow)
	v := strictjson.Object(strictjson.Pair("imagePath", strictjson.Text("assets/raft.png")))
	p, err := s.tool.Plan(&v)
	if err != nil {
		t.Fatal(err)
	}
	for name, d := range map[string]*gate.Decision{"none": nil, "zero": {}, "nothing held": {Allowed: true, Reading: p.Reading()}} {
		if _, err := p.Do(t.Context(), d); err == nil || len(s.person.asked) != 0 {
			t.Errorf("%s: %v, asked %q", name, err, s.person.asked)
		}
	}
	if p.Locks() != nil {
		t.Errorf("locks %v while a person paints", p.Locks())
	}
}
