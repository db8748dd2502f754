package ask

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

const goodBad = `[{"label":"good"},{"label":"bad","description":""}]`

// item is a list of items with these ids.
func items(ids ...string) string {
	var out []string
	for _, id := range ids {
		q, _ := json.Marshal(id)
		out = append(out, fmt.Sprintf(`{"id":%s,"label":"l"}`, q))
	}
	return "[" + strings.Join(out, ",") + "]"
}

func many(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint("i", i)
	}
	return out
}

func list(items, more string) string {
	return `{"prompt":"p","scale":` + goodBad + `,"items":` + items + more + `}`
}

func TestList(t *testing.T) {
	var answer ListAnswer
	var asked ListRequest
	s := newSet(t, Config{Host: listHost(func(r ListRequest) (ListAnswer, error) { asked = r; return answer, nil })})
	check := func(id, input string, a ListAnswer, want string) {
		t.Run(id, func(t *testing.T) {
			answer = a
			wantResult(t, s, "ask_user_list", input, want)
		})
	}
	type m = map[string]string
	check("bk/AL1", list(items("a", "b"), ""), ListAnswer{Answers: m{"b": "bad", "a": "good"}}, `{"answers":{"a":"good","b":"bad"},"skipped":[]}`)
	if asked.ID != "r-1" || !asked.AllowSkip || asked.Notes || asked.Prompt != "p" || len(asked.Scale) != 2 {
		t.Errorf("the host was asked %+v", asked)
	}
	check("bk/AL2", list(items("a"), ""), ListAnswer{Answers: m{"a": "good", "z": "good"}}, `{"answers":{"a":"good"},"skipped":[]}`)
	check("bk/AL3", list(items("a", "b"), ""), ListAnswer{Answers: m{"a": "Good", "b": "fine"}}, `{"answers":{},"skipped":["a","b"]}`)
	check("bk/AL5", list(items("a"), ""), ListAnswer{Answers: m{"a": "good"}, Notes: m{"a": "n"}}, `{"answers":{"a":"good"},"skipped":[]}`)
	long := strings.Repeat("x", 300)
	check("bk/AL6", list(items("a"), `,"notes":true`), ListAnswer{Notes: m{"a": " \t\uFEFF" + long + "\n "}}, `{"answers":{},"skipped":["a"],"notes":{"a":"`+long[:280]+`"}}`)
	smile := strings.Repeat("\U0001F600", 140)
	check("bk/AL6 in UTF-16 units", list(items("a"), `,"notes":true`), ListAnswer{Notes: m{"a": "x" + smile}}, `{"answers":{},"skipped":["a"],"notes":{"a":"x`+strings.TrimSuffix(smile, "\U0001F600")+`"}}`)
	check("bk/AL7", list(items("a"), `,"notes":true`), ListAnswer{Answers: m{"a": "good"}, Notes: m{"a": " \n"}}, `{"answers":{"a":"good"},"skipped":[]}`)
	check("bk/AL8", list(items("__proto__", "constructor", "toString"), ""), ListAnswer{Answers: m{"constructor": "good"}},
		`{"answers":{"constructor":"good"},"skipped":["__proto__","toString"]}`)
	check("bk/AL8 answered", list(items("__proto__", "toString"), ""), ListAnswer{Answers: m{"__proto__": "bad"}},
		`{"answers":{"__proto__":"bad"},"skipped":["toString"]}`)
	check("bk/AL10", list(items("a"), `,"notes":true`), ListAnswer{Notes: m{"a": "later", "z": "x"}}, `{"answers":{},"skipped":["a"],"notes":{"a":"later"}}`)
	check("bk/AL11", list(items("a", "b"), `,"allowSkip":false`), ListAnswer{Answers: m{"b": "good"}}, `{"answers":{"b":"good"},"skipped":["a"]}`)
	if asked.AllowSkip {
		t.Error("allowSkip was not told")
	}
}

