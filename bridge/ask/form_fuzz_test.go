package ask

import (
	"strings"
	"testing"

	"brainbox/internal/strictjson"
)

// FuzzFormAnswer: no answer panics; what comes out names visible nodes only, each known.
func FuzzFormAnswer(f *testing.F) {
	for _, s := range []string{
		`{"answers":{"a":{"value":"yes"},"b":{"values":["no"],"other":"x"},"c":{"answers":{"x":"good"}},"d":{"order":["y","x"]},"e":"t"}}`,
		`{"answers":{"a":{"value":"yes","other":true},"b":7}}`, `{"answers":{"__proto__":1}}`, `{}`, `{"answers":{"e":"\ud83d\ude00"}}`,
	} {
		f.Add([]byte(s))
	}
	list := []Node{
		{Kind: Single, ID: "a", Options: []Option{{Label: "yes"}, {Label: "no"}}},
		{Kind: Multi, ID: "b", Options: []Option{{Label: "yes"}, {Label: "no"}}, ShowIf: &Condition{"a", []string{"yes"}}},
		{Kind: Scale, ID: "c", Scale: []Label{{Label: "good"}, {Label: "bad"}}, Items: []Item{{ID: "x"}, {ID: "y"}}, Notes: true, ShowIf: &Condition{"b", []string{"no"}}},
		{Kind: Rank, ID: "d", Items: []Item{{ID: "x"}, {ID: "y"}}},
		{Kind: Text, ID: "e", ShowIf: &Condition{"a", []string{"no", "yes"}}},
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		out, err := formResult(list, raw)
		if err != nil {
			return
		}
		visible := map[string]bool{}
		at := -1
		for _, v := range out.Get("visibleNodes").Items {
			i := strings.Index("abcde", v.Text)
			if len(v.Text) != 1 || i <= at {
				t.Fatalf("visible: %q", v.Text)
			}
			visible[v.Text], at = true, i
		}
		answers := out.Get("answers")
		for _, m := range answers.Members {
			if !visible[m.Key] {
				t.Fatalf("%q is answered and not visible", m.Key)
			}
		}
		value := answers.Get("a").Get("value")
		yes := value != nil && value.Text == "yes" && answers.Get("a").Get("other") == nil
		if visible["b"] != yes || visible["c"] && !visible["b"] || !visible["a"] || !visible["d"] {
			t.Fatalf("visible: %v", visible)
		}
		if _, err := strictjson.Decode(strictjson.Append(nil, out), strictjson.Limits{Proto: true}); err != nil {
			t.Fatal(err)
		}
	})
}
