package audit

import (
	"context"
	"errors"

	"brainbox/gate/event"
	"brainbox/internal/strictjson"
)

// mostAhead is how many lines of a hub are on their way at once, so that they share what a
// line costs.
const mostAhead = 256

// Follow writes the events of a hub, from the first that it still keeps, until the hub is
// closed, which is nil, or ctx ends, or a line cannot be written. decisions says whether
// decisions are among them, for who does not write them himself. Events that are gone before
// they could be written are a line of type gap.
func (l *Log) Follow(ctx context.Context, hub *event.Hub, decisions bool) error {
	f := &follower{log: l, topics: []event.Topic{event.TopicUIPrompt, event.TopicPromptClosed, event.TopicCall, event.TopicPolicyError}}
	if decisions {
		f.topics = append(f.topics, event.TopicDecision)
	}
	for {
		err := f.read(ctx, hub)
		if errors.Is(err, event.ErrSlow) { // what was missed is still in the ring, or a gap
			continue
		}
		// What was read is written before the reason to end is told.
		for len(f.ahead) > 0 {
			if werr := f.oldest(); werr != nil {
				return werr
			}
		}
		if errors.Is(err, event.ErrClosed) {
			return nil
		}
		return err
	}
}

// follower is a hub's reader and its place.
type follower struct {
	log    *Log
	topics []event.Topic
	since  uint64 // the last event that was read
	ahead  []*waiter
}

func (f *follower) read(ctx context.Context, hub *event.Hub) error {
	sub, err := hub.Subscribe(event.Subscribe{Topics: f.topics, Since: &f.since})
	if err != nil {
		return err
	}
	defer sub.Close()
	for {
		e, err := sub.Next(ctx)
		if err != nil {
			return err
		}
		if e.Topic != event.TopicGap && e.Seq <= f.since {
			continue
		}
		f.since = e.Seq
		f.ahead = append(f.ahead, f.log.add(entry{kind: kindOf(e.Topic), at: e.Time, data: f.data(&e)}))
		if len(f.ahead) >= mostAhead {
			if err := f.oldest(); err != nil {
				return err
			}
		}
	}
}

// data wraps an event. The hub has redacted, bounded and escaped its data already.
func (f *follower) data(e *event.Event) []byte {
	topic, seq := strictjson.Text(string(e.Topic)), strictjson.Uint(e.Seq)
	out := strictjson.Append([]byte(`{"topic":`), &topic)
	out = strictjson.Append(append(out, `,"event":`...), &seq)
	out = append(append(append(out, `,"data":`...), e.Data...), '}')
	if len(out) <= mostData {
		return out
	}
	v := strictjson.Object(strictjson.Pair("topic", topic), strictjson.Pair("event", seq), strictjson.Pair("omitted", strictjson.Bool(true)), strictjson.Pair("bytes", strictjson.Int(int64(len(e.Data)))))
	return strictjson.Append(nil, &v)
}

func kindOf(t event.Topic) Kind {
	switch t {
	case event.TopicDecision:
		return Decision
	case event.TopicGap:
		return Gap
	case event.TopicReady, event.TopicUIPrompt, event.TopicPromptClosed, event.TopicCall, event.TopicPolicyError:
	}
	return Event
}

// oldest waits for the first line that is on its way.
func (f *follower) oldest() error {
	w := f.ahead[0]
	f.ahead = f.ahead[1:]
	return f.log.wait(w)
}
