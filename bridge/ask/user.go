package ask

import (
	"context"
	"slices"

	"brainbox/internal/strictjson"
)

// planUser reads one to four questions. Keys that are not known are dropped.
func (s *Set) planUser(in *strictjson.Value) (doer, error) {
	f := strictjson.BindLenient(in)
	var r UserRequest
	for _, q := range objects(f, "questions", 1, 4) {
		one := Question{Question: q.String("question"), Header: text(q, "header", 0, 12), MultiSelect: q.Bool("multiSelect")}
		for _, o := range objects(q, "options", 2, 4) {
			opt := Option{Label: o.String("label"), Description: o.String("description")}
			if o.Has("preview") {
				opt.Preview = o.String("preview")
			}
			one.Options = append(one.Options, opt)
		}
		r.Questions = append(r.Questions, one)
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	return func(ctx context.Context, id string) (*strictjson.Value, error) {
		asked, echo := slices.Clone(r.Questions), questions(r.Questions) // the host may change its own
		r.ID = id
		a, err := s.c.Host.(UserAsker).AskUser(ctx, r)
		if err != nil {
			return nil, err
		}
		return userResult(asked, echo, a), nil
	}, nil
}

// questions as the result repeats them.
func questions(list []Question) strictjson.Value {
	out := strictjson.Array()
	for _, q := range list {
		options := strictjson.Array()
		for _, o := range q.Options {
			v := strictjson.Object(strictjson.Pair("label", strictjson.Text(o.Label)), strictjson.Pair("description", strictjson.Text(o.Description)))
			if o.Preview != "" {
				v.Add("preview", strictjson.Text(o.Preview))
			}
			options.Items = append(options.Items, v)
		}
		out.Items = append(out.Items, strictjson.Object(
			strictjson.Pair("question", strictjson.Text(q.Question)), strictjson.Pair("header", strictjson.Text(q.Header)),
			strictjson.Pair("options", options), strictjson.Pair("multiSelect", strictjson.Bool(q.MultiSelect)),
		))
	}
	return out
}

// userResult keeps the answers to what was asked, in the order of the questions.
func userResult(asked []Question, echo strictjson.Value, a UserAnswer) *strictjson.Value {
	answers, notes := strictjson.Object(), strictjson.Object()
	for _, q := range asked {
		if answers.Get(q.Question) != nil || notes.Get(q.Question) != nil {
			continue // the same text again
		}
		if s, ok := a.Answers[q.Question]; ok {
			answers.Add(q.Question, strictjson.Text(s))
		}
		if n, ok := a.Annotations[q.Question]; ok && n != (Annotation{}) {
			v := strictjson.Object()
			if n.Preview != "" {
				v.Add("preview", strictjson.Text(n.Preview))
			}
			if n.Notes != "" {
				v.Add("notes", strictjson.Text(n.Notes))
			}
			notes.Add(q.Question, v)
		}
	}
	out := strictjson.Object(strictjson.Pair("questions", echo), strictjson.Pair("answers", answers))
	if len(notes.Members) > 0 {
		out.Add("annotations", notes)
	}
	return &out
}
