package ask

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"brainbox/internal/strictjson"
)

const options = `"options":[{"label":"yes"},{"label":"no"}]`

func form(nodes ...string) string {
	return `{"prompt":"p","nodes":[` + strings.Join(nodes, ",") + `]}`
}

// node is one of a form; more begins with a comma or is empty.
func node(kind, id, more string) string {
	q, _ := json.Marshal(id)
	return fmt.Sprintf(`{"kind":%q,"id":%s,"prompt":"p"%s}`, kind, q, more)
}

func single(id, more string) string { return node("single", id, ","+options+more) }

func showIf(id, label string) string {
	return fmt.Sprintf(`,"showIf":{"node":%q,"anyOf":[%q]}`, id, label)
}

const optional = `,"required":false`

// answering is a set whose person answers the form with this text.
func answering(t *testing.T, answers string) *Set {
	t.Helper()
	return newSet(t, Config{Host: formHost(func(r FormRequest) (json.RawMessage, error) {
		for i := range r.Nodes { // what a host does with its copy is no matter
			for j := range r.Nodes[i].Options {
				r.Nodes[i].Options[j].Label = "changed"
			}
			for j := range r.Nodes[i].Items {
				r.Nodes[i].Items[j].ID = "changed"
			}
			if r.Nodes[i].ShowIf != nil {
				r.Nodes[i].ShowIf.AnyOf[0] = "changed"
			}
			r.Nodes[i].ID = "changed"
		}
		return json.RawMessage(`{"answers":` + answers + `,"visibleNodes":["a","b","zz"]}`), nil
	})})
}

func TestForm(t *testing.T) {
	result := func(id, input, answers, want string) {
		t.Run(id, func(t *testing.T) { wantResult(t, answering(t, answers), "ask_user_form", input, want) })
	}
	refuse := func(id, input, answers string, words ...string) {
		t.Run(id, func(t *testing.T) {
			wantRefusal(t, answering(t, answers), "ask_user_form", input, CodeAnswer, words...)
		})
	}
	child := form(single("a", ""), node("text", "b", showIf("a", "yes")))
	result("bk/AF1", child, `{"a":{"value":"yes"},"b":" hello "}`, `{"answers":{"a":{"value":"yes"},"b":"hello"},"visibleNodes":["a","b"]}`)
	result("bk/AF2", child, `{"a":{"value":"no"},"b":{"malformed":[1]}}`, `{"answers":{"a":{"value":"no"}},"visibleNodes":["a"]}`)
	result("bk/AF3", child, `{"a":{"value":"yes","other":true},"b":7}`, `{"answers":{"a":{"value":"yes","other":true}},"visibleNodes":["a"]}`)
	multi := form(node("multi", "a", ","+options), node("text", "b", showIf("a", "yes")))
	result("bk/AF3 multi", multi, `{"a":{"values":["no"],"other":"yes"},"b":7}`, `{"answers":{"a":{"values":["no"],"other":"yes"}},"visibleNodes":["a"]}`)
	result("multi shows", multi, `{"a":{"values":["no","yes"]},"b":"x"}`, `{"answers":{"a":{"values":["no","yes"]},"b":"x"},"visibleNodes":["a","b"]}`)

	refuse("bk/AF9", form(node("text", "a", ""), node("text", "why", "")), `{"a":"x","why":" \n"}`, `"why"`, "required")
	refuse("bk/AF9 missing", form(node("text", "why", "")), `{}`, `"why"`)
	refuse("bk/AF9 null", form(single("why", "")), `{"why":null}`, `"why"`)
	refuse("bk/AF9 blank other", form(single("why", "")), `{"why":{"value":" ","other":true}}`, `"why"`)
	refuse("bk/AF9 nothing of many", form(node("multi", "why", ","+options)), `{"why":{"values":[],"other":" "}}`, `"why"`)
	result("bk/AF10", form(node("text", "a", optional), single("b", optional)), `{"a":"  "}`, `{"answers":{},"visibleNodes":["a","b"]}`)
	refuse("bk/AF11 twice", form(node("multi", "a", ","+options)), `{"a":{"values":["yes","yes"]}}`, `"a"`, "twice")
	refuse("bk/AF11 unknown", form(node("multi", "a", ","+options)), `{"a":{"values":["yes","Yes"]}}`, `"a"`, "offered")

	rank := form(node("rank", "a", `,"items":`+items("x", "y")))
	result("bk/AF12", rank, `{}`, `{"answers":{"a":{"order":["x","y"],"unchanged":true}},"visibleNodes":["a"]}`)
	result("bk/AF12 touched", rank, `{"a":{"order":["y","x"],"unchanged":true}}`, `{"answers":{"a":{"order":["y","x"],"unchanged":false}},"visibleNodes":["a"]}`)

	proto := form(single("__proto__", ""), node("text", "constructor", showIf("__proto__", "yes")+optional))
	result("bk/AF13", proto, `{"__proto__":{"value":"yes"}}`, `{"answers":{"__proto__":{"value":"yes"}},"visibleNodes":["__proto__","constructor"]}`)
	refuse("bk/AF13 unanswered", proto, `{}`, `"__proto__"`, "required")

	grand := form(single("a", ""), single("b", showIf("a", "yes")), node("text", "c", showIf("b", "yes")))
	result("bk/AF15", grand, `{"a":{"value":"no"},"b":{"value":"yes"},"c":"x"}`, `{"answers":{"a":{"value":"no"}},"visibleNodes":["a"]}`)
	result("bk/AF15 all shown", grand, `{"a":{"value":"yes"},"b":{"value":"yes"},"c":"x"}`,
		`{"answers":{"a":{"value":"yes"},"b":{"value":"yes"},"c":"x"},"visibleNodes":["a","b","c"]}`)
	// An optional parent that was not answered hides its child.
	result("unanswered parent", form(single("a", optional), node("text", "b", showIf("a", "yes"))), `{"b":"x"}`, `{"answers":{},"visibleNodes":["a"]}`)

	scale := func(more string) string {
		return form(node("scale", "a", `,"scale":`+goodBad+`,"items":`+items("x", "__proto__")+more))
	}
	result("scale", scale(`,"notes":true`), `{"a":{"answers":{"x":"good","__proto__":"bad","z":"good"},"notes":{"x":" n "},"skipped":["x"]}}`,
		`{"answers":{"a":{"answers":{"x":"good","__proto__":"bad"},"skipped":[],"notes":{"x":"n"}}},"visibleNodes":["a"]}`)
	refuse("a required scale needs each row", scale(""), `{"a":{"answers":{"x":"good"}}}`, `"a"`, "required")
	refuse("a label off the scale is no answer", scale(""), `{"a":{"answers":{"x":"good","__proto__":"Good"}}}`, `"a"`, "required")
	result("an optional scale does not", scale(optional), `{"a":{"answers":{"x":"good"},"notes":{"x":7}}}`,
		`{"answers":{"a":{"answers":{"x":"good"},"skipped":["__proto__"]}},"visibleNodes":["a"]}`)
	result("and nothing is nothing", scale(optional), `{"a":{"answers":{}}}`, `{"answers":{},"visibleNodes":["a"]}`)
}

