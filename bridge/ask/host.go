package ask

import (
	"context"
	"encoding/json"
	"time"
)

// Host is who answers, for one session. It has the methods of the interfaces below that it
// supports; they may be called by several goroutines.
//
// Each method blocks until there is an answer. An error is one that the person dismissed, or
// that nobody could give; a *[Declined] says why. When the context ends the question is
// withdrawn. All questions share one space of ids.
type Host any

// UserAsker asks up to four questions.
type UserAsker interface {
	AskUser(ctx context.Context, r UserRequest) (UserAnswer, error)
}

// ListAsker has every item of a list judged.
type ListAsker interface {
	AskUserList(ctx context.Context, r ListRequest) (ListAnswer, error)
}

// RankAsker has items put in order.
type RankAsker interface {
	AskUserRank(ctx context.Context, r RankRequest) (RankAnswer, error)
}

// FormAsker asks a form. The answer is a JSON object {"answers": {node id: answer}}, an
// answer of the shape of its kind:
//
//	single  {"value": text, "other": true?}
//	multi   {"values": [label…], "other": text?}
//	scale   {"answers": {item id: label}, "notes": {item id: text}?}
//	rank    {"order": [item id…]}
//	text    text
//
// A node that is null or missing was not answered; other members are ignored.
type FormAsker interface {
	AskUserForm(ctx context.Context, r FormRequest) (json.RawMessage, error)
}

// ActivityQuerier reads the host's record of what ran. The record is any JSON value of at
// most 1 MiB.
type ActivityQuerier interface {
	QueryActivity(ctx context.Context, q ActivityQuery) (json.RawMessage, error)
}

// Locator is reserved: where the user is (contract brainkit §5.7). Nothing calls it yet.
type Locator interface {
	CurrentLocation(ctx context.Context, q LocationQuery) (Location, error)
}

// LocationQuery is what a browser is asked.
type LocationQuery struct {
	HighAccuracy bool
	Timeout      time.Duration // default 15 s
	MaximumAge   time.Duration // default 60 s
}

// Location is one fix.
type Location struct {
	Latitude, Longitude float64 // degrees
	AccuracyMeters      float64
	At                  time.Time
}

// UserRequest is one to four questions.
type UserRequest struct {
	ID        string     `json:"id"`
	Questions []Question `json:"questions"`
}

// Question has two to four options; the host adds "Other" itself.
type Question struct {
	Question    string   `json:"question"`
	Header      string   `json:"header"`
	Options     []Option `json:"options"`
	MultiSelect bool     `json:"multiSelect"`
}

// Option is one answer that is offered.
type Option struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
	Preview     string `json:"preview,omitempty"`
}

// UserAnswer has texts by the text of the question.
type UserAnswer struct {
	Answers     map[string]string     `json:"answers"`
	Annotations map[string]Annotation `json:"annotations,omitempty"`
}

// Annotation is what came with an answer.
type Annotation struct {
	Preview string `json:"preview,omitempty"` // of the option that was chosen
	Notes   string `json:"notes,omitempty"`   // the person's own words
}

// ListRequest is a list of one to thirty items.
type ListRequest struct {
	ID        string  `json:"id"`
	Prompt    string  `json:"prompt"`
	Scale     []Label `json:"scale"`
	Items     []Item  `json:"items"`
	AllowSkip bool    `json:"allowSkip"`
	Notes     bool    `json:"notes"`
}

// Label is one step of a scale.
type Label struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

// Item is one line of a list.
type Item struct {
	ID     string `json:"id"`
	Label  string `json:"label"`
	Detail string `json:"detail,omitempty"`
	Link   string `json:"link,omitempty"`
}

// ListAnswer has labels and notes by the id of the item.
type ListAnswer struct {
	Answers map[string]string `json:"answers"`
	Notes   map[string]string `json:"notes,omitempty"`
}

// RankRequest is two to fifteen items.
type RankRequest struct {
	ID     string `json:"id"`
	Prompt string `json:"prompt"`
	Items  []Item `json:"items"`
	Cutoff int    `json:"cutoff,omitempty"` // how many of the first matter; 0: not said
}

// RankAnswer has all ids. Whether the order changed is worked out from it.
type RankAnswer struct {
	Order []string `json:"order"`
}

// FormRequest is a form: a flat list in the order it is shown.
type FormRequest struct {
	ID     string `json:"id"`
	Prompt string `json:"prompt"`
	Nodes  []Node `json:"nodes"`
}

// Kind is what a node of a form asks for.
type Kind string

// The kinds.
const (
	Single Kind = "single"
	Multi  Kind = "multi"
	Scale  Kind = "scale"
	Rank   Kind = "rank"
	Text   Kind = "text"
)

// Node is one question of a form.
type Node struct {
	Kind     Kind       `json:"kind"`
	ID       string     `json:"id"`
	Prompt   string     `json:"prompt"`
	Header   string     `json:"header,omitempty"`
	Required bool       `json:"required"`
	ShowIf   *Condition `json:"showIf,omitempty"`

	Options []Option `json:"options,omitempty"` // single, multi
	Scale   []Label  `json:"scale,omitempty"`
	Items   []Item   `json:"items,omitempty"` // scale, rank
	Notes   bool     `json:"notes,omitempty"` // scale
	Cutoff  int      `json:"cutoff,omitempty"`
}

// Condition shows a node when an earlier one was answered with one of the labels.
type Condition struct {
	Node  string   `json:"node"`
	AnyOf []string `json:"anyOf"`
}

// ActivityQuery has only what was asked for: what is empty or 0 was not.
type ActivityQuery struct {
	Scope     string  `json:"scope"` // running, recent, run, rollups or inbox
	RunID     string  `json:"runId,omitempty"`
	HoursBack float64 `json:"hoursBack,omitempty"`
	Limit     int     `json:"limit,omitempty"` // 1 to 100
}
