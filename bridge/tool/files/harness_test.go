package files

import (
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/bridge/tool"
	"brainbox/dirchain"
	"brainbox/gate"
	"brainbox/gate/confirm"
	"brainbox/gate/event"
	"brainbox/gate/protect"
	"brainbox/gate/rule"
	"brainbox/internal/strictjson"
)

// allowAll is a policy under which only what the tools and the judge say counts.
const allowAll = `{"*":"allow","bash":"allow","write":"allow","external_directory":"allow"}`

// shop is a project with its tools behind a real gate.
type shop struct {
	t       testing.TB
	dir     string // the project
	outside string // beside it, with a secret
	roots   *Roots
	gate    *gate.Gate
	hub     *event.Hub
	tools   map[string]tool.Tool
	// between is called when a call was decided, before it is done.
	between func()
}

type setup struct {
	rules string
	root  func(r *Root)
	opts  dirchain.Options
}

func newShop(t testing.TB, s setup) *shop {
	t.Helper()
	base := t.TempDir()
	sh := &shop{t: t, dir: base + "/work", outside: base + "/outside", tools: map[string]tool.Tool{}}
	for _, d := range []string{"/work/src", "/work/.git/hooks", "/work/.brain/scratch", "/work/context/policies", "/outside"} {
		if err := os.MkdirAll(base+d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	sh.put("src/a.txt", "one\ntwo\nthree\n")
	if err := os.WriteFile(sh.outside+"/secret", []byte("the secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.opts.SkipSync = true
	dir, err := dirchain.OpenRoot(sh.dir, s.opts)
	if err != nil {
		t.Fatal(err)
	}
	root := Root{Name: "work", Dir: dir, Deny: RepositoryDeny, Allow: RepositoryAllow}
	if s.root != nil {
		s.root(&root)
	}
	sh.open(s, root)
	t.Cleanup(func() { sh.roots.Close(); _ = dir.Close() })
	return sh
}

// open makes the tools over roots, and the gate in front of them.
func (s *shop) open(how setup, roots ...Root) {
	s.t.Helper()
	var err error
	if s.roots, err = NewRoots(roots...); err != nil {
		s.t.Fatal(err)
	}
	for _, tl := range Tools(s.roots) {
		s.tools[tl.Name()] = tl
	}
	if how.rules == "" {
		how.rules = allowAll
	}
	own, err := rule.ParseJSON([]byte(how.rules))
	if err != nil {
		s.t.Fatal(err)
	}
	compiled, _, err := gate.Compile(gate.Policy{
		Rules: rule.Config{
			Scopes: []rule.Scope{{Kind: rule.Global, Trusted: true, Rules: own}}, Homes: []string{"/h"}, Roots: []string{s.dir},
		},
		Confirm: confirm.Config{None: true}, AnyTool: true,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	judge, _, err := protect.Compile(protect.Seat{}, protect.Options{Env: s.roots})
	if err != nil {
		s.t.Fatal(err)
	}
	s.hub = event.New(event.Options{Session: "s1"})
	s.t.Cleanup(s.hub.Close)
	s.gate, err = gate.New(gate.Config{Policy: compiled, Judge: judge, Hub: s.hub, Session: "s1", Resolver: s.roots.Places()})
	if err != nil {
		s.t.Fatal(err)
	}
	s.roots.SetRules(s.gate, "a")
}

// in makes an input of pairs.
func in(pairs ...any) map[string]any {
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	return m
}

func (s *shop) put(name, text string) string {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(s.dir+"/"+name), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(s.dir+"/"+name, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
	return dirchain.Sum([]byte(text)).String()
}

func (s *shop) link(to, name string) {
	s.t.Helper()
	if err := os.Symlink(to, s.dir+"/"+name); err != nil {
		s.t.Fatal(err)
	}
}

// tree lists every file of the project and beside it with its content, and links.
func (s *shop) tree() string {
	s.t.Helper()
	var all []string
	for _, dir := range []string{s.dir, s.outside} {
		err := filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			line := strings.TrimPrefix(name, filepath.Dir(s.dir)+"/")
			switch e.Type() {
			case 0:
				text, err := os.ReadFile(name)
				if err != nil {
					return err
				}
				line += "=" + string(text)
			case os.ModeSymlink:
				to, err := os.Readlink(name)
				if err != nil {
					return err
				}
				line += "->" + to
			default:
				line += " " + e.Type().String()
			}
			all = append(all, line)
			return nil
		})
		if err != nil {
			s.t.Fatal(err)
		}
	}
	sort.Strings(all)
	return strings.Join(all, "\n")
}

// text is a file of the project.
func (s *shop) text(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(s.dir + "/" + name)
	if err != nil {
		s.t.Error(err)
	}
	return string(text)
}

// refused calls, and wants a code and no trace in the files.
func (s *shop) refused(name string, input map[string]any, code string) answer {
	s.t.Helper()
	before := s.tree()
	a := s.call(name, input).want(s.t, code)
	if after := s.tree(); after != before {
		s.t.Errorf("%s: the files changed:\n%s\nbefore:\n%s", name, after, before)
	}
	return a
}

func exchange(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}

func decode(text string) (*strictjson.Value, error) {
	return strictjson.Decode([]byte(text), strictjson.Limits{})
}

// mkdirFile makes a directory with a file a.txt as the project has it.
func mkdirFile(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(dir+"/a.txt", []byte("one\ntwo\nthree\n"), 0o600)
}
