package permit

import (
	"context"
	"errors"
	"fmt"
)

// Bridge asks the host. An error is a rejection, which the adapter turns into its
// runtime's tool error.
type Bridge interface {
	RequestPermission(ctx context.Context, r Request) (Answer, error)
}

// Checkpointer is a bridge that records a request which nobody can answer.
type Checkpointer interface {
	// CheckpointPermission writes the record before it returns, and then says that it
	// is durable. False without an error, for one that writes later, is a mistake.
	CheckpointPermission(r Request) (durable bool, err error)
}

// Reporter is a bridge that takes activity events. That it fails changes nothing.
type Reporter interface {
	ReportActivity(d Denied) error
}

// ErrCheckpoint is a checkpoint that has not written its record when it returns.
var ErrCheckpoint = errors.New("permit: the checkpoint returned before its record was durable")

// Options of a request.
type Options struct {
	// NoGrantSurface: nobody can answer in this turn, so nobody is asked.
	NoGrantSurface bool
}

// Ask has the host decide (requestToolPermission). Without a bridge, or without anybody
// to ask, the decision is a denial that names the tool. The error is the checkpoint's or
// the bridge's; the call must not run then.
func Ask(ctx context.Context, b Bridge, r Request, o Options) (Decision, error) {
	if o.NoGrantSurface {
		return refuse(b, r)
	}
	if b == nil {
		return Decision{Message: fmt.Sprintf("The tool %s did not run: no turn is active that could approve it.", shown(r.Tool))}, nil
	}
	a, err := b.RequestPermission(ctx, r)
	if err == nil {
		err = ctx.Err() // an answer after the end of the turn is none
	}
	if err != nil {
		return Decision{Message: deniedWord}, err
	}
	return a.decide(r.Tool), nil
}

// refuse denies without asking.
func refuse(b Bridge, r Request) (Decision, error) {
	d := Decision{Message: refusal(r)}
	if c, ok := b.(Checkpointer); ok {
		durable, err := c.CheckpointPermission(r)
		if err == nil && !durable {
			err = ErrCheckpoint
		}
		if err != nil { // an escalation that was lost must be seen
			return d, err
		}
	}
	report(b, Denied{ToolUseID: r.ID, Kind: r.Kind, Reason: d.Message})
	return d, nil
}

// refusal can be read aloud, and holds nothing of the call's arguments.
func refusal(r Request) string {
	if r.Kind == Command {
		return fmt.Sprintf("This call of %s needs to be confirmed, and nobody can confirm it here. It did not run.", shown(r.Tool))
	}
	return fmt.Sprintf("The tool %s needs to be approved, and nobody can approve it here. It did not run.", shown(r.Tool))
}

// report tells a reporter, whose failure is its own.
func report(b Bridge, d Denied) {
	r, ok := b.(Reporter)
	if !ok {
		return
	}
	defer func() { _ = recover() }()
	_ = r.ReportActivity(d)
}
