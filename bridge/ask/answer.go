package ask

import (
	"encoding/json"
	"slices"

	"brainbox/internal/strictjson"
)

// formResult works out what was visible, and reads the answers of that and of nothing else.
func formResult(nodes []Node, raw json.RawMessage) (*strictjson.Value, error) {
	// An id may be called __proto__: all keys are looked up as what they are.
	root, err := strictjson.Decode(raw, strictjson.Limits{Proto: true})
	if err != nil {
		return nil, badAnswer("the answer is no JSON value that can be read in one way")
	}
	given := root.Get("answers")
	if given == nil || given.Kind != strictjson.KindObject {
		return nil, badAnswer("the answer has no answers")
	}
	answers, visible := strictjson.Object(), []string{}
	chosen := map[string][]string{} // of the visible nodes, the labels that were chosen
	for i := range nodes {
		n := &nodes[i]
		if n.ShowIf != nil && !meet(chosen[n.ShowIf.Node], n.ShowIf.AnyOf) {
			continue
		}
		visible = append(visible, n.ID)
		a, err := n.read(given.Get(n.ID))
		if err != nil {
			return nil, badAnswer("node " + shown(n.ID) + ": " + err.Error())
		}
		if n.Required && !a.complete {
			return nil, badAnswer("node " + shown(n.ID) + " is required and was not answered")
		}
		if a.given {
			answers.Add(n.ID, a.value)
			chosen[n.ID] = a.chosen
		}
	}
	out := strictjson.Object(strictjson.Pair("answers", answers), strictjson.Pair("visibleNodes", strictjson.Texts(visible)))
	return &out, nil
}

func meet(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

// reply is one answer that was read. The zero reply is none.
type reply struct {
	value           strictjson.Value
	given, complete bool
	chosen          []string // labels that were offered
}

// full is a whole answer.
func full(v strictjson.Value, chosen ...string) reply { return reply{v, true, true, chosen} }

// read reads the answer to a node; v may be nil.
func (n *Node) read(v *strictjson.Value) (reply, error) {
	missing := v == nil || v.Kind == strictjson.KindNull
	switch {
	case missing && n.Kind == Rank: // untouched: the order that was offered is the answer
		out, err := ranked(ids(n.Items), ids(n.Items))
		return full(out), err
	case missing:
		return reply{}, nil
	}
	if n.Kind != Text && v.Kind != strictjson.KindObject {
		return reply{}, badAnswer("not the answer of a " + string(n.Kind) + " node")
	}
	switch n.Kind {
	case Single:
		return n.readSingle(v)
	case Multi:
		return n.readMulti(v)
	case Scale:
		return n.readScale(v)
	case Rank:
		return n.readRank(v)
	case Text:
		return readText(v)
	}
	return reply{}, badAnswer("a kind that is not known")
}

func readText(v *strictjson.Value) (reply, error) {
	if v.Kind != strictjson.KindString || units(v.Text) > mostNote {
		return reply{}, badAnswer("not a text of at most 280 characters")
	}
	s := trim(v.Text)
	if s == "" {
		return reply{}, nil
	}
	return full(strictjson.Text(s)), nil
}

func (n *Node) readSingle(v *strictjson.Value) (reply, error) {
	value, other := v.Get("value"), v.Get("other")
	if value == nil || value.Kind != strictjson.KindString || units(value.Text) > mostOther {
		return reply{}, badAnswer("no value, or one that is too long")
	}
	if other != nil && other.Kind != strictjson.KindBool {
		return reply{}, badAnswer("other is neither true nor false")
	}
	s := trim(value.Text)
	switch {
	case s == "":
		return reply{}, nil
	case other != nil && other.Bool: // never one of the labels, whatever it says
		return full(strictjson.Object(strictjson.Pair("value", strictjson.Text(s)), strictjson.Pair("other", strictjson.Bool(true)))), nil
	case !slices.Contains(offered(n.Options), value.Text):
		return reply{}, badAnswer("the value was not offered")
	}
	return full(strictjson.Object(strictjson.Pair("value", strictjson.Text(value.Text))), value.Text), nil
}

func (n *Node) readMulti(v *strictjson.Value) (reply, error) {
	values, ok := texts(v.Get("values"))
	if !ok {
		return reply{}, badAnswer("values is no list of labels")
	}
	other := v.Get("other")
	if other != nil && (other.Kind != strictjson.KindString || units(other.Text) > mostOther) {
		return reply{}, badAnswer("other is no text, or too long")
	}
	if _, twice := repeated(values); twice {
		return reply{}, badAnswer("a value occurs twice")
	}
	for _, s := range values {
		if !slices.Contains(offered(n.Options), s) {
			return reply{}, badAnswer("a value was not offered")
		}
	}
	out := strictjson.Object(strictjson.Pair("values", strictjson.Texts(values)))
	custom := ""
	if other != nil {
		custom = trim(other.Text)
	}
	if custom != "" {
		out.Add("other", strictjson.Text(custom))
	}
	if custom == "" && len(values) == 0 {
		return reply{}, nil
	}
	return full(out, values...), nil
}

func (n *Node) readScale(v *strictjson.Value) (reply, error) {
	answers, ok := table(v.Get("answers"), ids(n.Items))
	if !ok {
		return reply{}, badAnswer("answers is no object of labels")
	}
	notes := map[string]string{}
	if list := v.Get("notes"); n.Notes && list != nil && list.Kind != strictjson.KindNull {
		if notes, ok = table(list, ids(n.Items)); !ok {
			return reply{}, badAnswer("notes is no object of texts")
		}
	}
	out, answered := rows{ids(n.Items), labels(n.Scale), n.Notes}.result(ListAnswer{answers, notes})
	given := answered > 0 || out.Get("notes") != nil
	return reply{value: out, given: given, complete: answered == len(n.Items)}, nil
}

func (n *Node) readRank(v *strictjson.Value) (reply, error) {
	order, ok := texts(v.Get("order"))
	if !ok {
		return reply{}, badAnswer("order is no list of ids")
	}
	out, err := ranked(ids(n.Items), order)
	return full(out), err
}

// texts is an array of strings.
func texts(v *strictjson.Value) (out []string, ok bool) {
	if v == nil || v.Kind != strictjson.KindArray {
		return nil, false
	}
	for i := range v.Items {
		if v.Items[i].Kind != strictjson.KindString {
			return nil, false
		}
		out = append(out, v.Items[i].Text)
	}
	return out, true
}

// table is an object whose members of the names known are strings; the others are not looked
// at.
func table(v *strictjson.Value, known []string) (out map[string]string, ok bool) {
	if v == nil || v.Kind != strictjson.KindObject {
		return nil, false
	}
	out = map[string]string{}
	for _, id := range known {
		switch m := v.Get(id); {
		case m == nil:
		case m.Kind != strictjson.KindString:
			return nil, false
		default:
			out[id] = m.Text
		}
	}
	return out, true
}
