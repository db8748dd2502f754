package ask

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"brainbox/internal/strictjson"
)

// FormLimits are the host's limits for forms. A field that is 0 is its default.
type FormLimits struct {
	Depth   int // conditions on conditions, a node without one counts 1; default 3
	Nodes   int // default 12
	Options int // of one single or multi node, at least 2; default 8
}

// The names that a host's environment has the limits under.
const (
	EnvFormDepth   = "BRAIN_UI_ASK_USER_FORM_MAX_DEPTH"
	EnvFormNodes   = "BRAIN_UI_ASK_USER_FORM_MAX_NODES"
	EnvFormOptions = "BRAIN_UI_ASK_USER_FORM_MAX_OPTIONS"
)

// FormLimitsFrom reads the limits from a host's environment. What is not there or blank is the
// default; what is no whole number in range is an error that names the variable.
func FormLimitsFrom(lookup func(name string) (string, bool)) (FormLimits, error) {
	var l FormLimits
	for _, e := range []struct {
		name string
		to   *int
		low  int64
	}{{EnvFormDepth, &l.Depth, 1}, {EnvFormNodes, &l.Nodes, 1}, {EnvFormOptions, &l.Options, 2}} {
		s, ok := lookup(e.name)
		if s = strings.TrimSpace(s); !ok || s == "" {
			continue
		}
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < e.low || n > safeInt {
			return FormLimits{}, fmt.Errorf("ask: %s: not a whole number from %d", e.name, e.low)
		}
		*e.to = int(n)
	}
	return l.filled()
}

// safeInt is the largest integer that every implementation counts exactly.
const safeInt = 1<<53 - 1

// filled has the defaults, or is an error.
func (l FormLimits) filled() (FormLimits, error) {
	for _, f := range []struct {
		name           string
		v              *int
		low, otherwise int
	}{{"depth", &l.Depth, 1, 3}, {"nodes", &l.Nodes, 1, 12}, {"options", &l.Options, 2, 8}} {
		if *f.v == 0 {
			*f.v = f.otherwise
		}
		if *f.v < f.low || *f.v > safeInt {
			return FormLimits{}, fmt.Errorf("ask: the limit of %s in a form must be a whole number from %d", f.name, f.low)
		}
	}
	return l, nil
}

