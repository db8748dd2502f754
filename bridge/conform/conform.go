package conform

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"brainbox/bridge/envelope"
	"brainbox/bridge/tool/shell"
	"brainbox/dirchain/mask"
	"brainbox/gate"
	"brainbox/gate/permit"
	"brainbox/gate/prompt"
)

// Scene is one session for a backend to serve.
type Scene struct {
	Dir  string // the root that files are read and written in: the first one, or the only one
	Temp string // the turn's temporary directory, for turn_temp

	Policy  gate.Policy
	Posture permit.Posture
	Masks   mask.Backend // how masks are called

	Host   *Host        // answers what tools ask
	Person prompt.UI    // answers what the gate asks
	Runner shell.Runner // runs what bash may run, in place of a sandbox
}

// Backend serves a scene until its session is closed. An error is a scene that it cannot
// serve.
type Backend func(ctx context.Context, s Scene) (Session, error)

// Session is the agent's end of a scene.
type Session interface {
	// Call makes one call with a JSON object as its input, and returns its result, whatever
	// that is. The error is of a call that had none.
	Call(ctx context.Context, tool string, input []byte) (*envelope.Result, error)
	// Close ends the session, and all that belongs to it.
	Close() error
}

// Options say what a host is not.
type Options struct {
	// Without are tools that the host does not have, such as those of a browser
	// (get_current_location, show_block). A call of them must be answered by an error.
	Without []string
}

// Kind is what kind of assertion failed.
type Kind string

// The kinds.
const (
	ErrorResult Kind = "error result" // a call did not succeed, or succeeded and must not
	Receipt     Kind = "receipt"      // a file, a command that was started, or a question to the host
	Output      Kind = "output"       // what the call was answered with, or who was asked
	Unserved    Kind = "session"      // the backend could not serve the scene
)

// Failure is what a backend does otherwise than it must.
type Failure struct {
	ID   string // of the contract: BP6, T1 …
	Kind Kind
	Name string // of the tool, or of what was tried
	Text string
}

// String begins with the id and the kind.
func (f Failure) String() string {
	return fmt.Sprintf("%s: %s: %s: %s", f.ID, f.Kind, f.Name, f.Text)
}

// Run runs [Tools] and [Dispatch], each scene in a directory of its own beneath dir.
func Run(ctx context.Context, dir string, b Backend, o Options) []Failure {
	return append(Tools(ctx, dir, b, o), Dispatch(ctx, dir, b, o)...)
}

// Tools calls every tool once.
func Tools(ctx context.Context, dir string, b Backend, o Options) []Failure {
	return scenes(ctx, dir, "tool", append(asking(), mediated()...), b, o)
}

// Dispatch makes the calls that are denied, allowed, edited, or made where nobody can be
// asked.
func Dispatch(ctx context.Context, dir string, b Backend, o Options) []Failure {
	return scenes(ctx, dir, "dispatch", dispatched(), b, o)
}

func scenes(ctx context.Context, dir, part string, list []call, b Backend, o Options) []Failure {
	dir, err := filepath.EvalSymlinks(dir) // a root is known by one path
	if err != nil {
		return []Failure{{part, Unserved, dir, err.Error()}}
	}
	var all []Failure
	for i, c := range list {
		c.without = slices.Contains(o.Without, c.tool)
		all = append(all, c.run(ctx, fmt.Sprintf("%s/%s-%d", dir, part, i), b)...)
	}
	return all
}

// run is one scene: the call is made, and then looked at.
func (c *call) run(ctx context.Context, dir string, b Backend) []Failure {
	unserved := func(format string, args ...any) []Failure {
		return []Failure{{c.id, Unserved, c.name(), fmt.Sprintf(format, args...)}}
	}
	s, err := c.scene(dir)
	if err != nil {
		return unserved("%v", err)
	}
	session, err := b(ctx, s)
	if err != nil {
		return unserved("not served: %v", err)
	}
	res, err := session.Call(ctx, c.tool, []byte(c.input))
	closed := session.Close() // whatever it does later is not waited for
	switch {
	case err != nil:
		return unserved("no result: %v", err)
	case closed != nil:
		return unserved("not closed: %v", closed)
	}
	return c.judge(&s, res)
}

// name is what the failures of a scene are about.
func (c *call) name() string {
	if c.what == "" {
		return c.tool
	}
	return c.tool + ", " + c.what
}

// scene makes the directories and the people.
func (c *call) scene(dir string) (Scene, error) {
	s := Scene{
		Dir: dir + "/work", Temp: dir + "/temp", Posture: c.posture, Masks: mask.Claude,
		Host: &Host{}, Person: &person{answers: c.answers}, Runner: &runner{},
	}
	for _, d := range []string{dir, s.Temp} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return s, err
		}
	}
	if err := fill(s.Dir, start); err != nil {
		return s, err
	}
	if err := os.WriteFile(s.Temp+"/left", []byte("12345"), 0o600); err != nil {
		return s, err
	}
	var err error
	s.Policy, err = c.policy(s.Dir)
	return s, err
}