func TestListInput(t *testing.T) {
	s := newSet(t, Config{Host: never{t}})
	refuse := func(id, input, code string, words ...string) {
		t.Run(id, func(t *testing.T) { wantRefusal(t, s, "ask_user_list", input, code, words...) })
	}
	refuse("bk/AL4 id", list(items("a", "b", "a"), ""), fieldInvalid, `"a"`, "twice")
	refuse("bk/AL4 label", strings.Replace(list(items("a"), ""), goodBad, `[{"label":"x\u001b[2J"},{"label":"x\u001b[2J"}]`, 1), fieldInvalid, `x\u{1b}[2J`, "twice")
	refuse("bk/AL9 31 items", list(items(many(31)...), ""), fieldInvalid, "items")
	refuse("bk/AL9 no item", list("[]", ""), fieldInvalid, "items")
	nine := `[{"label":"1"},{"label":"2"},{"label":"3"},{"label":"4"},{"label":"5"},{"label":"6"},{"label":"7"},{"label":"8"},{"label":"9"}]`
	refuse("bk/AL9 nine labels", strings.Replace(list(items("a"), ""), goodBad, nine, 1), fieldInvalid, "scale")
	refuse("bk/AL9 one label", strings.Replace(list(items("a"), ""), goodBad, `[{"label":"1"}]`, 1), fieldInvalid, "scale")
	refuse("bk/AL9 prompt of 301", strings.Replace(list(items("a"), ""), `"p"`, `"`+text300+`x"`, 1), fieldInvalid, "prompt")
	refuse("no prompt", strings.Replace(list(items("a"), ""), `"p"`, `""`, 1), fieldInvalid, "prompt")
	refuse("unknown key", list(items("a"), `,"x":1`), unknownField, "x")
	refuse("unknown key in an item", list(`[{"id":"a","label":"l","Detail":"x"}]`, ""), unknownField, "Detail")
	refuse("id of 65", list(items(strings.Repeat("x", 65)), ""), fieldInvalid, "id")
	refuse("link of 2049", list(`[{"id":"a","label":"l","link":"`+strings.Repeat("x", 2049)+`"}]`, ""), fieldInvalid, "link")
	refuse("notes no boolean", list(items("a"), `,"notes":1`), fieldInvalid, "notes")
	refuse("U+0000", list(items("a\x00"), ""), fieldInvalid, "id", "U+0000")
	refuse("no object", `[]`, schemaInvalid)

	var got ListRequest
	ok := newSet(t, Config{Host: listHost(func(r ListRequest) (ListAnswer, error) { got = r; return ListAnswer{}, nil })})
	good := strings.Replace(list(`[{"id":"a","label":"l","detail":"","link":"`+strings.Repeat("x", 2048)+`"}]`, ""), `"p"`, `"`+text300+`"`, 1)
	if _, err := call(t, ok, "ask_user_list", good); err != nil {
		t.Errorf("the control: %v", err)
	}
	// Empty optional texts are not told.
	text, err := json.Marshal(got)
	if err != nil || strings.Contains(string(text), `"detail"`) || strings.Contains(string(text), `"description"`) {
		t.Errorf("%s, %v", text, err)
	}
	if _, err := call(t, ok, "ask_user_list", list(items(many(30)...), "")); err != nil {
		t.Errorf("the control: %v", err)
	}
}

// TestListPartition: whatever a client answers, answers and skipped are the list, each item
// once and in its order.
func TestListPartition(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	pool := []string{"a", "b", "c", "__proto__", "constructor", "é", "", " a", "A", "d\n"}
	pick := func() string { return pool[rnd.IntN(len(pool))] }
	steps := []string{"good", "bad", "Good", "", "no"}
	for range 3000 {
		var asked []string
		for _, i := range rnd.Perm(len(pool))[:1+rnd.IntN(len(pool))] {
			asked = append(asked, pool[i])
		}
		r := rows{asked, []string{"good", "bad"}, rnd.IntN(2) == 0}
		a := ListAnswer{Answers: map[string]string{}, Notes: map[string]string{}}
		for range rnd.IntN(12) {
			a.Answers[pick()], a.Notes[pick()] = steps[rnd.IntN(len(steps))], pick()
		}
		out, n := r.result(a)
		var union []string
		answered := out.Get("answers")
		for _, id := range asked {
			in := answered.Get(id) != nil
			skipped := slices.ContainsFunc(out.Get("skipped").Items, func(v strictValue) bool { return v.Text == id })
			if in == skipped {
				t.Fatalf("%q: answered %v, skipped %v", id, in, skipped)
			}
			union = append(union, id)
		}
		if n != len(answered.Members) || len(union) != len(answered.Members)+len(out.Get("skipped").Items) {
			t.Fatalf("%d answered and %d skipped of %d", len(answered.Members), len(out.Get("skipped").Items), len(union))
		}
		at := -1
		for _, v := range out.Get("skipped").Items {
			i := slices.Index(asked, v.Text)
			if i <= at {
				t.Fatal("skipped is not in the order of the list")
			}
			at = i
		}
	}
}

