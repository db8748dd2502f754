package main

import (
	"context"
	"fmt"
	"os"

	"brainbox/bridge/ask"
	"brainbox/gate/prompt"
)

// person stands for whoever sits in front of the host. It may be asked two things.
type person struct{}

// AskUser answers the agent's questions (ask_user), which permit nothing: with the first
// option of each.
func (person) AskUser(ctx context.Context, r ask.UserRequest) (ask.UserAnswer, error) {
	answer := ask.UserAnswer{Answers: map[string]string{}}
	for _, q := range r.Questions {
		answer.Answers[q.Question] = q.Options[0].Label
	}
	return answer, ctx.Err() // a question that was withdrawn has no answer
}

// Prompt answers the gate's: may this very call be done? The rows may be shown as they are:
// nothing in them can pass for something else. The answer here is always no.
func (person) Prompt(_ context.Context, v prompt.View) (prompt.Answer, error) {
	for _, row := range v.Rows {
		fmt.Fprintf(os.Stderr, "  ask| %s  %s\n", row.Name, row.Text)
	}
	return prompt.Answer{ID: v.ID, Digest: v.Digest, Decision: prompt.Deny, Reason: "not today"}, nil
}
