package policy

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rogpeppe/go-internal/txtar"
)

// meaning returns p without what Format cannot carry: provenance, notes, and
// what only a built-in profile can say.
func meaning(p *Policy) *Policy {
	c := clone(p)
	c.eachSource(func(i *int) { *i = 0 })
	c.Sandbox.Degraded = c.mayBeOpen()
	c.Sources, c.Files, c.Notes, c.Optional = nil, nil, nil, nil
	plain := func(p *Path) { p.Text, p.Literal, p.Optional, p.Source = "", false, false, 0 }
	var grants []Grant
	for r := RightRead; r <= RightDeny; r++ { // the order of Format
		for _, g := range c.Grants {
			if g.Right == r {
				plain(&g.Path)
				grants = append(grants, g)
			}
		}
	}
	c.Grants = grants
	for _, list := range [][]Path{c.Network.Unix, c.Env.Files, c.Sandbox.AllowProtected} {
		for i := range list {
			plain(&list[i])
		}
	}
	for _, one := range []*Path{
		c.Env.CABundle, c.Sandbox.Cwd, c.Sandbox.TmpRoot, c.Bridge.Envelope,
		&c.Process.Seccomp.V.File, &c.Sandbox.Home.V.Dir,
	} {
		if one != nil {
			plain(one)
		}
	}
	for name, r := range c.Bridge.Roots {
		plain(&r)
		c.Bridge.Roots[name] = r
	}
	return c
}

// again reads what Format wrote.
func again(p *Policy) (*Policy, error) {
	kind := KindFile
	if len(p.Sandbox.Callers) > 0 || p.Sandbox.TmpRoot != nil {
		kind = KindExec
	}
	text := p.Format()
	l, err := Parse(kind, "shown.toml", text)
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, text)
	}
	return Resolve(Input{}, l) // without a table: every path is absolute
}

func checkRoundTrip(t *testing.T, p *Policy) {
	t.Helper()
	q, err := again(p)
	if err != nil {
		t.Fatalf("what Format wrote does not parse: %v", err)
	}
	if diff := cmp.Diff(meaning(p), meaning(q), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("Format and Parse change the policy (-before +after)\n%s", diff)
	}
	if q, err = again(q); err != nil { // the notes are gone, so lines have moved
		t.Fatal(err)
	}
	r, err := again(q)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(q.Format()), string(r.Format())); diff != "" {
		t.Errorf("Format is not stable\n%s", diff)
	}
}

// TestFormatRoundTrip takes every policy of the vectors.
func TestFormatRoundTrip(t *testing.T) {
	seen := 0
	for _, name := range []string{"merge.txtar", "narrow.txtar", "degrade.txtar"} {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		cases := map[string]vector{}
		for _, f := range txtar.Parse(text).Files {
			c, base, _ := strings.Cut(f.Name, "/")
			if _, ok := cases[c]; !ok {
				cases[c] = vector{c, map[string]string{}}
			}
			cases[c].files[base] = string(f.Data)
		}
		for c, v := range cases {
			p, err := resolveVector(t, v)
			if err != nil {
				continue
			}
			seen++
			t.Run(name+"/"+c, func(t *testing.T) { checkRoundTrip(t, p) })
		}
	}
	if seen < 50 {
		t.Errorf("only %d policies", seen)
	}
}

func TestFormatQuotes(t *testing.T) {
	l := NewFlagLayer()
	for _, text := range []string{`A="\` + "\t\n\x01\x7f" + `é'#`, "B=", "C=]]>"} {
		if err := l.AddEnv("--env "+text, text); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{`/a"b\c`, "/a#b", "/é", "/a'b", "/a = b"} {
		if err := l.AddGrant("--ro "+text, text, RightRead); err != nil {
			t.Fatal(err)
		}
	}
	v := testVars()
	v.Cwd = "/odd/[a]/${HOME}/*?"
	if err := l.AddGrant("--rw .", ".", RightWrite); err != nil {
		t.Fatal(err)
	}
	p, err := Resolve(Input{Vars: v}, l)
	if err != nil {
		t.Fatal(err)
	}
	checkRoundTrip(t, p)
	for i, b := range p.Format() {
		if b < ' ' && b != '\n' || b == 0x7f {
			t.Errorf("byte %d is %#x: control bytes reach the terminal", i, b)
		}
	}
}
