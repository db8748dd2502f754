package event

import (
	"strconv"

	"brainbox/internal/strictjson"
)

// ProtocolVersion is the version of the payloads. Members are only added within it.
const ProtocolVersion = 1

// Topic is what an event is about.
type Topic string

// The topics.
const (
	TopicReady        Topic = "permissions:ready"         // the gate answers; latched
	TopicUIPrompt     Topic = "permissions:ui_prompt"     // a prompt is about to be shown
	TopicDecision     Topic = "permissions:decision"      // a request is decided
	TopicPromptClosed Topic = "permissions:prompt_closed" // a prompt is no longer answered
	TopicCall         Topic = "bridge:call"               // a call of a tool is over
	TopicPolicyError  Topic = "gate:policy_error"         // a policy could not be read again
	TopicGap          Topic = "events:gap"                // the subscriber missed events
)

// Topics lists all topics. [TopicGap] comes to every subscriber.
func Topics() []Topic {
	return []Topic{TopicReady, TopicUIPrompt, TopicDecision, TopicPromptClosed, TopicCall, TopicPolicyError, TopicGap}
}

// Payload is what [Hub.Publish] takes: UIPrompt, PromptClosed, Call or PolicyError.
// Decisions come from a [Record], ready from [Hub.Ready], gaps from the hub itself.
type Payload interface {
	topic() Topic
	data(w *writer) strictjson.Value
}

// Fact is one row of what a prompt shows.
type Fact struct {
	Name  string // ours, such as "cwd"
	Text  string
	Agent bool // the sandbox wrote the text
}

// UIPrompt is published when a prompt becomes the one that is shown.
type UIPrompt struct {
	RequestID string
	Source    string // tool_call, rpc_prompt or mediated_write
	Surface   string
	Value     string
	AgentName string // empty: null
	Digest    string // what an answer must carry
	Request   []Fact // of more than 64 the head and the tail are published
}

func (UIPrompt) topic() Topic { return TopicUIPrompt }

func (p UIPrompt) data(w *writer) strictjson.Value {
	return strictjson.Object(
		strictjson.Pair("requestId", w.own(p.RequestID)),
		strictjson.Pair("source", w.own(p.Source)),
		strictjson.Pair("surface", w.text(p.Surface)),
		strictjson.Pair("value", w.value(p.Value)),
		strictjson.Pair("agentName", w.orNull(p.AgentName)),
		strictjson.Pair("request", strictjson.Array(w.facts(p.Request)...)),
		strictjson.Pair("forwarding", strictjson.Null()),
		strictjson.Pair("digest", w.own(p.Digest)),
		strictjson.Pair("sessionId", w.session),
	)
}

// mostFacts bounds the facts of an event, and with them its size: one request with many of
// them would take the place of all other events that are kept.
const mostFacts = 64

// facts are the rows of a request; of too many the head and the tail.
func (w *writer) facts(all []Fact) []strictjson.Value {
	row := func(name, text strictjson.Value, agent bool) strictjson.Value {
		return strictjson.Object(
			strictjson.Pair("name", name), strictjson.Pair("text", text), strictjson.Pair("agent", strictjson.Bool(agent)))
	}
	var out []strictjson.Value
	rows := func(some []Fact) {
		for _, f := range some {
			out = append(out, row(w.text(f.Name), w.text(f.Text), f.Agent))
		}
	}
	if len(all) <= mostFacts {
		rows(all)
		return out
	}
	const head = mostFacts * 2 / 3
	const tail = mostFacts - head - 1
	rows(all[:head])
	more := `\{` + strconv.Itoa(len(all)-head-tail) + ` more rows}`
	out = append(out, row(strictjson.Text("facts"), strictjson.Text(more), false))
	rows(all[len(all)-tail:])
	return out
}

// PromptClosed is published for each prompt that was queued, shown or not. It holds our own
// words only: preparing it calls no redactor.
type PromptClosed struct {
	RequestID string
	Reason    string // answered, timeout, caller_gone, no_ui, cooldown or shutting_down
	Shown     bool
}

func (PromptClosed) topic() Topic { return TopicPromptClosed }

func (p PromptClosed) data(w *writer) strictjson.Value {
	return strictjson.Object(
		strictjson.Pair("requestId", w.own(p.RequestID)),
		strictjson.Pair("reason", w.own(p.Reason)),
		strictjson.Pair("shown", strictjson.Bool(p.Shown)),
		strictjson.Pair("sessionId", w.session),
	)
}

// Call is published when a call of a tool is over.
type Call struct {
	RequestID       string
	ClientRequestID string // empty: null
	Tool, Operation string
	Status          string // of the result envelope
	ErrorCode       string // empty: null
	DurationMS      int64
}

func (Call) topic() Topic { return TopicCall }

func (c Call) data(w *writer) strictjson.Value {
	return strictjson.Object(
		strictjson.Pair("requestId", w.own(c.RequestID)),
		strictjson.Pair("clientRequestId", w.orNull(c.ClientRequestID)),
		strictjson.Pair("tool", w.text(c.Tool)),
		strictjson.Pair("operation", w.text(c.Operation)),
		strictjson.Pair("status", w.text(c.Status)),
		strictjson.Pair("error", w.orNull(c.ErrorCode)),
		strictjson.Pair("durationMs", strictjson.Int(c.DurationMS)),
		strictjson.Pair("sessionId", w.session),
	)
}

// PolicyError is published when a policy could not be read again: the old one is kept,
// and what it allows is asked.
type PolicyError struct {
	Origin  string // global, project, agent or session
	Message string
}

func (PolicyError) topic() Topic { return TopicPolicyError }

func (p PolicyError) data(w *writer) strictjson.Value {
	return strictjson.Object(
		strictjson.Pair("origin", w.text(p.Origin)),
		strictjson.Pair("message", w.value(p.Message)),
		strictjson.Pair("sessionId", w.session),
	)
}

// gap tells a subscriber that it missed the events from one number to another, of which
// dropped were of its topics, or may have been.
func gap(from, to, dropped uint64) strictjson.Value {
	return strictjson.Object(
		strictjson.Pair("from", strictjson.Uint(from)),
		strictjson.Pair("to", strictjson.Uint(to)),
		strictjson.Pair("dropped", strictjson.Uint(dropped)),
	)
}
