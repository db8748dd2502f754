package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// mutation replaces one piece of text, which must be in the file exactly once.
type mutation struct{ name, file, old, new string }

// suite is a package whose conformance test judges what is left of the gate.
type suite struct {
	pkg, dir string // dir is where the files of its mutations are
	list     []mutation
}

const test = "^TestDispatch$"

func suites() []suite {
	return []suite{
		{"./gate/permit/conform", "gate/permit/", mutations()},
		{"./gate", "gate/", joined()},
		{"./bridge/conform", "gate/", served()},
		{"./bridge/conform", "bridge/", dispatched()},
	}
}

// joined are the mutations of the joined gate.
func joined() []mutation {
	return []mutation{
		{"nothing is taken out", "ask.go", "", ""},
		{"the denial of a person", "prompt/outcome.go", `if s.answer.Decision != Approve {`, `if false {`},
		{"the denial where nobody can be asked", "ask.go", `case w.call.Posture.NoGrantSurface:`, `case false:`},
		{"the check of an edit", "ask.go", `PlainKeys: st.plain}); err != nil {`, `PlainKeys: st.plain}); err != nil && false {`},
		{"the edit itself", "ask.go", `next.Args = in.JSON()`, `next.Args = w.call.Args`},
		{"the list of allowed tools", "judge.go", `if !listed {`, `if !listed && false {`},
		{"confirm patterns", "judge.go", `if command != "" {`, `if false {`},
		{"archiving is confirmed", "judge.go", `in); !a.None {`, `in); !a.None && false {`},
		{"enforced lists beat shortcuts", "ask.go", `(a.Surface != toolList || !enforced)`, `(enforced || !enforced)`},
		{"all questions of the fold", "rule/fold.go", `if len(d.Asks) == 0 {`, `if len(d.Asks) >= 0 {`},
	}
}

// served are those of the gate that a host of the bridge must notice as well.
func served() []mutation {
	var all []mutation
	for _, m := range joined() {
		switch m.name {
		case "archiving is confirmed", "enforced lists beat shortcuts", "the list of allowed tools": // of other tools
		default:
			all = append(all, m)
		}
	}
	return all
}

// dispatched are mutations of what serves the tools.
func dispatched() []mutation {
	return []mutation{
		{"the edit that is carried out", "effect.go", `if plan, err = t.Plan(k.Input); err != nil {`, `if _, err = t.Plan(k.Input); err != nil {`},
		{"what no tool writes in a repository", "tool/files/roots.go", `RepositoryDeny  = []string{".git", ".brain", mask.PolicyDir}`, `RepositoryDeny  = []string{mask.PolicyDir}`},
		{"a turn that nobody can look at", "ask/set.go", `c.Eyes && o.set.c.Posture.NoGrantSurface`, `c.Eyes && false`},
	}
}

func mutations() []mutation {
	return []mutation{
		{"nothing is taken out", "ask.go", "", ""},
		{"the denial of the host", "answer.go", `if a.Behavior != "allow" {`, `if false {`},
		{"the denial where nobody can be asked", "ask.go", `if o.NoGrantSurface {`, `if false {`},
		{"the check of an edit", "edit.go", `if reason := r.refuseEdit(e); reason != "" {`, `if reason := r.refuseEdit(e); reason == "-" {`},
		{"the comparison of what an edit needs confirmed", "edit.go", `if !slices.Contains(approved, c) {`, `if !slices.Contains(approved, c) && false {`},
		{"the key __proto__", "edit.go", `if hasKey(e.Edited.root, keys) {`, `if hasKey(nil, keys) {`},
		{"the edit itself", "turn.go", `return d.Edit, "", nil`, `return c.Input, "", nil`},
		{"the list of allowed tools", "decide.go", `if tool == "" || !slices.Contains(r.Allowed, tool) {`, `if tool == "" || !slices.Contains(append(r.Allowed, tool), tool) {`},
		{"confirm patterns", "decide.go", `strings.TrimSpace(command) != ""`, `strings.TrimSpace(command) == ""`},
		{"archiving is confirmed", "decide.go", `status == archived {`, `status == archived+"-" {`},
		{"enforced lists beat shortcuts", "turn.go", `|| t.c.Posture.EnforceAllowedTools || !t.c.Granted(c.Tool)`, `|| !t.c.Granted(c.Tool)`},
		{"a grant confirms no single use", "turn.go", `return t.c.Rules.decideAllowed(c.Tool, c.Input)`, `return Approval{None: true}`},
		{"an impossible turn", "posture.go", `case p.NoGrantSurface && !p.EnforceAllowedTools:`, `case false:`},
	}
}

func main() {
	if err := all(); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func all() error {
	tmp, err := os.MkdirTemp("", "brainbox-mutate-")
	if err != nil {
		return err
	}
	var failed []error
	for _, s := range suites() {
		for _, m := range s.list {
			if err := s.try(tmp, m); err != nil {
				failed = append(failed, fmt.Errorf("%s: %s: %w", s.pkg, m.name, err))
				continue
			}
			fmt.Fprintf(os.Stderr, "mutate: %s: noticed: %s\n", s.pkg, m.name)
		}
	}
	return errors.Join(append(failed, os.RemoveAll(tmp))...)
}

// try runs the suite with one mutation. The one that changes nothing must pass.
func (s suite) try(tmp string, m mutation) error {
	overlay, err := m.overlay(tmp, s.dir)
	if err != nil {
		return err
	}
	goTool := os.Getenv("GO")
	if goTool == "" {
		goTool = "go"
	}
	out, err := exec.Command(goTool, "test", "-overlay="+overlay, "-count=1", "-vet=off", "-timeout=60s", "-run="+test, s.pkg).CombinedOutput()
	var ended *exec.ExitError
	switch {
	case m.old == "" && err != nil:
		return fmt.Errorf("the suite fails by itself: %w\n%s", err, out)
	case m.old == "":
		return nil
	case err == nil:
		return errors.New("the suite passes without it")
	case !errors.As(err, &ended):
		return err
	}
	return judge(string(out))
}

// overlay writes the changed source, and the file that names it.
func (m mutation) overlay(tmp, dir string) (string, error) {
	path, err := filepath.Abs(dir + m.file)
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(text), m.old); m.old != "" && n != 1 {
		return "", fmt.Errorf("%s has the text %d times: %s", m.file, n, m.old)
	}
	changed := filepath.Join(tmp, filepath.Base(m.file))
	if m.old != "" {
		text = []byte(strings.Replace(string(text), m.old, m.new, 1))
	}
	names, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
	if err != nil {
		return "", err
	}
	list := filepath.Join(tmp, "overlay.json")
	return list, errors.Join(os.WriteFile(changed, text, 0o600), os.WriteFile(list, names, 0o600))
}

// judge wants the first assertion that failed to be one on a receipt. Later ones may be
// about what follows from it.
func judge(out string) error {
	for line := range strings.Lines(out) {
		switch {
		case !strings.Contains(line, "_test.go:"):
		case strings.Contains(line, ": receipt: "):
			return nil
		default:
			return fmt.Errorf("the first assertion that failed is on no receipt:\n%s", out)
		}
	}
	return fmt.Errorf("no assertion failed:\n%s", out)
}