// TestFormShapes: an answer of another shape is refused for every kind, and what is not JSON
// for all.
func TestFormShapes(t *testing.T) {
	kinds := map[string]string{
		"single": single("a", ""), "multi": node("multi", "a", ","+options), "text": node("text", "a", ""),
		"scale": node("scale", "a", `,"notes":true,"scale":`+goodBad+`,"items":`+items("x")), "rank": node("rank", "a", `,"items":`+items("x", "y")),
	}
	good := map[string]string{
		"single": `{"value":"yes","other":false}`, "multi": `{"values":["yes"],"other":"x"}`, "text": `"x"`, "scale": `{"answers":{"x":"good"}}`, "rank": `{"order":["y","x"]}`,
	}
	shapes := []string{`1`, `true`, `[]`, `{}`, `[["x"]]`, `{"value":1}`, `{"values":"yes"}`, `{"values":[1]}`, `{"answers":[]}`, `{"answers":{"x":1}}`, `{"order":"x"}`, `{"order":[1,2]}`, `{"order":["x"]}`}
	own := map[string][]string{
		"single": {`{"value":"yes","other":"yes"}`, `{"value":"maybe"}`, `{"value":"` + strings.Repeat("x", 4001) + `","other":true}`, `"yes"`},
		"multi":  {`{"values":["yes"],"other":true}`, `{"values":["yes"],"other":"` + strings.Repeat("x", 4001) + `"}`, `["yes"]`},
		"text":   {`"` + strings.Repeat("x", 281) + `"`, `"` + strings.Repeat("\U0001F600", 141) + `"`, `{"value":"x"}`},
		"scale":  {`{"answers":{"x":"good"},"notes":[]}`, `{"answers":{"x":"good"},"notes":{"x":1}}`, `"good"`},
		"rank":   {`{"order":["x","x"]}`, `{"order":["x","y","x"]}`, `["x","y"]`},
	}
	for kind, n := range kinds {
		t.Run("bk/AF14 "+kind, func(t *testing.T) {
			if _, err := call(t, answering(t, `{"a":`+good[kind]+`}`), "ask_user_form", form(n)); err != nil {
				t.Errorf("the control: %v", err)
			}
			for _, bad := range append(shapes, own[kind]...) {
				wantRefusal(t, answering(t, `{"a":`+bad+`}`), "ask_user_form", form(n), CodeAnswer, `"a"`)
			}
		})
	}
	for _, raw := range []string{``, `null`, `{}`, `[]`, `{"answers":[]}`, `{"answers":{"a":"x","a":"y"}}`, `{"answers":{"a":"x"}} 1`, `{"answers":{"a":"` + "\xff" + `"}}`} {
		s := newSet(t, Config{Host: formHost(func(FormRequest) (json.RawMessage, error) { return json.RawMessage(raw), nil })})
		wantRefusal(t, s, "ask_user_form", form(kinds["text"]), CodeAnswer)
	}
}

