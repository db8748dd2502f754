package operator

import (
	"context"
	"encoding/hex"
	"errors"

	"brainbox/bridge/client"
	"brainbox/bridge/wire"
	"brainbox/gate/event"
	"brainbox/gate/prompt"
	"brainbox/internal/strictjson"
)

// Serve shows the prompts of a session on ui, one after the other, until ctx or the connection
// ends. A prompt that ui fails on is not shown again by it, and stays for others. told, if not
// nil, is given what became of a prompt other than by an answer: a line for the operator.
func Serve(ctx context.Context, conn *client.UI, ui prompt.UI, told func(id string, err error)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := &server{conn: conn, ui: ui, told: told, declined: map[string]bool{}, closed: make(chan string, 64), more: make(chan struct{}, 1)}
	if s.told == nil {
		s.told = func(string, error) {}
	}
	if _, err := conn.Subscribe(ctx, []string{string(event.TopicUIPrompt), string(event.TopicPromptClosed)}, nil); err != nil {
		return err
	}
	go func() { cancel(s.listen(ctx)) }() // the end of the connection ends a prompt, too
	for {
		if err := s.next(ctx); err != nil {
			return err
		}
		select {
		case <-s.more:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// server is one connection's prompts.
type server struct {
	conn     *client.UI
	ui       prompt.UI
	told     func(id string, err error)
	declined map[string]bool // what this user interface could not ask
	closed   chan string     // ids of prompts that are no longer asked; empty: any may be
	more     chan struct{}   // one place: the list may be another
}

// listen reads events: one that was missed may have been about any prompt.
func (s *server) listen(ctx context.Context) error {
	for {
		e, err := s.conn.Next(ctx)
		if err != nil {
			return err
		}
		switch event.Topic(e.Topic) {
		case event.TopicPromptClosed:
			s.close(ctx, strictjson.BindLenient(&e.Data).String("requestId"))
		case event.TopicGap:
			s.close(ctx, "")
		case event.TopicUIPrompt, event.TopicReady, event.TopicDecision, event.TopicCall, event.TopicPolicyError:
		}
		select {
		case s.more <- struct{}{}:
		default:
		}
	}
}

func (s *server) close(ctx context.Context, id string) {
	select {
	case s.closed <- id:
	case <-ctx.Done():
	}
}

// next shows what is asked until nothing is, or only what cannot be shown.
func (s *server) next(ctx context.Context) error {
	for {
		for drained := false; !drained; {
			select {
			case <-s.closed: // of what was before this list
			default:
				drained = true
			}
		}
		list, err := s.conn.Prompts(ctx)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			clear(s.declined)
			return nil
		}
		v, err := View(&list[0])
		if errors.Is(err, ErrCut) { // the others took the room
			v, err = s.alone(ctx, v.ID)
		}
		if s.declined[v.ID] {
			return nil
		}
		if err == nil {
			err = s.show(ctx, v)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			s.declined[v.ID] = true
			s.told(v.ID, err)
		}
	}
}

// alone reads one prompt by itself.
func (s *server) alone(ctx context.Context, id string) (prompt.View, error) {
	v, err := s.conn.Prompt(ctx, id)
	if err != nil {
		return prompt.View{ID: id}, err
	}
	return View(v)
}

// show shows one prompt and sends the answer. The error is why it could not be asked here.
func (s *server) show(ctx context.Context, v prompt.View) error {
	asked, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for {
			select {
			case id := <-s.closed:
				if id == v.ID || id == "" && !s.pending(asked, v.ID) {
					cancel()
				}
			case <-stop:
				return
			}
		}
	}()
	ans, err := s.ui.Prompt(asked, v)
	close(stop)
	<-watched
	switch {
	case asked.Err() != nil: // closed elsewhere, or the end
		return nil
	case err != nil:
		return err
	}
	err = s.conn.Answer(ctx, Reply(v, ans))
	var refused *wire.Error
	if errors.As(err, &refused) && refused.Code == wire.CodeStalePrompt {
		s.told(v.ID, errors.New("somebody else has answered, or it is no longer asked"))
		return nil
	}
	return err
}

// pending reports whether a prompt is still asked; what is not known is taken for asked.
func (s *server) pending(ctx context.Context, id string) bool {
	v, err := s.conn.Prompt(ctx, id)
	return err != nil || v != nil
}

// Reply is an answer to a view in the words of prompt.answer.
func Reply(v prompt.View, a prompt.Answer) client.Reply {
	r := client.Reply{RequestID: v.ID, Digest: hex.EncodeToString(v.Digest[:]), Decision: "deny"}
	if a.Decision != prompt.Approve {
		r.Reason = a.Reason
		return r
	}
	r.Decision = "approve"
	switch a.Scope.Lasts {
	case prompt.Once:
		return r
	case prompt.ForTime:
		r.For = a.Scope.For
	case prompt.ForRun:
	}
	r.Decision, r.Scope = "approve_session", "this_agent"
	if a.Scope.WholeSession {
		r.Scope = "whole_session"
	}
	return r
}
