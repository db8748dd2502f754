package ask

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"brainbox/bridge/spec"
	"brainbox/internal/strictjson"
)

// schemaFits reports whether v is what the schema describes: the words that package spec uses, as
// its own test makes sure.
func schemaFits(s map[string]any, v any) bool {
	if list, ok := s["anyOf"].([]any); ok {
		some := false
		for _, x := range list {
			some = some || schemaFits(x.(map[string]any), v)
		}
		if !some {
			return false
		}
	}
	if c, ok := s["const"]; ok && fmt.Sprint(c) != fmt.Sprint(v) {
		return false
	}
	if list, ok := s["enum"].([]any); ok && !slices.ContainsFunc(list, func(x any) bool { return fmt.Sprint(x) == fmt.Sprint(v) }) {
		return false
	}
	n := func(key string, otherwise int) int {
		if x, ok := s[key].(float64); ok {
			return int(x)
		}
		return otherwise
	}
	switch typ := s["type"]; x := v.(type) {
	case string:
		l := utf8.RuneCountInString(x)
		re, _ := s["pattern"].(string)
		return (typ == nil || typ == "string") && l >= n("minLength", 0) && l <= n("maxLength", 1<<30) && regexp.MustCompile(re).MatchString(x)
	case bool:
		return typ == nil || typ == "boolean"
	case nil:
		return typ == nil || typ == "null"
	case float64:
		return (typ == nil || typ == "number" || typ == "integer" && x == float64(int64(x))) && x >= float64(n("minimum", -1<<53)) && x <= float64(n("maximum", 1<<53))
	case []any:
		if typ != nil && typ != "array" || len(x) < n("minItems", 0) || len(x) > n("maxItems", 1<<30) {
			return false
		}
		for _, item := range x {
			if sub, ok := s["items"].(map[string]any); ok && !schemaFits(sub, item) {
				return false
			}
		}
		return true
	case map[string]any:
		return (typ == nil || typ == "object") && membersFit(s, x)
	}
	return false
}

func membersFit(s, x map[string]any) bool {
	props, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	for _, k := range required {
		if _, ok := x[k.(string)]; !ok {
			return false
		}
	}
	for k, v := range x {
		sub, ok := props[k].(map[string]any)
		if !ok {
			if s["additionalProperties"] == false {
				return false
			}
			continue
		}
		if !schemaFits(sub, v) {
			return false
		}
	}
	return true
}

// TestSchemas: what a tool takes, its schema takes; and what the schema refuses, the tool
// refuses. Good inputs are changed at random places.
func TestSchemas(t *testing.T) {
	inputs := map[string][]string{
		"ask_user":       {good["ask_user"]},
		"ask_user_list":  {good["ask_user_list"], list(`[{"id":"a","label":"l","detail":"d","link":"x"}]`, `,"notes":true,"allowSkip":false`)},
		"ask_user_rank":  {good["ask_user_rank"], `{"prompt":"p","cutoff":2,"items":` + items("a", "b", "c") + `}`},
		"query_activity": {`{"scope":"run","runId":"x","hoursBack":3.5,"limit":7}`},
		"ask_user_form": {form(
			single("a", `,"header":"h","required":false`), node("multi", "b", `,"options":[{"label":"x","preview":"p"},{"label":"y","description":"d"}]`+showIf("a", "yes")),
			node("scale", "c", `,"notes":true,"scale":`+goodBad+`,"items":`+items("x")), node("rank", "d", `,"cutoff":1,"items":`+items("x", "y")), node("text", "e", ""),
		)},
	}
	set := newSet(t, Config{Host: never{t}})
	rnd := rand.New(rand.NewPCG(5, 6))
	for name, list := range inputs {
		s, ok := spec.Find(name)
		if !ok {
			t.Fatal(name)
		}
		var schema map[string]any
		if err := json.Unmarshal([]byte(s.Input), &schema); err != nil {
			t.Fatal(err)
		}
		taken, refused := 0, 0
		for _, input := range list {
			for i := range 1500 {
				root, err := strictjson.Decode([]byte(input), strictjson.Limits{})
				if err != nil {
					t.Fatal(err)
				}
				if i > 0 {
					mutate(rnd, root)
				}
				text := strictjson.Append(nil, root)
				var v any
				if err := json.Unmarshal(text, &v); err != nil {
					t.Fatal(err)
				}
				_, err = find(t, set, name).Plan(root)
				fits := schemaFits(schema, v)
				if err == nil && !fits || i == 0 && (err != nil || !fits) {
					t.Fatalf("%s: the tool says %v, the schema %v: %.300s", name, err, fits, text)
				}
				if err == nil {
					taken++
				} else if !fits {
					refused++
				}
			}
		}
		if taken < 50 || refused < 50 {
			t.Errorf("%s: %d taken, %d refused: the changes say little", name, taken, refused)
		}
	}
}

// mutate changes one random place of v.
func mutate(rnd *rand.Rand, v *strictjson.Value) {
	for {
		children := len(v.Items) + len(v.Members)
		if children == 0 || rnd.IntN(4) == 0 {
			break
		}
		if i := rnd.IntN(children); i < len(v.Items) {
			v = &v.Items[i]
		} else {
			v = &v.Members[i-len(v.Items)].Value
		}
	}
	switch n := rnd.IntN(6); {
	case n == 0 && len(v.Members) > 0:
		i := rnd.IntN(len(v.Members))
		v.Members = append(v.Members[:i:i], v.Members[i+1:]...)
	case n == 1 && v.Kind == strictjson.KindObject:
		v.Add("extra", strictjson.Int(1))
	case n == 2 && len(v.Items) > 0:
		for range rnd.IntN(40) {
			v.Items = append(v.Items, v.Items[0])
		}
	case n == 3 && len(v.Items) > 0:
		v.Items = v.Items[:rnd.IntN(len(v.Items))]
	case v.Kind == strictjson.KindString:
		v.Text = strings.Repeat("é", []int{0, 1, 12, 13, 40, 41, 64, 65, 120, 121, 200, 201, 300, 301, 4001}[rnd.IntN(15)])
	case v.Kind == strictjson.KindBool:
		v.Bool = !v.Bool
	case v.Kind == strictjson.KindNumber:
		v.Text = []string{"0", "1", "15", "16", "-1", "2.5", "1e3"}[rnd.IntN(7)]
	default:
		*v = []strictjson.Value{strictjson.Null(), strictjson.Int(3), strictjson.Text("x"), strictjson.Array(), strictjson.Object()}[rnd.IntN(5)]
	}
}