func TestFormInput(t *testing.T) {
	s := newSet(t, Config{Host: never{t}})
	refuse := func(id, input, code string, words ...string) {
		t.Run(id, func(t *testing.T) { wantRefusal(t, s, "ask_user_form", input, code, words...) })
	}
	rank := node("rank", "a", `,"items":`+items("x", "y"))
	refuse("bk/AF4 later", form(node("text", "b", showIf("a", "yes")), single("a", "")), fieldInvalid, `"b"`, "no earlier")
	refuse("bk/AF4 itself", form(single("a", showIf("a", "yes"))), fieldInvalid, "no earlier")
	refuse("bk/AF4 unknown", form(single("a", ""), node("text", "b", showIf("z", "yes"))), fieldInvalid, `"z"`)
	refuse("bk/AF4 rank", form(rank, node("text", "b", showIf("a", "x"))), fieldInvalid, "neither single nor multi")
	refuse("bk/AF4 label", form(single("a", ""), node("text", "b", showIf("a", "Yes"))), fieldInvalid, `"Yes"`)
	refuse("no label", form(single("a", ""), node("text", "b", `,"showIf":{"node":"a","anyOf":[]}`)), fieldInvalid, "anyOf")
	refuse("bk/AF6 13 nodes", form(strings.Split(nodes(13), "\n")...), fieldInvalid, "12 nodes")
	refuse("bk/AF6 nine options", form(node("single", "a", `,"options":`+labelled(9))), fieldInvalid, "8 options")
	for _, l := range []string{"Other", "OTHER", "other", " oTher "} {
		refuse("bk/AF8 "+l, form(node("multi", "a", fmt.Sprintf(`,"options":[{"label":"x"},{"label":%q}]`, l))), fieldInvalid, strings.TrimSpace(l))
	}
	refuse("node id twice", form(single("a", ""), single("a", "")), fieldInvalid, `"a"`, "twice")
	refuse("label twice", form(node("single", "a", `,"options":[{"label":"x"},{"label":"x"}]`)), fieldInvalid, `"x"`, "twice")
	refuse("item id twice", form(node("rank", "a", `,"items":`+items("x", "x"))), fieldInvalid, `"x"`, "twice")
	refuse("scale label twice", form(node("scale", "a", `,"scale":[{"label":"x"},{"label":"x"}],"items":`+items("x"))), fieldInvalid, `"x"`, "twice")
	refuse("cutoff", form(node("rank", "a", `,"cutoff":3,"items":`+items("x", "y"))), fieldInvalid, "cutoff")
	refuse("kind", form(node("date", "a", "")), fieldInvalid, "kind")
	refuse("no kind", form(`{"id":"a","prompt":"p"}`), fieldInvalid, "kind")
	refuse("a field of another kind", form(node("text", "a", ","+options)), unknownField, "options")
	refuse("one option", form(node("single", "a", `,"options":[{"label":"x"}]`)), fieldInvalid, "options")
	refuse("empty header", form(single("a", `,"header":""`)), fieldInvalid, "header")
	refuse("preview of 4001", form(node("single", "a", `,"options":[{"label":"x","preview":"`+strings.Repeat("x", 4001)+`"},{"label":"y"}]`)), fieldInvalid, "preview")
	refuse("no node", form(), fieldInvalid, "nodes")
	refuse("nodes no array", `{"prompt":"p","nodes":{}}`, fieldInvalid, "nodes")
	refuse("node no object", form(`7`), schemaInvalid)
	refuse("unknown key", `{"prompt":"p","node":[],"nodes":[`+single("a", "")+`]}`, unknownField, "node")
}

