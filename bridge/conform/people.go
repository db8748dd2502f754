package conform

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"brainbox/bridge/ask"
	"brainbox/bridge/run"
	"brainbox/bridge/tool/shell"
	"brainbox/gate/prompt"
)

// Host answers for a scene what tools ask: it is one for package ask, and paints masks. Its
// answers are fixed.
type Host struct{ asked atomic.Int32 }

// Asked is how often it was.
func (h *Host) Asked() int { return int(h.asked.Load()) }

// AskUser is that of [ask.UserAsker]: the last option of each question.
func (h *Host) AskUser(_ context.Context, r ask.UserRequest) (ask.UserAnswer, error) {
	h.asked.Add(1)
	a := ask.UserAnswer{Answers: map[string]string{}}
	for _, q := range r.Questions {
		a.Answers[q.Question] = q.Options[len(q.Options)-1].Label
	}
	return a, nil
}

// AskUserList is that of [ask.ListAsker]: the last label for the first item.
func (h *Host) AskUserList(_ context.Context, r ask.ListRequest) (ask.ListAnswer, error) {
	h.asked.Add(1)
	return ask.ListAnswer{Answers: map[string]string{r.Items[0].ID: r.Scale[len(r.Scale)-1].Label}}, nil
}

// AskUserRank is that of [ask.RankAsker]: the other way round.
func (h *Host) AskUserRank(_ context.Context, r ask.RankRequest) (ask.RankAnswer, error) {
	h.asked.Add(1)
	var a ask.RankAnswer
	for _, i := range r.Items {
		a.Order = append(a.Order, i.ID)
	}
	slices.Reverse(a.Order)
	return a, nil
}

// AskUserForm is that of [ask.FormAsker]: a text for the first node.
func (h *Host) AskUserForm(_ context.Context, r ask.FormRequest) (json.RawMessage, error) {
	h.asked.Add(1)
	return json.Marshal(map[string]any{"answers": map[string]string{r.Nodes[0].ID: "a text"}})
}

// QueryActivity is that of [ask.ActivityQuerier].
func (h *Host) QueryActivity(_ context.Context, q ask.ActivityQuery) (json.RawMessage, error) {
	h.asked.Add(1)
	return json.Marshal(map[string]string{"scope": q.Scope, "title": "the only run"})
}

// CurrentLocation is that of [ask.Locator].
func (h *Host) CurrentLocation(context.Context, ask.LocationQuery) (ask.Location, error) {
	h.asked.Add(1)
	return ask.Location{Latitude: 47.5, Longitude: 8.25, AccuracyMeters: 12.5, At: time.Unix(1_800_000_000, 0)}, nil
}

// RequestMask is that of package mask's Asker.
func (h *Host) RequestMask(context.Context, string, string) ([]byte, error) {
	h.asked.Add(1)
	return []byte(painted), nil
}

// person answers prompts, one after the other, as the scene says; then with the last one.
type person struct {
	answers []prompt.Answer

	mu    sync.Mutex
	asked int
}

// Prompt is that of [prompt.UI].
func (p *person) Prompt(_ context.Context, v prompt.View) (prompt.Answer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	if len(p.answers) == 0 {
		return prompt.Answer{}, errors.New("conform: nobody is there")
	}
	a := p.answers[min(p.asked, len(p.answers))-1]
	a.ID, a.Digest = v.ID, v.Digest
	return a, nil
}

func (p *person) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

// runner writes down what would be run inside.
type runner struct {
	mu  sync.Mutex
	ran []string
}

// Run is that of [shell.Runner].
func (r *runner) Run(_ context.Context, c shell.Command) (*run.Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ran = append(r.ran, c.Text)
	return &run.Result{Output: []run.Chunk{{Data: []byte("it ran\n")}}}, nil
}

func (r *runner) commands() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.ran)
}
