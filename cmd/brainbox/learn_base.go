package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"brainbox/internal/learn"
	"brainbox/launcher"
	"brainbox/policy"
)

// hostFiles looks at the host for [learn.Open].
type hostFiles struct{}

// Names implements [learn.Host].
func (hostFiles) Names(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// Leads implements [learn.Host].
func (hostFiles) Leads(path string) (string, bool, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return "", false, err
	}
	if st.Mode()&os.ModeSymlink == 0 {
		return path, false, nil
	}
	target, err := filepath.EvalSymlinks(path)
	return target, true, err
}

// Public implements [learn.Host].
func (hostFiles) Public(path string) bool {
	st, err := os.Stat(path)
	if err != nil {
		return false
	}
	need := os.FileMode(0o004)
	if st.IsDir() {
		need = 0o005
	}
	return st.Mode()&need == need
}

// Linked implements [learn.Host].
func (hostFiles) Linked(path string) bool {
	var st unix.Stat_t
	return unix.Stat(path, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR && st.Nlink > 1
}

// openName is the source of the entries that are open only while a program is learned from.
const openName = "learn"

// openLayer grants reading and executing. It gives way to what the operator wrote.
func openLayer(paths []string) *policy.Layer {
	l := &policy.Layer{Kind: policy.KindProfile, Name: openName}
	l.Policy.Sources = []policy.Source{{Kind: policy.KindProfile, Name: openName}}
	for _, p := range paths {
		l.Policy.Grants = append(l.Policy.Grants, policy.Grant{
			Path: policy.Path{Text: p, Skip: true, Literal: true}, Right: policy.RightExec,
		})
	}
	return l
}

// where refuses to learn where no draft could be made.
func (l *learning) where() error {
	cwd := l.place.Cwd
	if cwd == "/" || l.place.Home != "" && policy.Below(l.place.Home, cwd) {
		return refuse("the working directory holds the home folder, or all there is", "start it in the folder of a project")
	}
	for _, s := range l.place.Secrets() {
		for at := cwd; at != "/"; at = filepath.Dir(at) {
			if policy.MatchName(s.Path, at) {
				return refuse("the working directory "+quote(cwd)+" is a place of secrets ("+s.What+")", "start it elsewhere")
			}
		}
	}
	return nil
}

// keepsClosed holds the first run to its word: what the entries of learn lead to was looked
// at before it was opened, and somebody may have changed it.
func (l *learning) keepsClosed(all *planned) error {
	if err := l.out.outside(all.facts); err != nil {
		return err
	}
	list := l.place.Secrets()
	for i := range all.facts.Wants {
		w, p := &all.facts.Wants[i], &all.facts.Paths[i]
		if p.Err != nil || w.Source < 0 || w.Source >= len(all.pol.Sources) || all.pol.Sources[w.Source].Name != openName {
			continue
		}
		if why := learn.Closed(l.place.Home, list, p.Target); why != "" {
			return refuse(quote(w.Abs)+" leads to "+why+": "+quote(p.Target), "try again; somebody changed it")
		}
	}
	return nil
}

// bases are the policies that a draft may extend.
func (l *learning) bases() ([]learn.Base, error) {
	file, err := policyFile(l.cli, l.place)
	if err != nil {
		return nil, err
	}
	profile := l.cli.String("profile")
	switch {
	case file != nil:
		return l.resolved([]string{file.Name})
	case profile != "" && profile != "default" && profile != "minimal":
		return l.resolved([]string{profile})
	}
	return l.resolved([]string{"default", "minimal"})
}

func (l *learning) resolved(names []string) ([]learn.Base, error) {
	var list []learn.Base
	for _, name := range names {
		layer := &policy.Layer{Kind: policy.KindFile, Name: l.place.Cwd + "/-", Extends: []policy.Item[string]{{V: name}}}
		layer.Policy.Sources = []policy.Source{{Kind: policy.KindFile, Name: "-"}}
		p, err := policy.Resolve(policy.Input{Vars: l.place.Vars(), Read: readPolicy, Inside: launcher.Inside}, layer)
		if err != nil {
			return nil, err
		}
		b := learn.Base{Extends: name}
		for _, g := range p.Grants {
			target, err := filepath.EvalSymlinks(g.Abs)
			switch {
			case g.Right == policy.RightProtect:
				b.Guards = append(b.Guards, g.Abs)
			case err == nil && g.Right.Grants():
				if l.place.Home != "" && policy.Below(g.Abs, l.place.Home) && g.Right.Execs() && !policy.Below(g.Abs, l.place.Cwd) && !policy.Below(l.place.Cwd, g.Abs) {
					b.Tools = append(b.Tools, target)
				}
				g.Abs = target
				b.Grants = append(b.Grants, g)
			}
		}
		list = append(list, b)
	}
	return list, nil
}

// draft is what the first run makes of a policy.
func (l *learning) draft(status int) (*learn.Draft, error) {
	bases, err := l.bases()
	if err != nil {
		return nil, err
	}
	asked, err := l.askedByFlags()
	if err != nil {
		return nil, err
	}
	always, granted := l.places()
	in := learn.Input{
		Uses: append(l.recorder.Uses(), l.startUses()...), Dropped: l.recorder.Dropped(),
		Place: l.place.Vars(), Secrets: l.place.Secrets(), Bases: bases, Always: always, Granted: granted, Path: l.searchPath(),
		Command: filepath.Base(l.argv[0]), Isolation: l.plan.Isolation, Status: status, Asked: asked, Exists: kindAt,
	}
	return learn.New(in), nil
}

// askedByFlags is what the flags say, but for their grants: of those the draft has what was
// used.
func (l *learning) askedByFlags() (*policy.Policy, error) {
	flags, err := flagLayer(l.cli)
	if err != nil {
		return nil, err
	}
	return policy.Resolve(policy.Input{Vars: l.place.Vars(), Read: readPolicy, Inside: launcher.Inside}, flags)
}

// places are those that every run has, and those that this one was granted.
func (l *learning) places() (always, granted []string) {
	for i := range l.plan.Clauses {
		for _, e := range l.plan.Clauses[i].Entries {
			if e.Source < 0 && e.Target != "" && e.State == launcher.StateEnforced {
				always = append(always, e.Target)
			}
		}
	}
	for i := range l.facts.Wants {
		w, p := &l.facts.Wants[i], &l.facts.Paths[i]
		switch {
		case p.Err != nil || !w.Right.Grants():
		case w.Always:
			always = append(always, p.Target)
		default:
			granted = append(granted, p.Target)
		}
	}
	return always, granted
}

// searchPath are the folders of the program's PATH, resolved.
func (l *learning) searchPath() []string {
	var list []string
	for _, dir := range strings.Split(l.facts.Path, ":") {
		if target, err := filepath.EvalSymlinks(dir); err == nil && filepath.IsAbs(dir) {
			list = append(list, target)
		}
	}
	return list
}

// startUses are the executions of the start itself, which nobody watches: of the program, and
// of the interpreters of its first line.
func (l *learning) startUses() []learn.Use {
	var list []learn.Use
	exec := func(path string) {
		u := learn.Use{Count: 1, By: filepath.Base(l.argv[0]), Judgement: launcher.Judgement{Verdict: launcher.Allowed}}
		u.Op, u.Path, u.Kind = launcher.OpExec, path, launcher.KindRegular
		list = append(list, u)
	}
	name := l.plan.File
	for range 5 { // as many as the kernel follows (execve(2))
		if name == "" || !filepath.IsAbs(name) {
			return list
		}
		target, err := filepath.EvalSymlinks(name)
		if err != nil {
			return list
		}
		if dir, err := filepath.EvalSymlinks(filepath.Dir(name)); err == nil && filepath.Join(dir, filepath.Base(name)) != target {
			exec(filepath.Join(dir, filepath.Base(name))) // a link: its folder has to be there
		}
		exec(target)
		name = interpreter(target)
	}
	return list
}

// interpreter is the program that the first line of a script names; "" if it is none.
func interpreter(path string) string {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	head := make([]byte, 256) // as much as the kernel reads (BINPRM_BUF_SIZE)
	n, _ := io.ReadFull(f, head)
	head = head[:n]
	line, ok := bytes.CutPrefix(head, []byte("#!"))
	if !ok {
		return ""
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	words := strings.Fields(string(line))
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

// kindAt says what is at a path.
func kindAt(path string) launcher.FileKind {
	st, err := os.Lstat(path)
	switch {
	case err != nil:
		return launcher.KindAbsent
	case st.IsDir():
		return launcher.KindFolder
	}
	return launcher.KindRegular
}