// nodes are n text nodes, one a line.
func nodes(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(node("text", fmt.Sprint("n", i), "") + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// labelled are n options, or a scale of n.
func labelled(n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf(`{"label":"l%d"}`, i))
	}
	return "[" + strings.Join(out, ",") + "]"
}

func TestFormLimits(t *testing.T) {
	chain := form(single("a", ""), single("b", showIf("a", "yes")), single("c", showIf("b", "yes")), single("d", showIf("c", "yes")))
	three := form(single("a", ""), single("b", showIf("a", "yes")), single("c", showIf("b", "yes")))
	wide := form(strings.Split(nodes(13), "\n")...)
	many := form(node("single", "a", `,"options":`+labelled(9)))
	hidden := formHost(func(FormRequest) (json.RawMessage, error) {
		return json.RawMessage(`{"answers":{"a":{"value":"no"}}}`), nil
	})
	with := func(l FormLimits) *Set { return newSet(t, Config{Host: hidden, Form: l}) }
	t.Run("bk/AF5", func(t *testing.T) {
		wantRefusal(t, with(FormLimits{}), "ask_user_form", chain, fieldInvalid, `"d"`, "4 deep")
		wantResult(t, with(FormLimits{}), "ask_user_form", three, `{"answers":{"a":{"value":"no"}},"visibleNodes":["a"]}`)
		wantResult(t, with(FormLimits{Depth: 4}), "ask_user_form", chain, `{"answers":{"a":{"value":"no"}},"visibleNodes":["a"]}`)
		wantRefusal(t, with(FormLimits{Depth: 1}), "ask_user_form", three, fieldInvalid, `"b"`)
	})
	t.Run("bk/AF6 raised", func(t *testing.T) {
		plan := func(l FormLimits, input string) error {
			in, err := strictjson.Decode([]byte(input), strictjson.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			_, err = find(t, with(l), "ask_user_form").Plan(in)
			return err
		}
		if plan(FormLimits{}, wide) == nil || plan(FormLimits{}, many) == nil {
			t.Error("accepted with the defaults")
		}
		if err := plan(FormLimits{Nodes: 13}, wide); err != nil {
			t.Error(err)
		}
		if err := plan(FormLimits{Options: 9}, many); err != nil {
			t.Error(err)
		}
	})
	t.Run("bk/AF7", func(t *testing.T) {
		scale := func(n int) string {
			return form(node("scale", "a", `,"required":false,"scale":`+labelled(n)+`,"items":`+items("x")))
		}
		wantRefusal(t, with(FormLimits{Options: 20}), "ask_user_form", scale(9), fieldInvalid, "scale")
		wantRefusal(t, with(FormLimits{Options: 2}), "ask_user_form", scale(8), CodeAnswer) // the input is good
	})
	for _, l := range []FormLimits{{Depth: -1}, {Nodes: -1}, {Options: 1}, {Options: -2}, {Nodes: safeInt + 1}} {
		if s, err := New(Config{Form: l}); err == nil || s != nil {
			t.Errorf("%+v starts", l)
		}
	}
}

func TestFormLimitsFrom(t *testing.T) {
	from := func(name, value string) (FormLimits, error) {
		return FormLimitsFrom(func(n string) (string, bool) { return value, n == name })
	}
	for _, name := range []string{"BRAIN_UI_ASK_USER_FORM_MAX_DEPTH", "BRAIN_UI_ASK_USER_FORM_MAX_NODES", "BRAIN_UI_ASK_USER_FORM_MAX_OPTIONS"} {
		for _, bad := range []string{"0", "-1", "1.5", "x", "9007199254740992", "1e3", "0x10", "NaN", "7 8"} {
			if l, err := from(name, bad); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s=%s: %+v, %v", name, bad, l, err)
			}
		}
		if l, err := from(name, " 7 "); err != nil || l == (FormLimits{3, 12, 8}) {
			t.Errorf("%s: %+v, %v", name, l, err)
		}
		if l, err := from(name, ""); err != nil || l != (FormLimits{3, 12, 8}) {
			t.Errorf("%s: %+v, %v", name, l, err)
		}
	}
	if l, err := from("BRAIN_UI_ASK_USER_FORM_MAX_OPTIONS", "1"); err == nil {
		t.Errorf("one option: %+v", l)
	}
}
