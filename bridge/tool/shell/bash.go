package shell

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"strings"
	"time"

	"brainbox/bridge/run"
	"brainbox/bridge/tool"
	"brainbox/gate"
	"brainbox/internal/strictjson"
)

// Limits of an input (contract brainkit §8.3).
const (
	Name           = "bash"
	MaxCommand     = 128<<10 - 1 // bytes: with its end it is the longest argument (execve(2), MAX_ARG_STRLEN)
	MaxTimeout     = 10 * time.Minute
	DefaultTimeout = 2 * time.Minute
)

// Command is what was allowed to run.
type Command struct {
	Text    string   // as it was judged
	Argv    []string // how it is started: no profile file is read
	Timeout time.Duration
}

// Runner starts a command inside the sandbox, and nowhere else, and ends it when ctx does.
// An error says that it was not started.
type Runner interface {
	Run(ctx context.Context, c Command) (*run.Result, error)
}

// Config of the tool. The zero value leaves the running to the caller.
type Config struct {
	Runner Runner
	// LockKey gives the lock that a command needs where the repository may be written
	// inside (contract brainkit §7.3); "" is none. nil: no command needs one.
	LockKey func(command string) string
	// Most bounds the time of a command. 0 means MaxTimeout.
	Most time.Duration
}

// Bash is the tool.
type Bash struct{ c Config }

// New makes the tool.
func New(c Config) (*Bash, error) {
	if c.Most < 0 || c.Most > MaxTimeout {
		return nil, errors.New("shell: no such time")
	}
	if c.Most == 0 {
		c.Most = MaxTimeout
	}
	return &Bash{c}, nil
}

// Name is that of [tool.Tool].
func (b *Bash) Name() string { return Name }

// Surface is that of [tool.Surfaced].
func (b *Bash) Surface() string { return Name }

// Plan is that of [tool.Tool]. Nothing but the command and its time can be said: no
// variable, no directory and no standard input.
func (b *Bash) Plan(v *strictjson.Value) (tool.Planned, error) {
	f := strictjson.Bind(v, "command", "timeout_ms")
	text := f.String("command") // U+0000 ends it for the kernel, and not for who reads it
	timeout := min(DefaultTimeout, b.c.Most)
	if f.Has("timeout_ms") {
		timeout = time.Duration(f.Int("timeout_ms", 1, b.c.Most.Milliseconds())) * time.Millisecond
	}
	if strings.TrimSpace(text) == "" {
		f.Invalid("command", "empty")
	}
	if err := f.Err(); err != nil {
		return nil, malformed(err)
	}
	if len(text) > MaxCommand {
		return nil, &tool.Refusal{Code: "payload_too_large", Message: "command: less than 128 KiB are possible"}
	}
	return &planned{b: b, c: Command{Text: text, Argv: run.Bash(text), Timeout: timeout}}, nil
}

func malformed(err error) *tool.Refusal {
	why := "it is malformed"
	var bad *strictjson.Error
	if errors.As(err, &bad) {
		why = strings.TrimPrefix("field "+bad.Field+": ", "field : ") + bad.Msg
	}
	return &tool.Refusal{Code: "invalid_request", Message: why}
}

// planned is one command.
type planned struct {
	b *Bash
	c Command
}

// Reading is that of [tool.Planned].
func (p *planned) Reading() gate.Reading {
	return gate.Reading{Value: p.c.Text, Effect: p.effect()}
}

func (p *planned) effect() []byte {
	b := binary.BigEndian.AppendUint64([]byte("brainbox/tool/v1 bash "), uint64(p.c.Timeout)) //nolint:gosec // not negative
	sum := sha256.Sum256(append(b, p.c.Text...))
	return sum[:]
}

// Locks is that of [tool.Planned].
func (p *planned) Locks() []string {
	if p.b.c.LockKey == nil {
		return nil
	}
	if key := p.b.c.LockKey(p.c.Text); key != "" {
		return []string{key}
	}
	return nil
}

// Do is that of [tool.Planned].
func (p *planned) Do(ctx context.Context, d *gate.Decision) (*strictjson.Value, error) {
	if d == nil || !d.Allowed || d.Value != p.c.Text || !bytes.Equal(d.Effect, p.effect()) {
		return nil, &tool.Refusal{Status: "denied", Code: "authority_revoked", Message: "this is not what was allowed"}
	}
	if ctx.Err() != nil { // before the locks, or while it waited for them
		return nil, cancelled()
	}
	if p.b.c.Runner == nil {
		v := strictjson.Object(
			strictjson.Pair("place", strictjson.Text("sandbox")), strictjson.Pair("command", strictjson.Text(p.c.Text)),
			strictjson.Pair("timeout_ms", strictjson.Int(p.c.Timeout.Milliseconds())),
		)
		return &v, nil
	}
	res, err := p.b.c.Runner.Run(ctx, p.c)
	switch {
	case ctx.Err() != nil && (err != nil || res != nil && res.Cause == run.Cancelled):
		return nil, cancelled()
	case err != nil || res == nil:
		return nil, &tool.Refusal{Status: "unavailable", Code: "command_start_failed", Message: "the command was not started"}
	}
	v := res.Value()
	return &v, nil
}

func cancelled() *tool.Refusal {
	return &tool.Refusal{Code: "cancelled", Message: "the call was given up"}
}
