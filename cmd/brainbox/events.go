package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"brainbox/bridge/client"
	"brainbox/bridge/wire"
	"brainbox/internal/strictjson"
	"brainbox/internal/visible"
)

// eventsAction is brainbox events.
func eventsAction(status *int) cli.ActionFunc {
	return func(c *cli.Context) error {
		switch {
		case c.Bool("verify"):
			return verifyAudit(c, status)
		case c.NArg() > 0:
			return refuse("events takes a FILE with --verify only", "brainbox events --audit FILE prints one")
		case c.String("head") != "":
			return refuse("--head is for --verify", "")
		case c.String("audit") != "":
			return printAudit(c)
		}
		since := uint64(0)
		if text := c.String("since"); text != "" {
			n, err := strconv.ParseUint(text, 10, 62)
			if err != nil {
				return refuse("--since "+quote(text)+": no number of an event", "")
			}
			since = n
		}
		ctx, stop := interrupted()
		defer stop()
		conn, err := openSession(ctx, c)
		if err != nil {
			return err
		}
		defer conn.Close()
		return ended(follow(ctx, conn, c.App.Writer, since, c.Bool("follow"), c.Bool("json")))
	}
}

// allTopics is without what is asked: who asks for that as well counts as somebody who
// answers, and the host would wait for him.
var allTopics = []string{"permissions:ready", "permissions:decision", "permissions:prompt_closed", "bridge:call", "gate:policy_error"}

// quiet is how long the last events are waited for without --follow: the newest number may be one
// of an event of another topic.
const quietTime = 300 * time.Millisecond

// follow prints events.
func follow(ctx context.Context, conn *client.UI, w io.Writer, since uint64, on, asJSON bool) error {
	newest, err := conn.Subscribe(ctx, allTopics, &since)
	if err != nil {
		return err
	}
	for {
		next, cancel := ctx, context.CancelFunc(func() {})
		if !on {
			next, cancel = context.WithTimeout(ctx, quietTime)
		}
		e, err := conn.Next(next)
		timedOut := next.Err() != nil && ctx.Err() == nil
		cancel()
		if timedOut {
			return nil
		}
		if err != nil {
			return err
		}
		if !on && e.Seq > newest {
			return nil
		}
		line := eventLine(&e)
		if asJSON {
			v := strictjson.Object(strictjson.Pair("topic", strictjson.Text(e.Topic)), strictjson.Pair("seq", strictjson.Uint(e.Seq)),
				strictjson.Pair("time", strictjson.Text(e.Time.UTC().Format(time.RFC3339Nano))), strictjson.Pair("data", e.Data))
			line = string(strictjson.Append(nil, &v))
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
}

// eventLine is an event for people.
func eventLine(e *wire.Event) string {
	return e.Time.Local().Format(time.TimeOnly) + " " + strconv.FormatUint(e.Seq, 10) + " " + dataLine(e.Topic, &e.Data)
}

// dataLine says what an event is about. Its texts are the host's, redacted and bounded there.
func dataLine(topic string, data *strictjson.Value) string {
	text := func(key string) string {
		if v := data.Get(key); v != nil && (v.Kind == strictjson.KindString || v.Kind == strictjson.KindNumber) {
			return visible.Line(v.Text)
		}
		return ""
	}
	and := func(word, value string) string {
		if value == "" {
			return ""
		}
		return word + value
	}
	switch topic {
	case "permissions:decision":
		return text("result") + " " + text("surface") + " " + text("value") + " (" + text("resolution") +
			and(", rule ", text("matchedPattern")) + and(" of ", text("origin")) + and(", by ", text("answeredBy")) + ")"
	case "permissions:prompt_closed":
		return "prompt " + text("requestId") + " closed: " + text("reason")
	case "bridge:call":
		return "call " + text("tool") + " " + text("operation") + ": " + text("status") + and(" ", text("error")) + ", " + text("durationMs") + " ms"
	case "gate:policy_error":
		return "policy of " + text("origin") + " not read: " + text("message")
	case client.TopicGap:
		return "events " + text("from") + " to " + text("to") + " are gone"
	}
	return visible.Line(topic)
}
