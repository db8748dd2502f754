package bridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"brainbox/bridge/envelope"
	"brainbox/bridge/tool"
	"brainbox/bridge/wire"
	"brainbox/gate"
	"brainbox/gate/event"
	"brainbox/gate/prompt"
	"brainbox/internal/strictjson"
)

// Config is what a [Server] is made of. Session, Gate, Hub and Redact are required.
type Config struct {
	Session string
	Agent   string // what calls are made as, bound to the listener; may be empty
	Cwd     string // where relative paths of calls start: absolute; empty: not known

	Gate   *gate.Gate
	Hub    *event.Hub
	Broker *prompt.Broker // nil: there are no prompts to list or answer

	Parent   *Parent     // nil: no bridge is configured
	Tools    []tool.Tool // carried out here
	Roots    []wire.Root // the folders that they know by name, told at hello
	Delegate func(ctx context.Context, request *strictjson.Value) (*strictjson.Value, error)
	Locks    Locks // nil: calls whose tools need locks are made one at a time

	// Redact takes secrets out of what is answered. An error, or nil, is redaction_failed.
	// [Unredacted] says that there are none.
	Redact     func(*envelope.Result) (*envelope.Result, error)
	Transcript Transcript // nil: none are written
	Recorder   Recorder   // nil: nothing is recorded

	// Key is what user interfaces prove. Without one none is served.
	Key wire.Key

	// AgentUIDs are uids that an agent may have besides that of this process: those that
	// the sandbox's are mapped to.
	AgentUIDs []uint32

	// RefuseUI tells why a peer may be no user interface, such as that it lives in the
	// sandbox's pid namespace or cgroup. nil refuses none.
	RefuseUI func(Peer) error

	Log    *slog.Logger // nil: nothing is logged
	Limits Limits
}

// Parent is the parent tool bridge: what is dispatched elsewhere.
type Parent struct {
	Tools      map[string]ParentTool
	Dispatcher envelope.Dispatcher // nil: not ready, which every call is told

	// NotReady is the status of calls while there is no dispatcher: Denied or Unavailable
	// (authorization.failure_status). Empty: Unavailable.
	NotReady envelope.Status
}

// ParentTool is what the bridge says about one tool. The zero value takes every operation
// and asks for no capability.
type ParentTool struct {
	Capability string   // a request must name the same; empty: any
	Operations []string // none: all
}

// Locks makes calls that touch the same things wait for one another.
type Locks interface {
	// WithLocks runs f while keys are held. The error is f's, or that of a wait which ended.
	WithLocks(ctx context.Context, keys []string, f func() error) error
}

// Call is a call that is over, for transcripts and records.
type Call struct {
	Method    string // tool.call or one of fs.*
	Request   *envelope.Request
	Input     *strictjson.Value // what was decided about: the request's, or a person's edit of it
	Result    *envelope.Result  // redacted
	Here      bool              // of a tool that is carried out here
	Cancelled bool              // nobody was answered: the caller is gone, or withdrew it
	Decision  gate.Decision     // closed; zero: refused before the gate
	Peer      Peer
	Started   time.Time
	Took      time.Duration
}

// Transcript writes one file for each call, where the sandbox cannot.
type Transcript interface {
	Write(Call) (envelope.Ref, error)
}

// Recorder is told of each call once, before the caller is. An error is the end: what is not
// written down is not done, so no later call is carried out (see [Server.Halt]).
type Recorder interface {
	Record(Call) error
}

// Unredacted is a Config.Redact for hosts that have no secret.
func Unredacted(r *envelope.Result) (*envelope.Result, error) { return r, nil }

