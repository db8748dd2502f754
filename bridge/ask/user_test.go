package ask

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"brainbox/bridge/tool"
	"brainbox/gate"
	"brainbox/internal/strictjson"
)

const (
	yesNo    = `[{"label":"yes","description":"do it"},{"label":"no","description":"do not"}]`
	question = `{"question":"Go on?","header":"Go","options":` + yesNo + `,"multiSelect":false}`
)

func ask(questions ...string) string { return `{"questions":[` + strings.Join(questions, ",") + `]}` }

func TestAskUser(t *testing.T) {
	asked := 0
	answer := UserAnswer{Answers: map[string]string{"Go on?": "yes"}}
	host := userHost(func(r UserRequest) (UserAnswer, error) {
		asked++
		if r.ID != "r-1" || len(r.Questions) != 1 || len(r.Questions[0].Options) != 2 {
			t.Errorf("the host was asked %+v", r)
		}
		r.Questions[0].Question = "changed" // no matter to the result
		return answer, nil
	})
	s := newSet(t, Config{Host: host})
	t.Run("bk/AU1", func(t *testing.T) {
		asked = 0
		wantResult(t, s, "ask_user", ask(question), `{"questions":[`+question+`],"answers":{"Go on?":"yes"}}`)
		if asked != 1 {
			t.Errorf("asked %d times", asked)
		}
	})
	t.Run("unknown keys are dropped", func(t *testing.T) {
		extra := strings.Replace(question, `"header"`, `"extra":1,"header"`, 1)
		wantResult(t, s, "ask_user", `{"questions":[`+extra+`],"x":{}}`, `{"questions":[`+question+`],"answers":{"Go on?":"yes"}}`)
	})
	t.Run("bk/AU8", func(t *testing.T) {
		got, err := call(t, s, "ask_user", ask(question))
		if err != nil || strings.Contains(got, "annotations") {
			t.Errorf("%s, %v", got, err)
		}
		answer.Annotations = map[string]Annotation{"Go on?": {Notes: "soon"}, "Else?": {Notes: "x"}}
		wantResult(t, s, "ask_user", ask(question), `{"questions":[`+question+`],"answers":{"Go on?":"yes"},"annotations":{"Go on?":{"notes":"soon"}}}`)
		answer.Annotations = nil
	})
	t.Run("bk/AU6 [D] keys that were not asked are dropped", func(t *testing.T) {
		answer.Answers = map[string]string{"Go on?": "my own words", "go on?": "x", "__proto__": "y", "": "z"}
		wantResult(t, s, "ask_user", ask(question), `{"questions":[`+question+`],"answers":{"Go on?":"my own words"}}`)
		answer.Answers = nil
		wantResult(t, s, "ask_user", ask(question), `{"questions":[`+question+`],"answers":{}}`)
	})
	t.Run("bk/AU7", func(t *testing.T) {
		path := t.TempDir() + "/context/policies/crew.md"
		q := strings.Replace(question, "Go on?", path, 1)
		answer.Answers = map[string]string{path: path}
		wantResult(t, s, "ask_user", ask(q), `{"questions":[`+q+`],"answers":{"`+path+`":"`+path+`"}}`)
		if _, err := os.Lstat(path); err == nil {
			t.Error("the path exists now")
		}
	})
}

func TestAskUserInput(t *testing.T) {
	s := newSet(t, Config{Host: never{t}})
	refuse := func(id, input string, words ...string) {
		t.Run(id, func(t *testing.T) { wantRefusal(t, s, "ask_user", input, fieldInvalid, words...) })
	}
	option := `{"label":"x","description":"y"}`
	options := func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat(option+",", n), ",") + "]" }
	refuse("bk/AU2 no question", ask(), "questions")
	refuse("bk/AU2 five questions", ask(question, question, question, question, question), "questions")
	refuse("bk/AU2 one option", ask(strings.Replace(question, yesNo, options(1), 1)), "options")
	refuse("bk/AU2 five options", ask(strings.Replace(question, yesNo, options(5), 1)), "options")
	refuse("bk/AU2 header of 13", ask(strings.Replace(question, `"Go"`, `"1234567890123"`, 1)), "header")
	refuse("bk/AU2 header of 13 units in seven characters", ask(strings.Replace(question, `"Go"`, `"`+strings.Repeat("\U0001F600", 6)+`x"`, 1)), "header")
	refuse("bk/AU3", ask(strings.Replace(question, `,"multiSelect":false`, "", 1)), "multiSelect", "missing")
	refuse("multiSelect of another type", ask(strings.Replace(question, `false`, `"no"`, 1)), "multiSelect")
	refuse("option without description", ask(strings.Replace(question, `,"description":"do it"`, "", 1)), "description")
	for _, input := range []string{`null`, `[]`, `"x"`, `{}`} {
		got, err := call(t, s, "ask_user", input)
		if err == nil {
			t.Errorf("%s: %s", input, got)
		}
	}
	ok := newSet(t, Config{Host: userHost(func(UserRequest) (UserAnswer, error) { return UserAnswer{}, nil })})
	for _, q := range []string{
		strings.Replace(question, yesNo, options(4), 1), strings.Replace(question, `"Go"`, `"123456789012"`, 1), strings.Replace(question, `"Go"`, `""`, 1),
		strings.Replace(question, `"Go on?"`, `""`, 1), strings.Replace(question, `"label":"yes"`, `"preview":"p","label":"yes"`, 1),
	} {
		if _, err := call(t, ok, "ask_user", ask(q, question, question, question)); err != nil {
			t.Errorf("the control %s: %v", q, err)
		}
	}
}