func TestRank(t *testing.T) {
	var answer RankAnswer
	var asked RankRequest
	s := newSet(t, Config{Host: rankHost(func(r RankRequest) (RankAnswer, error) { asked = r; return answer, nil })})
	rank := func(items, more string) string { return `{"prompt":"p","items":` + items + more + `}` }
	three := items("a", "b", "c")
	t.Run("bk/AR1", func(t *testing.T) {
		// What a client says about it is not even in its answer.
		if err := json.Unmarshal([]byte(`{"order":["a","b","c"],"unchanged":false}`), &answer); err != nil {
			t.Fatal(err)
		}
		wantResult(t, s, "ask_user_rank", rank(three, ""), `{"order":["a","b","c"],"unchanged":true}`)
		answer.Order = []string{"a", "c", "b"}
		wantResult(t, s, "ask_user_rank", rank(three, ""), `{"order":["a","c","b"],"unchanged":false}`)
	})
	t.Run("bk/AR2", func(t *testing.T) {
		for _, order := range [][]string{nil, {"a", "b"}, {"a", "b", "b"}, {"a", "b", "c", "c"}, {"a", "b", "c", "d"}, {"a", "b", "d"}, {"a", "b", "C"}} {
			answer.Order = order
			wantRefusal(t, s, "ask_user_rank", rank(three, ""), CodeAnswer)
		}
	})
	t.Run("bk/AR4", func(t *testing.T) {
		answer.Order = []string{"e", "d", "c", "b", "a"}
		wantResult(t, s, "ask_user_rank", rank(items("a", "b", "c", "d", "e"), `,"cutoff":2`), `{"order":["e","d","c","b","a"],"unchanged":false}`)
		if asked.Cutoff != 2 || asked.ID != "r-1" {
			t.Errorf("the host was asked %+v", asked)
		}
	})
	silent := newSet(t, Config{Host: never{t}})
	refuse := func(id, input, code string, words ...string) {
		t.Run(id, func(t *testing.T) { wantRefusal(t, silent, "ask_user_rank", input, code, words...) })
	}
	refuse("bk/AR3", rank(three, `,"cutoff":4`), fieldInvalid, "cutoff", "4", "3")
	refuse("bk/AR5 one item", rank(items("a"), ""), fieldInvalid, "items")
	refuse("bk/AR5 16 items", rank(items(many(16)...), ""), fieldInvalid, "items")
	for _, n := range []string{"0", "1.5", "16", "-1", "1e0", `"2"`, "null"} {
		refuse("bk/AR5 cutoff "+n, rank(three, `,"cutoff":`+n), fieldInvalid, "cutoff")
	}
	refuse("bk/AR6", rank(items("a", "b", "b"), ""), fieldInvalid, `"b"`, "twice")
	refuse("link of 2001", rank(`[{"id":"a","label":"l"},{"id":"b","label":"l","link":"`+strings.Repeat("x", 2001)+`"}]`, ""), fieldInvalid, "link")
	refuse("unknown key", rank(three, `,"notes":true`), unknownField, "notes")
	answer.Order = many(15)
	if _, err := call(t, s, "ask_user_rank", rank(items(many(15)...), `,"cutoff":15`)); err != nil {
		t.Errorf("the control: %v", err)
	}
}