// Limits of a server (section E.7). A zero field means its default.
type Limits struct {
	AgentConns     int           // 8
	UIConns        int           // that have proved the key: 8
	InFlight       int           // calls of one connection: 16
	InFlightTotal  int           // 64
	InFlightBytes  int64         // what their requests take in memory, about: 32 MiB
	QueueFrames    int           // that wait to be written to one connection: 256
	QueueBytes     int           // of them: 8 MiB, at least 2 MiB
	CallsPerSecond int           // of one connection, and twice as many at once: 50
	ChecksPerSec   int           // likewise: 50
	PromptsPerSec  int           // likewise; the broker has its own: 5
	FramesPerSec   int           // of one connection; what is more is read later: 1000
	Hello          time.Duration // until hello: 5 s
	FrameIdle      time.Duration // from the first byte of a frame to its last: 10 s
	WriteStall     time.Duration // until an agent that does not read is dropped: 30 s
	Grace          time.Duration // that calls get when the server shuts down: 2 s
	Replays        int           // request ids that are remembered: 1 000 000
	Forbidden      int           // calls of the other role until a connection is closed: 3
	Frame          int           // bytes: 1 MiB, which is the most
}

func (l Limits) fill() Limits {
	for _, n := range []struct {
		field *int
		value int
	}{
		{&l.AgentConns, 8},
		{&l.UIConns, 8},
		{&l.InFlight, 16},
		{&l.InFlightTotal, 64},
		{&l.QueueFrames, 256},
		{&l.QueueBytes, 8 << 20},
		{&l.CallsPerSecond, prompt.CallsPerSecond},
		{&l.ChecksPerSec, prompt.ChecksPerSecond},
		{&l.FramesPerSec, 1000},
		{&l.PromptsPerSec, prompt.PromptsPerSecond},
		{&l.Replays, 1_000_000},
		{&l.Forbidden, 3},
		{&l.Frame, wire.MaxFrame},
	} {
		if *n.field <= 0 {
			*n.field = n.value
		}
	}
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&l.Hello, 5 * time.Second},
		{&l.FrameIdle, wire.DefaultIdle},
		{&l.WriteStall, 30 * time.Second},
		{&l.Grace, 2 * time.Second},
	} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	if l.InFlightBytes <= 0 {
		l.InFlightBytes = 32 << 20
	}
	l.Frame = min(l.Frame, wire.MaxFrame)
	l.QueueBytes = max(l.QueueBytes, 2*wire.MaxFrame) // an event fits into half of it
	return l
}

// builtin are the surfaces that rules know without a tool. A tool of the parent cannot have
// such a name: what rules say of a path or a command would be held against its operation.
var builtin = []string{
	"bash", "read", "write", "edit", "grep", "find", "ls", "mcp", "skill", "path", "path_read", "path_write",
	"external_directory", "external_directory_read", "external_directory_write", "*",
}

// check refuses a configuration that would not be what it says.
func (c *Config) check() error {
	switch {
	case c.Session == "":
		return errors.New("bridge: no session")
	case c.Gate == nil || c.Hub == nil:
		return errors.New("bridge: a gate and an event hub are required")
	case c.Redact == nil:
		return errors.New("bridge: no redactor")
	}
	if c.Parent == nil {
		return nil
	}
	for name := range c.Parent.Tools {
		if !strictjson.ToolName(name) {
			return fmt.Errorf("bridge: bridge_tool_name_invalid: %s", strictjson.Escape(name))
		}
		for _, s := range builtin {
			if s == name {
				return fmt.Errorf("bridge: tool_name_collision: %s is a surface of the rules", name)
			}
		}
	}
	return nil
}

// table lists the tools that are carried out here.
func (c *Config) table() (map[string]tool.Tool, error) {
	tools := make(map[string]tool.Tool, len(c.Tools))
	for _, t := range c.Tools {
		name := t.Name()
		_, twice := tools[name]
		if c.Parent != nil {
			_, parent := c.Parent.Tools[name]
			twice = twice || parent
		}
		switch {
		case !strictjson.ToolName(name):
			return nil, fmt.Errorf("bridge: bridge_tool_name_invalid: %s", strictjson.Escape(name))
		case twice:
			return nil, fmt.Errorf("bridge: tool_name_collision: %s", name)
		}
		tools[name] = t
	}
	return tools, nil
}

// uidAllowed reports whether a peer with this uid may connect.
func (c *Config) uidAllowed(role wire.Role, uid uint32) bool {
	if int(uid) == os.Geteuid() {
		return true
	}
	if role != wire.Agent || uid == overflowUID() {
		return false
	}
	for _, u := range c.AgentUIDs {
		if u == uid {
			return true
		}
	}
	return false
}
