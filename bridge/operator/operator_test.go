package operator

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"brainbox/bridge/bridgetest"
	"brainbox/bridge/client"
	"brainbox/gate/prompt"
	"brainbox/internal/strictjson"
)

const patience = 30 * time.Second

// ui is a person: what is shown is sent to seen, and what comes back is the answer.
type ui struct {
	seen    chan prompt.View
	answers chan prompt.Answer
	ended   chan struct{} // a prompt was taken away
}

func newUI() *ui {
	return &ui{make(chan prompt.View, 16), make(chan prompt.Answer, 16), make(chan struct{}, 16)}
}

func (u *ui) Prompt(ctx context.Context, v prompt.View) (prompt.Answer, error) {
	u.seen <- v
	select {
	case a := <-u.answers:
		if a.Reason == "fail" {
			return prompt.Answer{}, errors.New("no terminal")
		}
		return a, nil
	case <-ctx.Done():
		u.ended <- struct{}{}
		return prompt.Answer{}, ctx.Err()
	}
}

func get[T any](t *testing.T, what string, ch <-chan T) T {
	t.Helper()
	select {
	case x := <-ch:
		return x
	case <-time.After(patience):
		t.Fatalf("not so: %s", what)
		panic("unreachable")
	}
}

// world is a real bridge with an agent and an operator.
type world struct {
	real  *bridgetest.Real
	agent *client.Client
	conn  *client.UI
	ui    *ui
	told  chan error
	over  chan error
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{real: bridgetest.StartReal(t, `[{"surface":"write","pattern":"*","action":"ask"}]`), ui: newUI(), told: make(chan error, 16), over: make(chan error, 1)}
	var err error
	if w.agent, err = client.Open(t.Context(), client.Options{Socket: w.real.Agent}); err != nil {
		t.Fatal(err)
	}
	w.conn = w.open(t)
	if _, err := w.conn.Prompts(t.Context()); err != nil { // from now on prompts wait, whenever Serve begins
		t.Fatal(err)
	}
	go func() {
		w.over <- Serve(t.Context(), w.conn, w.ui, func(_ string, err error) { w.told <- err })
	}()
	t.Cleanup(func() {
		_, _ = w.agent.Close(), w.conn.Close()
		if err := <-w.over; err != nil {
			t.Log(err) // a connection that was closed
		}
	})
	return w
}

