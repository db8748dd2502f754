package spec

import (
	"encoding/json"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"brainbox/internal/strictjson"
)

// TestSpecs: every tool has words and a schema, and no schema lies about.
func TestSpecs(t *testing.T) {
	files, err := fs.ReadDir(schemas, "schema")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(words) || len(files) == 0 {
		t.Fatalf("%d schemas for %d tools", len(files), len(words))
	}
	for _, f := range files {
		if _, ok := Find(strings.TrimSuffix(path.Base(f.Name()), ".json")); !ok {
			t.Errorf("%s belongs to no tool", f.Name())
		}
	}
	for i, s := range All() {
		if s.Name != Names()[i] || !strictjson.ToolName(s.Name) {
			t.Errorf("tool %d is called %q", i, s.Name)
		}
		if s.Description == "" || s.Brief == "" || strings.ContainsAny(s.Description+s.Brief+s.Input, "\n\t\x1b") {
			t.Errorf("%s: words or schema missing, or not one line", s.Name)
		}
		if !json.Valid([]byte(s.Input)) {
			t.Errorf("%s: the schema is no JSON", s.Name)
		}
		root, err := strictjson.Decode([]byte(s.Input), strictjson.Limits{})
		if err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		if typ := root.Get("type"); typ == nil || typ.Text != "object" {
			t.Errorf("%s: the input is no object", s.Name)
		}
		sound(t, s.Name, root)
	}
}

// sound looks for what makes a schema useless: a word that no reader knows, a required
// field that is not described, an object that quietly takes what it does not know.
func sound(t *testing.T, where string, v *strictjson.Value) {
	t.Helper()
	known := []string{
		"type", "properties", "required", "additionalProperties", "items", "minItems", "maxItems", "minLength", "maxLength",
		"minimum", "maximum", "enum", "const", "anyOf", "pattern", "default", "description",
	}
	for i := range v.Members {
		m := &v.Members[i]
		if !slices.Contains(known, m.Key) {
			t.Errorf("%s: %q is no word of a schema that is used here", where, m.Key)
		}
		switch m.Key {
		case "properties":
			for j := range m.Value.Members {
				sound(t, where+"."+m.Value.Members[j].Key, &m.Value.Members[j].Value)
			}
		case "items":
			sound(t, where+"[]", &m.Value)
		case "anyOf":
			for j := range m.Value.Items {
				sound(t, where+"|", &m.Value.Items[j])
			}
		case "required":
			for _, r := range m.Value.Items {
				if v.Get("properties").Get(r.Text) == nil {
					t.Errorf("%s: %s is required and not described", where, r.Text)
				}
			}
		}
	}
	if v.Get("properties") != nil && v.Get("additionalProperties") == nil && where != AskUser && !strings.HasPrefix(where, AskUser+".") {
		t.Errorf("%s takes keys that it does not know", where)
	}
}

// TestFindExact: a name is found by its bytes and by nothing else.
func TestFindExact(t *testing.T) {
	if _, ok := Find("read_file"); !ok {
		t.Fatal("read_file is not found")
	}
	for _, name := range []string{"", "READ_FILE", "read_file ", "../read_file", "schema/read_file", GetCurrentLocation, ShowBlock, Prefix + "read_file"} {
		if _, ok := Find(name); ok {
			t.Errorf("%q is found", name)
		}
	}
}

// TestCopies: what is handed out can be changed without a trace.
func TestCopies(t *testing.T) {
	a := All()
	a[0] = Spec{Name: "x"}
	Names()[1] = "x"
	if All()[0].Name != AskUser || Names()[1] != AskUserList {
		t.Error("a caller changed the table")
	}
}

func TestPosture(t *testing.T) {
	bare := []string{
		"ask_user", "ask_user_list", "ask_user_rank", "ask_user_form",
		"get_current_location", "request_image_mask", "query_activity", "show_block",
	}
	t.Run("bk/BP1", func(t *testing.T) {
		if got := AllowedNames(false); !slices.Equal(got, bare) {
			t.Errorf("got %q", got)
		}
	})
	t.Run("bk/BP2", func(t *testing.T) {
		for i, got := range AllowedNames(true) {
			if got != "mcp__brain-ui__"+bare[i] {
				t.Errorf("got %q for %q", got, bare[i])
			}
		}
	})
	t.Run("bk/BP3", func(t *testing.T) {
		for i, name := range bare {
			for _, spelled := range []string{name, "mcp__brain-ui__" + name} {
				if c, ok := FindContract(spelled); !ok || c != Posture()[i] {
					t.Errorf("%q: %+v, %v", spelled, c, ok)
				}
			}
		}
	})
	t.Run("bk/BP4", func(t *testing.T) {
		for _, name := range []string{
			"mcp__brain-ui__nope", "ASK_USER", "", "mcp__brain-ui__", "mcp__brain-ui__mcp__brain-ui__ask_user", "MCP__brain-ui__ask_user",
			"ask_user ", "аsk_user", "turn_temp", "handleInboxTool",
		} {
			if c, ok := FindContract(name); ok {
				t.Errorf("%q is found: %+v", name, c)
			}
		}
	})
	t.Run("bk/BP5", func(t *testing.T) {
		p := Posture()
		p[0], p[7].Voice = Contract{Name: "bash", Voice: true}, false
		AllowedNames(false)[0] = "bash"
		if now := Posture(); now[0].Name != "ask_user" || !now[7].Voice || AllowedNames(false)[0] != "ask_user" {
			t.Error("a caller changed the posture")
		}
		if _, ok := FindContract("bash"); ok {
			t.Error("a caller added a tool")
		}
	})
}

// TestVoice: who can use a bridge tool without a screen is fixed by the contract.
func TestVoice(t *testing.T) {
	voice := map[string]bool{"ask_user": true, "get_current_location": true, "query_activity": true, "show_block": true}
	eyes := map[string]bool{"ask_user_list": true, "ask_user_rank": true, "ask_user_form": true, "request_image_mask": true}
	for _, c := range Posture() {
		if c.Voice != voice[c.Name] || c.Eyes != eyes[c.Name] {
			t.Errorf("%+v", c)
		}
	}
}