// planForm reads a form.
func (s *Set) planForm(in *strictjson.Value) (doer, error) {
	f := strictjson.Bind(in, "prompt", "nodes")
	r := FormRequest{Prompt: text(f, "prompt", 1, mostPrompt)}
	list := f.Any("nodes")
	if list.Kind != strictjson.KindArray || len(list.Items) == 0 {
		f.Invalid("nodes", "not an array of at least one node")
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	if len(list.Items) > s.c.Form.Nodes {
		return nil, badInput(fmt.Sprintf("a form has at most %d nodes", s.c.Form.Nodes))
	}
	for i := range list.Items {
		n, err := readNode(&list.Items[i])
		if err != nil {
			return nil, fmt.Errorf("nodes[%d]: %w", i, err)
		}
		r.Nodes = append(r.Nodes, n)
	}
	if err := checkForm(r.Nodes, s.c.Form); err != nil {
		return nil, err
	}
	return func(ctx context.Context, id string) (*strictjson.Value, error) {
		asked := copied(r.Nodes) // the host may change its own
		r.ID = id
		raw, err := s.c.Host.(FormAsker).AskUserForm(ctx, r)
		if err != nil {
			return nil, err
		}
		return formResult(asked, raw)
	}, nil
}

// copied shares nothing with the nodes.
func copied(nodes []Node) []Node {
	out := slices.Clone(nodes)
	for i := range out {
		n := &out[i]
		n.Options, n.Scale, n.Items = slices.Clone(n.Options), slices.Clone(n.Scale), slices.Clone(n.Items)
		if n.ShowIf != nil {
			n.ShowIf = &Condition{n.ShowIf.Node, slices.Clone(n.ShowIf.AnyOf)}
		}
	}
	return out
}

// common are the fields of every kind.
var common = []string{"kind", "id", "prompt", "header", "required", "showIf"}

// readNode reads one node, which has the fields of its kind and no others.
func readNode(v *strictjson.Value) (Node, error) {
	var n Node
	if k := v.Get("kind"); k != nil && k.Kind == strictjson.KindString {
		n.Kind = Kind(k.Text)
	}
	known := common
	switch n.Kind {
	case Single, Multi:
		known = append(slices.Clone(common), "options")
	case Scale:
		known = append(slices.Clone(common), "scale", "items", "notes")
	case Rank:
		known = append(slices.Clone(common), "items", "cutoff")
	case Text:
	}
	f := strictjson.Bind(v, known...)
	f.Enum("kind", string(Single), string(Multi), string(Scale), string(Rank), string(Text))
	n.ID, n.Prompt, n.Header = text(f, "id", 1, 64), text(f, "prompt", 1, mostPrompt), option(f, "header", 1, 12)
	n.Required = flag(f, "required", true)
	if f.Has("showIf") {
		n.ShowIf = readCondition(f.Object("showIf", "node", "anyOf"))
	}
	switch n.Kind {
	case Single, Multi:
		for _, o := range objects(f, "options", 2, safeInt, "label", "description", "preview") {
			n.Options = append(n.Options, Option{text(o, "label", 1, mostLabel), option(o, "description", 0, 120), option(o, "preview", 0, mostOther)})
		}
	case Scale:
		n.Scale, n.Items, n.Notes = readScale(f), readItems(f, 1, mostItems, otherLink), flag(f, "notes", false)
	case Rank:
		n.Items, n.Cutoff = readItems(f, 2, mostRank, otherLink), cutoff(f)
	case Text:
	}
	return n, f.Err()
}

func readCondition(f *strictjson.Fields) *Condition {
	c := &Condition{Node: text(f, "node", 1, 64), AnyOf: f.Strings("anyOf", safeInt)}
	if len(c.AnyOf) == 0 {
		f.Invalid("anyOf", "no label")
	}
	for _, l := range c.AnyOf {
		if n := units(l); n < 1 || n > mostLabel {
			f.Invalid("anyOf", "a label is not 1 to 40 characters long")
		}
	}
	return c
}

// checkForm looks for what a schema cannot say, node by node.
func checkForm(nodes []Node, l FormLimits) error {
	depth := map[string]int{}
	for i := range nodes {
		n := &nodes[i]
		if _, twice := depth[n.ID]; twice {
			return badInput("the node id " + shown(n.ID) + " occurs twice")
		}
		if err := checkNode(n, l); err != nil {
			return fmt.Errorf("node %s: %w", shown(n.ID), err)
		}
		d, err := depthOf(n, nodes[:i], depth)
		if err != nil {
			return fmt.Errorf("node %s: %w", shown(n.ID), err)
		}
		if d > l.Depth {
			return badInput(fmt.Sprintf("node %s is %d deep, and %d is the most", shown(n.ID), d, l.Depth))
		}
		depth[n.ID] = d
	}
	return nil
}

func checkNode(n *Node, l FormLimits) error {
	if len(n.Options) > l.Options {
		return badInput(fmt.Sprintf("at most %d options", l.Options))
	}
	names := append(offered(n.Options), labels(n.Scale)...)
	if err := unique("the label", names); err != nil {
		return err
	}
	for _, o := range n.Options {
		if strings.EqualFold(trim(o.Label), "other") {
			return badInput("an option is called " + shown(o.Label) + ", which every question has already")
		}
	}
	if err := unique("the item id", ids(n.Items)); err != nil {
		return err
	}
	return fits(n.Cutoff, n.Items)
}

// depthOf is how many nodes must be answered to see n, itself included.
func depthOf(n *Node, earlier []Node, depth map[string]int) (int, error) {
	if n.ShowIf == nil {
		return 1, nil
	}
	for i := range earlier {
		p := &earlier[i]
		if p.ID != n.ShowIf.Node {
			continue
		}
		if p.Kind != Single && p.Kind != Multi {
			return 0, badInput("showIf names a node that is neither single nor multi")
		}
		for _, l := range n.ShowIf.AnyOf {
			if !slices.Contains(offered(p.Options), l) {
				return 0, badInput("showIf names the label " + shown(l) + ", which is not offered there")
			}
		}
		return depth[p.ID] + 1, nil
	}
	return 0, badInput("showIf names " + shown(n.ShowIf.Node) + ", which is no earlier node")
}