func (w *world) open(t *testing.T) *client.UI {
	t.Helper()
	conn, err := client.OpenUI(t.Context(), w.real.UI, w.real.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// ask has the agent ask for advice; the answer is true for an approval.
func (w *world) ask(ctx context.Context, message string) <-chan client.Said {
	out := make(chan client.Said, 1)
	go func() {
		said, _ := w.agent.Prompt(ctx, client.Question{Surface: "bash", Value: "npm publish", Message: message})
		out <- said
	}()
	return out
}

func TestAPromptIsShownAndAnswered(t *testing.T) {
	w := newWorld(t)
	for _, want := range []bool{false, true, true} {
		out := w.ask(t.Context(), "please\x1b[2J hurry")
		v := get(t, "it is shown", w.ui.seen)
		text := strings.Join(v.Lines(80, true), "\n")
		if !strings.Contains(text, "npm publish") || !strings.Contains(text, "hurry") || strings.ContainsRune(text, 0x1b) || v.Source != prompt.RPCPrompt {
			t.Errorf("shown: %q, %v", text, v.Source)
		}
		a := prompt.Answer{}
		if want {
			a.Decision = prompt.Approve
		} else {
			a.Reason = "not today"
		}
		w.ui.answers <- a
		if said := get(t, "it is answered", out); said.Approved != want {
			t.Errorf("%+v, want %v", said, want)
		}
	}
}

// A prompt that is closed elsewhere is taken away, and one that this user interface cannot ask
// stays for another.
func TestAPromptThatIsTakenAway(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	w.ask(ctx, "")
	get(t, "it is shown", w.ui.seen)
	cancel() // nobody asks any more
	get(t, "it is taken away", w.ui.ended)

	out := w.ask(t.Context(), "")
	v := get(t, "it is shown", w.ui.seen)
	other := w.open(t)
	defer other.Close()
	if err := other.Answer(t.Context(), Reply(v, prompt.Answer{Decision: prompt.Approve})); err != nil {
		t.Fatal(err)
	}
	get(t, "it is taken away", w.ui.ended)
	if said := get(t, "it is answered", out); !said.Approved {
		t.Errorf("%+v", said)
	}

	out = w.ask(t.Context(), "")
	v = get(t, "it is shown", w.ui.seen)
	w.ui.answers <- prompt.Answer{Reason: "fail"}
	if err := get(t, "it is told", w.told); err == nil {
		t.Error("no error")
	}
	if err := other.Answer(t.Context(), Reply(v, prompt.Answer{})); err != nil {
		t.Fatal(err)
	}
	if said := get(t, "it is answered", out); said.Approved {
		t.Errorf("%+v", said)
	}
	if len(w.ui.seen) > 0 {
		t.Error("it was shown again")
	}
}

// An answer to another snapshot, or to none, has no effect.
func TestAStaleAnswer(t *testing.T) {
	w := newWorld(t)
	out := w.ask(t.Context(), "")
	v := get(t, "it is shown", w.ui.seen)
	other := w.open(t)
	defer other.Close()
	bad := v
	bad.Digest[0] ^= 1
	for _, x := range []prompt.View{bad, {ID: "perm-1", Digest: v.Digest}} {
		if err := other.Answer(t.Context(), Reply(x, prompt.Answer{Decision: prompt.Approve})); err == nil {
			t.Error("a stale answer counts")
		}
	}
	w.ui.answers <- prompt.Answer{Decision: prompt.Approve}
	if said := get(t, "it is answered", out); !said.Approved { // the control
		t.Errorf("%+v", said)
	}
}

func TestTheEndOfASession(t *testing.T) {
	w := newWorld(t)
	w.ask(t.Context(), "")
	get(t, "it is shown", w.ui.seen)
	_ = w.conn.Close()
	if err := get(t, "it has ended", w.over); err == nil {
		t.Error("no error")
	}
	w.over <- nil
}

func TestReply(t *testing.T) {
	v := prompt.View{ID: "x"}
	for _, c := range []struct {
		a    prompt.Answer
		want string
	}{
		{prompt.Answer{}, "deny  0s "},
		{prompt.Answer{Scope: prompt.Scope{Lasts: prompt.ForRun, WholeSession: true}, Reason: "r"}, "deny  0s r"},
		{prompt.Answer{Decision: 7}, "deny  0s "},
		{prompt.Answer{Decision: prompt.Approve, Reason: "r"}, "approve  0s "},
		{prompt.Answer{Decision: prompt.Approve, Scope: prompt.Scope{Lasts: prompt.ForRun}}, "approve_session this_agent 0s "},
		{prompt.Answer{Decision: prompt.Approve, Scope: prompt.Scope{Lasts: prompt.ForTime, For: time.Minute, WholeSession: true}}, "approve_session whole_session 1m0s "},
	} {
		r := Reply(v, c.a)
		if got := r.Decision + " " + r.Scope + " " + r.For.String() + " " + r.Reason; got != c.want || r.RequestID != "x" {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// good is a prompt as the host writes it.
func good() string {
	return `{"requestId":"perm-1","digest":"` + strings.Repeat("a", 64) + `","sessionId":"s","agentName":null,"source":"tool_call",` +
		`"rows":[{"name":"bash","text":"ls","agent":false}],"warnings":[],"grant":null,"editable":false,"refused":0,"leftMs":1000,"cut":false,"later":1}`
}

func TestViewThatIsRefused(t *testing.T) {
	for name, change := range map[string][2]string{
		"no facts":       {`[{"name":"bash","text":"ls","agent":false}]`, `[]`},
		"no digest":      {strings.Repeat("a", 64), ""},
		"another source": {"tool_call", "tool"},
		"a number":       {`"ls"`, `1`},
		"cut":            {`"cut":false`, `"cut":true`},
		"no cut":         {`"cut":false`, `"c":false`},
	} {
		v, err := strictjson.Decode([]byte(strings.Replace(good(), change[0], change[1], 1)), strictjson.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := View(v); err == nil {
			t.Errorf("%s: is a prompt", name)
		}
	}
	v, err := strictjson.Decode([]byte(strings.Replace(good(), `"ls"`, `"ls\u001b\u202e"`, 1)), strictjson.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	view, err := View(v) // the control
	if err != nil || view.Rows[0].Text != `ls\x1b\u{202e}` || view.Rows[0].Whole != view.Rows[0].Text {
		t.Errorf("%+v %v", view, err)
	}
}

// FuzzView: whatever a host says is shown without a byte that moves a cursor.
func FuzzView(f *testing.F) {
	f.Add(good())
	f.Add(strings.Replace(good(), "ls", `\u001b[2J`, 1))
	f.Fuzz(func(t *testing.T, text string) {
		v, err := strictjson.Decode([]byte(text), strictjson.Limits{})
		if err != nil {
			return
		}
		view, err := View(v)
		if err != nil {
			return
		}
		for _, line := range view.Lines(80, true) {
			for _, r := range line {
				if r < 0x20 || r >= 0x7f && r < 0xa0 {
					t.Fatalf("%q", line)
				}
			}
		}
	})
}
