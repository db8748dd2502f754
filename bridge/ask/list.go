package ask

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"brainbox/internal/strictjson"
)

// planList reads a list and its scale.
func (s *Set) planList(in *strictjson.Value) (doer, error) {
	f := strictjson.Bind(in, "prompt", "scale", "items", "allowSkip", "notes")
	r := ListRequest{
		Prompt: text(f, "prompt", 1, mostPrompt), Scale: readScale(f), Items: readItems(f, 1, mostItems, listLink),
		AllowSkip: flag(f, "allowSkip", true), Notes: flag(f, "notes", false),
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	if err := errors.Join(unique("the item id", ids(r.Items)), unique("the scale label", labels(r.Scale))); err != nil {
		return nil, err
	}
	rows := rows{ids(r.Items), labels(r.Scale), r.Notes}
	return func(ctx context.Context, id string) (*strictjson.Value, error) {
		r.ID = id
		a, err := s.c.Host.(ListAsker).AskUserList(ctx, r)
		if err != nil {
			return nil, err
		}
		out, _ := rows.result(a)
		return &out, nil
	}, nil
}

// rows is what an answer to a list may be about.
type rows struct {
	ids, labels []string
	notes       bool
}

// result keeps what was asked: answers and skipped together are all items. given is how many
// were answered or have a note.
func (r rows) result(a ListAnswer) (out strictjson.Value, answered int) {
	answers, notes, skipped := strictjson.Object(), strictjson.Object(), strictjson.Array()
	for _, id := range r.ids {
		if label, ok := a.Answers[id]; ok && slices.Contains(r.labels, label) {
			answers.Add(id, strictjson.Text(label))
		} else {
			skipped.Items = append(skipped.Items, strictjson.Text(id))
		}
		if note := cut(trim(a.Notes[id]), mostNote); r.notes && note != "" {
			notes.Add(id, strictjson.Text(note))
		}
	}
	out = strictjson.Object(strictjson.Pair("answers", answers), strictjson.Pair("skipped", skipped))
	if len(notes.Members) > 0 {
		out.Add("notes", notes)
	}
	return out, len(answers.Members)
}

// planRank reads what is to be ordered.
func (s *Set) planRank(in *strictjson.Value) (doer, error) {
	f := strictjson.Bind(in, "prompt", "items", "cutoff")
	r := RankRequest{Prompt: text(f, "prompt", 1, mostPrompt), Items: readItems(f, 2, mostRank, otherLink), Cutoff: cutoff(f)}
	if err := f.Err(); err != nil {
		return nil, err
	}
	if err := errors.Join(unique("the item id", ids(r.Items)), fits(r.Cutoff, r.Items)); err != nil {
		return nil, err
	}
	asked := ids(r.Items)
	return func(ctx context.Context, id string) (*strictjson.Value, error) {
		r.ID = id
		a, err := s.c.Host.(RankAsker).AskUserRank(ctx, r)
		if err != nil {
			return nil, err
		}
		out, err := ranked(asked, a.Order)
		if err != nil {
			return nil, err
		}
		return &out, nil
	}, nil
}

// fits refuses a cutoff beyond the items.
func fits(cutoff int, items []Item) error {
	if cutoff > len(items) {
		return badInput(fmt.Sprintf("cutoff is %d, and there are %d items", cutoff, len(items)))
	}
	return nil
}

// ranked is the result of an order, which must have every id once.
func ranked(asked, order []string) (strictjson.Value, error) {
	if len(order) != len(asked) {
		return strictjson.Value{}, badAnswer("the order does not have every item once")
	}
	for i, id := range order {
		if !slices.Contains(asked, id) || slices.Contains(order[:i], id) {
			return strictjson.Value{}, badAnswer("the order does not have every item once")
		}
	}
	return strictjson.Object(
		strictjson.Pair("order", strictjson.Texts(order)),
		strictjson.Pair("unchanged", strictjson.Bool(slices.Equal(asked, order))),
	), nil
}
