package bridge

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"brainbox/bridge/envelope"
	"brainbox/bridge/tool/files"
	"brainbox/bridge/tool/picture"
	"brainbox/bridge/tool/shell"
	"brainbox/dirchain"
	"brainbox/dirchain/mask"
	"brainbox/gate"
	"brainbox/gate/confirm"
	"brainbox/gate/permit"
	"brainbox/gate/prompt"
	"brainbox/gate/protect"
	"brainbox/gate/rule"
)

// everything is allowed by these rules.
const everything = `{"*":"allow","bash":"allow","read":"allow","write":"allow","edit":"allow","path":"allow","external_directory":"allow"}`

// turn is what a worker's turn is like.
type turn struct {
	rules   string
	posture permit.Posture
	tools   []string // nil: any
}

// workshop is a stand with a repository, the tools that work on it, and two tools of the
// host's that write there themselves: what was said, and a policy.
type workshop struct {
	*stand
	dir     string
	asked   atomic.Int32 // prompts that a person saw
	painted atomic.Int32
}

func newWorkshop(t *testing.T, how turn) *workshop {
	t.Helper()
	w := &workshop{dir: t.TempDir()}
	for _, d := range []string{"src", "inbox", "context/policies", ".git/hooks"} {
		if err := os.MkdirAll(filepath.Join(w.dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"src/file", "src/raft.png"} {
		if err := os.WriteFile(filepath.Join(w.dir, f), []byte("one\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	root, err := dirchain.OpenRoot(w.dir, dirchain.Options{SkipSync: true, Protect: []string{".git", mask.PolicyDir}})
	if err != nil {
		t.Fatal(err)
	}
	roots, err := files.NewRoots(files.Root{Name: "repo", Dir: root, Deny: files.RepositoryDeny, Allow: files.RepositoryAllow})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { roots.Close(); _ = root.Close() })
	w.stand = newStand(t, many, func(c *Config) {
		c.Gate, c.Cwd = w.gate(t, c, how, roots), w.dir
		c.Tools = append(files.Tools(roots), w.bash(t), w.mask(t, root, how.posture))
		c.Parent = &Parent{Tools: map[string]ParentTool{"inbox.capture": {}, "policy.add": {}}, Dispatcher: w}
	})
	return w
}

func (w *workshop) gate(t *testing.T, c *Config, how turn, roots *files.Roots) *gate.Gate {
	t.Helper()
	own, err := rule.ParseJSON([]byte(how.rules))
	if err != nil {
		t.Fatal(err)
	}
	compiled, _, err := gate.Compile(gate.Policy{
		Rules:   rule.Config{Scopes: []rule.Scope{{Kind: rule.Global, Trusted: true, Rules: own}}, Homes: []string{"/h"}, Roots: []string{w.dir}},
		Confirm: confirm.Config{None: true}, AnyTool: how.tools == nil, Tools: how.tools,
	})
	if err != nil {
		t.Fatal(err)
	}
	judge, _, err := protect.Compile(protect.Seat{}, protect.Options{Env: roots})
	if err != nil {
		t.Fatal(err)
	}
	g, err := gate.New(gate.Config{
		Policy: compiled, Judge: judge, Hub: c.Hub, Session: c.Session, Broker: c.Broker, Resolver: roots.Places(), Posture: how.posture,
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func (w *workshop) bash(t *testing.T) *shell.Bash {
	t.Helper()
	b, err := shell.New(shell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// mask is request_image_mask, with a person who paints whatever it is asked.
func (w *workshop) mask(t *testing.T, root *dirchain.Root, posture permit.Posture) *picture.Tool {
	t.Helper()
	p, err := picture.New(picture.Config{Withheld: posture.NoGrantSurface, Asker: w, Operation: &mask.Operation{
		Root: root, Backend: mask.Pi, Bound: mask.Caller{Principal: "p", Turn: "t"},
		Authority:  func(context.Context) error { return nil },
		Membership: func(context.Context) bool { return true },
		Lock:       func(context.Context) (func(), error) { return func() {}, nil },
		Record:     func(mask.Result) {},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// RequestMask is that of [mask.Asker].
func (w *workshop) RequestMask(context.Context, string, string) ([]byte, error) {
	w.painted.Add(1)
	return []byte("\x89PNG\r\n\x1a\npainted"), nil
}

// Dispatch is what the host does itself.
func (w *workshop) Dispatch(_ context.Context, r *envelope.Request) *envelope.Result {
	name := map[string]string{"inbox.capture": "inbox/said", "policy.add": "context/policies/new"}[r.Tool]
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(r.Input.Get("text").Text), 0o600); err != nil {
		w.t.Error(err)
	}
	return r.Succeed(nil)
}

// grants has a person who allows all that is asked.
func (w *workshop) grants(scope prompt.Scope) {
	w.t.Helper()
	w.answering(func(v prompt.View) prompt.Answer {
		w.asked.Add(1)
		return prompt.Answer{ID: v.ID, Digest: v.Digest, Decision: prompt.Approve, Scope: scope}
	})
}

// tree is every file with its text.
func (w *workshop) tree() string {
	w.t.Helper()
	var all []string
	err := filepath.WalkDir(w.dir, func(name string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			all = append(all, name)
			return err
		}
		text, err := os.ReadFile(name)
		all = append(all, name+"="+string(text))
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// try calls a tool, and reports the answer in short and whether a file is another.
func (w *workshop) try(p *peer, name, input string) (got string, changed bool) {
	w.t.Helper()
	before := w.tree()
	m := p.call("tool.call", request(w.t, append(id("n"+strconv.Itoa(p.n)), toolName, `"tool":"`+name+`"`,
		`{"path":"README.md"}`, input, allowedTools, `["`+name+`"]`)...))
	return word(m), w.tree() != before
}