func TestFailures(t *testing.T) {
	fail := func(err error) *Set {
		return newSet(t, Config{Host: userHost(func(UserRequest) (UserAnswer, error) { return UserAnswer{}, err })})
	}
	t.Run("bk/AU4", func(t *testing.T) {
		got, err := call(t, fail(errors.New("socket /run/secret: gone")), "ask_user", ask(question))
		refusal(t, "rejected", got, err, "ask_user", CodeUnanswered)
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the host's own words are told: %v", err)
		}
		got, err = call(t, fail(fmt.Errorf("x: %w", &Declined{Reason: "not now" + strings.Repeat("!", 400)})), "ask_user", ask(question))
		refusal(t, "declined", got, err, "ask_user", CodeUnanswered, "not now!!!")
		if err != nil && len(err.Error()) > 400 {
			t.Errorf("%d bytes", len(err.Error()))
		}
		got, err = call(t, fail(context.Canceled), "ask_user", ask(question))
		refusal(t, "cancelled", got, err, "ask_user", CodeCancelled)
		got, err = call(t, fail(context.DeadlineExceeded), "ask_user", ask(question))
		refusal(t, "too late", got, err, "ask_user", "prompt_timeout")
		var r *tool.Refusal
		if !errors.As(err, &r) || r.Status != "timeout" {
			t.Errorf("status %+v", r)
		}
	})
	t.Run("bk/AU5", func(t *testing.T) {
		for _, host := range []Host{nil, struct{}{}, rankHost(nil)} {
			got, err := call(t, newSet(t, Config{Host: host}), "ask_user", ask(question))
			refusal(t, "no method", got, err, "ask_user", CodeUnsupported, "not supported by this host")
		}
	})
	t.Run("a host that panics", func(t *testing.T) {
		s := newSet(t, Config{Host: userHost(func(UserRequest) (UserAnswer, error) { panic("boom") })})
		got, err := call(t, s, "ask_user", ask(question))
		var r *tool.Refusal
		if err == nil || errors.As(err, &r) {
			t.Errorf("%s, %v: want an internal error", got, err)
		}
	})
	t.Run("cancelled before", func(t *testing.T) {
		s := newSet(t, Config{Host: never{t}})
		in, err := strictjson.Decode([]byte(ask(question)), strictjson.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := find(t, s, "ask_user").Plan(in)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = p.Do(ctx, &gate.Decision{Allowed: true})
		refusal(t, "cancelled before", "", err, "ask_user", CodeCancelled)
		for _, d := range []*gate.Decision{nil, {}, {RequestID: "r"}} {
			_, err = p.Do(t.Context(), d)
			refusal(t, "no decision", "", err, "ask_user", CodeNotAllowed)
		}
	})
}

// TestIDs: without an id of the decision's every question has an id of its own.
func TestIDs(t *testing.T) {
	seen := map[string]bool{}
	s := newSet(t, Config{Host: userHost(func(r UserRequest) (UserAnswer, error) {
		if len(r.ID) != 36 || r.ID[14] != '4' || seen[r.ID] {
			t.Errorf("id %q", r.ID)
		}
		seen[r.ID] = true
		return UserAnswer{}, nil
	})})
	in, err := strictjson.Decode([]byte(ask(question)), strictjson.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		p, err := find(t, s, "ask_user").Plan(in)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Do(t.Context(), &gate.Decision{Allowed: true}); err != nil {
			t.Fatal(err)
		}
	}
	if len(seen) != 20 {
		t.Errorf("%d ids", len(seen))
	}
}
