package conform_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"slices"
	"time"

	"brainbox/bridge"
	"brainbox/bridge/ask"
	"brainbox/bridge/client"
	"brainbox/bridge/conform"
	"brainbox/bridge/dispatch"
	"brainbox/bridge/envelope"
	"brainbox/bridge/lock"
	"brainbox/bridge/spec"
	"brainbox/bridge/tool"
	"brainbox/bridge/tool/files"
	"brainbox/bridge/tool/picture"
	"brainbox/bridge/tool/shell"
	"brainbox/bridge/tool/turn"
	"brainbox/dirchain"
	"brainbox/dirchain/mask"
	"brainbox/dirchain/turntemp"
	"brainbox/gate"
	"brainbox/gate/event"
	"brainbox/gate/prompt"
	"brainbox/gate/protect"
)

// reference is a backend that has everything, made of public packages alone: a test of the
// examples reads its imports. The zero one is sound.
type reference struct {
	change func(*bridge.Config) // what is served in place of it; nil: all
	bare   bool                 // no place of a repository is denied
}

// session is one scene that is served, over a real socket.
type session struct {
	server *bridge.Server
	client *client.Client
	ending []func() error
}

func (r reference) serve(ctx context.Context, s conform.Scene) (conform.Session, error) {
	n := &session{}
	if err := n.open(ctx, s, r); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

func (n *session) open(ctx context.Context, s conform.Scene, r reference) error {
	root, err := dirchain.OpenRoot(s.Dir, dirchain.Options{SkipSync: true, Protect: []string{mask.PolicyDir}})
	if err != nil {
		return err
	}
	n.atEnd(root.Close)
	own := files.Root{Name: "work", Dir: root, Deny: files.RepositoryDeny, Allow: files.RepositoryAllow}
	if r.bare {
		own.Deny, own.Allow = nil, nil
	}
	roots, err := files.NewRoots(own)
	if err != nil {
		return err
	}
	n.atEnd(func() error { roots.Close(); return nil })
	c := bridge.Config{Session: "s1", Agent: "a", Cwd: s.Dir, Redact: bridge.Unredacted, Hub: event.New(event.Options{Session: "s1"})}
	n.atEnd(func() error { c.Hub.Close(); return nil })
	locks := &lock.Set{}
	c.Locks = locks
	if err := n.gate(&c, s, roots); err != nil {
		return err
	}
	roots.SetRules(c.Gate, c.Agent)
	if err := n.tools(&c, s, root, roots, locks); err != nil {
		return err
	}
	c.Parent = browser(s.Host)
	if r.change != nil {
		r.change(&c)
	}
	return n.listen(ctx, c)
}

// gate makes what decides, and has the scene's person answer.
func (n *session) gate(c *bridge.Config, s conform.Scene, roots *files.Roots) error {
	compiled, _, err := gate.Compile(s.Policy)
	if err != nil {
		return err
	}
	judge, _, err := protect.Compile(protect.Seat{}, protect.Options{Env: roots})
	if err != nil {
		return err
	}
	if c.Broker, err = prompt.New(prompt.Options{Hub: c.Hub, Grace: 50 * time.Millisecond}); err != nil {
		return err
	}
	there, err := c.Broker.Attach("scene") // before the first call
	if err != nil {
		return err
	}
	n.serves(func(ctx context.Context) { _ = there.Serve(ctx, s.Person) })
	c.Gate, err = gate.New(gate.Config{
		Policy: compiled, Judge: judge, Resolver: roots.Places(), Hub: c.Hub, Broker: c.Broker, Session: "s1", Posture: s.Posture,
	})
	return err
}

// tools are all that brainbox answers itself.
func (n *session) tools(c *bridge.Config, s conform.Scene, root *dirchain.Root, roots *files.Roots, locks *lock.Set) error {
	questions, err := ask.New(ask.Config{Host: s.Host, Posture: s.Posture})
	if err != nil {
		return err
	}
	masks, err := picture.New(picture.Config{Asker: s.Host, Withheld: s.Posture.NoGrantSurface, Operation: &mask.Operation{
		Root: root, Backend: s.Masks, Bound: mask.Caller{Principal: "p", Turn: "t"},
		Authority:  func(context.Context) error { return nil },
		Membership: func(context.Context) bool { return true },
		Lock: func(ctx context.Context) (func(), error) {
			return locks.Acquire(ctx, picture.DocumentsKey, lock.Options{})
		},
		Record: func(mask.Result) {},
	}})
	if err != nil {
		return err
	}
	bash, err := shell.New(shell.Config{Runner: s.Runner})
	if err != nil {
		return err
	}
	dir, err := os.Open(s.Temp)
	if err != nil {
		return err
	}
	temp, err := turntemp.New(dir, turntemp.Config{Turn: "t"})
	if err := errors.Join(err, dir.Close()); err != nil {
		return err
	}
	n.atEnd(temp.Close)
	c.Tools = slices.Concat(questions.Tools(), files.Tools(roots), []tool.Tool{masks, bash, turn.New(temp)})
	return nil
}

// browser are the two tools of the posture that a host answers by functions of its own.
func browser(host ask.Locator) *bridge.Parent {
	handlers := map[string]dispatch.Handler{
		spec.GetCurrentLocation: dispatch.JSON(func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			at, err := host.CurrentLocation(ctx, ask.LocationQuery{Timeout: 15 * time.Second, MaximumAge: time.Minute})
			if err != nil {
				return nil, &dispatch.Failure{Status: envelope.Failed, Code: "declined", Message: "the user did not tell where they are"}
			}
			return json.Marshal(map[string]any{
				"latitude": at.Latitude, "longitude": at.Longitude, "accuracyMeters": math.Round(at.AccuracyMeters), "retrievedAt": at.At.UTC(),
			})
		}),
		spec.ShowBlock: dispatch.JSON(func(_ context.Context, block json.RawMessage) (json.RawMessage, error) {
			var b struct{ Kind string }
			if err := json.Unmarshal(block, &b); err != nil || b.Kind != "stats" {
				return nil, &dispatch.Failure{Status: envelope.Failed, Code: "invalid_request", Message: "no block that can be shown"}
			}
			return block, nil
		}),
	}
	p := &bridge.Parent{Tools: map[string]bridge.ParentTool{}, Dispatcher: dispatch.Func(handlers, time.Minute)}
	for name := range handlers {
		p.Tools[name] = bridge.ParentTool{Operations: []string{client.DefaultOperation}}
	}
	return p
}

