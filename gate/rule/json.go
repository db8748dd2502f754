package rule

import (
	"fmt"

	"brainbox/gate/action"
	"brainbox/internal/strictjson"
)

// ParseJSON reads rules as JSON: an object of surfaces, each an action or an
// object of patterns; or the list of {surface, pattern, action, reason}. Either
// may be the only member, "permission", of an object. The order of keys is
// meaning, so duplicate keys are refused. Errors are [*Error]; those of the text
// itself wrap a [*strictjson.Error].
func ParseJSON(data []byte) ([]Rule, error) {
	v, err := strictjson.Decode(data, strictjson.Limits{})
	if err != nil {
		return nil, &Error{Text: "rules as JSON", Err: err}
	}
	if inner := v.Get("permission"); inner != nil {
		if len(v.Members) != 1 {
			return nil, flaw("", "beside \"permission\" there is another key")
		}
		v = inner
	}
	switch v.Kind {
	case strictjson.KindObject:
		return fromObject(v)
	case strictjson.KindArray:
		return fromList(v)
	default:
		return nil, flaw(at(v.Start), "rules are an object or a list, not %s", v.Kind)
	}
}

func at(offset int) string { return fmt.Sprintf("byte %d", offset) }

func fromObject(v *strictjson.Value) ([]Rule, error) {
	var rules []Rule
	for i := range v.Members {
		m := &v.Members[i]
		switch m.Value.Kind {
		case strictjson.KindString:
			a, err := action.Parse(m.Value.Text)
			if err != nil {
				return nil, &Error{Where: at(m.Value.Start), Text: fmt.Sprintf("surface %q", m.Key), Err: err}
			}
			rules = append(rules, Rule{Surface: m.Key, Pattern: "*", Action: a, Where: at(m.Start)})
		case strictjson.KindObject:
			for j := range m.Value.Members {
				p := &m.Value.Members[j]
				if p.Key == "action" || p.Key == "reason" {
					return nil, flaw(at(p.Start), "%q stands where a pattern is expected; write {\"*\": {…}}", p.Key)
				}
				r, err := fromPattern(m.Key, p)
				if err != nil {
					return nil, err
				}
				rules = append(rules, r)
			}
		default:
			return nil, flaw(at(m.Value.Start), "surface %q: an action or an object of patterns, not %s", m.Key, m.Value.Kind)
		}
	}
	return rules, nil
}

func fromPattern(surface string, p *strictjson.Member) (Rule, error) {
	r := Rule{Surface: surface, Pattern: p.Key, Where: at(p.Start)}
	word := &p.Value
	if word.Kind == strictjson.KindObject {
		f := strictjson.Bind(word, "action", "reason")
		text := f.String("action")
		if f.Has("reason") {
			r.Reason = f.String("reason")
		}
		if err := f.Err(); err != nil {
			return r, &Error{Where: r.Where, Text: fmt.Sprintf("pattern %q", p.Key), Err: err}
		}
		word = &strictjson.Value{Kind: strictjson.KindString, Text: text}
	}
	if word.Kind != strictjson.KindString {
		return r, flaw(r.Where, "pattern %q: an action or {action, reason}, not %s", p.Key, word.Kind)
	}
	var err error
	if r.Action, err = action.Parse(word.Text); err != nil {
		return r, &Error{Where: r.Where, Text: fmt.Sprintf("pattern %q", p.Key), Err: err}
	}
	return r, nil
}

func fromList(v *strictjson.Value) ([]Rule, error) {
	rules := make([]Rule, 0, len(v.Items))
	for i := range v.Items {
		item := &v.Items[i]
		f := strictjson.Bind(item, "surface", "pattern", "action", "reason")
		r := Rule{Surface: f.String("surface"), Pattern: f.String("pattern"), Where: at(item.Start)}
		word := f.String("action")
		if f.Has("reason") {
			r.Reason = f.String("reason")
		}
		if err := f.Err(); err != nil {
			return nil, &Error{Where: r.Where, Text: "rule", Err: err}
		}
		var err error
		if r.Action, err = action.Parse(word); err != nil {
			return nil, &Error{Where: r.Where, Text: "rule", Err: err}
		}
		rules = append(rules, r)
	}
	return rules, nil
}
