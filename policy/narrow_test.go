package policy

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// at is what p lets a program do at a path: its own reading of the rules, apart
// from Nest and Narrow. The innermost path that has a grant counts; there the
// later kind, and among equals what both give.
func at(p *Policy, where string) may {
	var m may
	best, kind := "", KindProfile
	for _, g := range p.Grants {
		if !g.Right.Grants() || !Below(where, g.Abs) {
			continue
		}
		k := p.Sources[g.Source].Kind
		switch {
		case best == "" || len(g.Abs) > len(best) || g.Abs == best && k > kind:
			best, kind, m = g.Abs, k, g.Right.may()
		case g.Abs == best && k == kind:
			m.write = m.write && g.Right.Writes()
			m.exec = m.exec && g.Right.Execs()
		}
	}
	for _, g := range p.Grants {
		if Below(where, g.Abs) {
			m.denied = m.denied || g.Right == RightDeny
			m.write = m.write && g.Right != RightProtect
		}
	}
	if m.denied {
		return may{denied: true}
	}
	return m
}

// broken returns the first entry of p that cannot stand, or -1.
func broken(p *Policy) int {
	var entries []Entry
	for _, g := range p.Grants {
		entries = append(entries, Entry{g.Abs, g.Right, p.Sources[g.Source].Kind})
	}
	for i, n := range Nest(entries) {
		if n.Err != nil {
			return i
		}
	}
	return -1
}

// TestNarrowNeverWidens tries random project files on random policies, esc/TH-16.
func TestNarrowNeverWidens(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	paths := []string{"/", "/a", "/a/b", "/a/b/c", "/a/b/c/d", "/a/e", "/f", "/f/g", "/ab"}
	marks := 0
	narrowed := 0
	for range 6000 {
		base := &Policy{Sources: []Source{{Kind: KindProfile}, {Kind: KindFile}, {Kind: KindFlag}}}
		for range 1 + rng.IntN(5) {
			base.Grants = append(base.Grants, Grant{
				Path:  Path{Abs: paths[rng.IntN(len(paths))], Source: rng.IntN(3)},
				Right: Right(1 + rng.IntN(6)),
			})
		}
		if broken(base) >= 0 {
			continue
		}
		var text strings.Builder
		text.WriteString("version = 1\n[filesystem]\n")
		for r := RightRead; r <= RightDeny; r++ {
			var list []string
			for range rng.IntN(3) * rng.IntN(2) {
				list = append(list, `"`+paths[rng.IntN(len(paths))]+`"`)
			}
			if r.Grants() || rng.IntN(4) == 0 {
				text.WriteString(r.String() + " = [" + strings.Join(list, ", ") + "]\n")
			}
		}
		project, err := Parse(KindProject, ".brainbox.toml", []byte(text.String()))
		if err != nil {
			t.Fatal(err)
		}
		p, err := Narrow(base, project, Input{Vars: testVars()})
		if err != nil {
			continue
		}
		narrowed++
		if i := broken(p); i >= 0 && p.Sources[p.Grants[i].Source].Kind != KindProject {
			t.Fatalf("the operator's %v cannot stand any more\noperator %v\nproject %s", p.Grants[i], base.Grants, text.String())
		}
		for _, where := range append(paths, "/a/x", "/a/b/x", "/a/b/c/x", "/f/x", "/x") {
			was, is := at(base, where), at(p, where)
			if is.denied {
				marks++
				continue
			}
			if was.denied || is.read && !was.read || is.write && !was.write || is.exec && !was.exec {
				t.Fatalf("%s: %+v becomes %+v\noperator %v\nproject %s\nresult %v",
					where, was, is, base.Grants, text.String(), p.Grants)
			}
		}
	}
	if narrowed < 500 || marks < 100 {
		t.Errorf("only %d policies, %d denied places", narrowed, marks)
	}
}

func TestNarrowLeavesOperator(t *testing.T) {
	l, err := Parse(KindFile, "policy.toml", []byte(`version = 1
filesystem.write = ["/a"]
filesystem.read = ["/b"]
env.allow = ["LANG", "TERM"]
gate.confirm = ["x"]
`))
	if err != nil {
		t.Fatal(err)
	}
	p, err := Resolve(Input{Vars: testVars()}, l)
	if err != nil {
		t.Fatal(err)
	}
	before := string(p.Format())
	project, err := Parse(KindProject, ".brainbox.toml", []byte(`version = 1
filesystem.write = ["/a/b"]
filesystem.read = ["/b/c"]
env.allow = ["TERM"]
gate.confirm = ["y"]
`))
	if err != nil {
		t.Fatal(err)
	}
	q, err := Narrow(p, project, Input{Vars: testVars()})
	if err != nil {
		t.Fatal(err)
	}
	if string(p.Format()) != before {
		t.Error("Narrow changes the policy it was given")
	}
	if string(q.Format()) == before {
		t.Error("Narrow changes nothing")
	}
	if _, err := Narrow(p, l, Input{Vars: testVars()}); err == nil {
		t.Error("a file of the operator is taken for a project file")
	}
}

// TestNarrowInside uses the caller's notion of inside: here /link is /a/real.
func TestNarrowInside(t *testing.T) {
	l, err := Parse(KindFile, "policy.toml", []byte("version = 1\nfilesystem.write = [\"/a\"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := Resolve(Input{}, l)
	if err != nil {
		t.Fatal(err)
	}
	project, err := Parse(KindProject, ".brainbox.toml", []byte("version = 1\nfilesystem.write = [\"/link\"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Narrow(p, project, Input{}); err == nil {
		t.Error("/link is taken for a part of /a")
	}
	real := func(s string) string {
		if rest, ok := strings.CutPrefix(s, "/link"); ok {
			return "/a/real" + rest
		}
		return s
	}
	in := Input{Inside: func(child, parent string) bool { return Below(real(child), real(parent)) }}
	if _, err := Narrow(p, project, in); err != nil {
		t.Errorf("with links resolved: %v", err)
	}
}