// listen serves a socket, and connects to it as an agent does.
func (n *session) listen(ctx context.Context, c bridge.Config) (err error) {
	if n.server, err = bridge.New(c); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bc") // short, for a socket
	if err != nil {
		return err
	}
	n.atEnd(func() error { return os.RemoveAll(dir) })
	l, err := bridge.Listen(dir+"/a", "agent.sock")
	if err != nil {
		return err
	}
	n.serves(func(ctx context.Context) { _ = n.server.ServeAgent(ctx, l) })
	n.client, err = client.Open(ctx, client.Options{Socket: dir + "/a/agent.sock"})
	return err
}

// serves runs f until the session ends.
func (n *session) serves(f func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(ctx)
	}()
	n.atEnd(func() error { cancel(); <-done; return nil })
}

func (n *session) atEnd(f func() error) { n.ending = append(n.ending, f) }

// Call is that of [conform.Session].
func (n *session) Call(ctx context.Context, name string, input []byte) (*envelope.Result, error) {
	return n.client.CallJSON(ctx, name, input)
}

// Close is that of [conform.Session].
func (n *session) Close() (err error) {
	if n.client != nil {
		err = n.client.Close()
	}
	if n.server != nil {
		err = errors.Join(err, n.server.Close())
	}
	for _, end := range slices.Backward(n.ending) {
		err = errors.Join(err, end())
	}
	return err
}
