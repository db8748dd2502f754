package learn

import (
	"math/rand/v2"
	"strings"
	"testing"

	"brainbox/launcher"
	"brainbox/policy"
)

// randomPath makes a path of few names, so that they meet.
func randomPath(r *rand.Rand) string {
	roots := []string{
		"/srv", "/opt2/x", "/home/u", "/home/u/.config", "/home/u/src/app", "/home/u/src/app/build", "/home/u/src", "/etc", "/usr/lib", "/var/lib",
		"/home/u/.cargo", "/home/u/.ssh", "/home/u/.cache",
	}
	names := []string{
		"a", "b", "c", "d", "tool-1.2", "x.tmp.1234", "lib.so.6", ".git", ".ssh", "credentials", "node_modules", "bin", "a\"b", "é\u202e", "q*?[$", "#",
		"\x01", "\xff", "'", "\\", "~", "@git", " ", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9",
	}
	path := roots[r.IntN(len(roots))]
	for range 1 + r.IntN(4) {
		path += "/" + names[r.IntN(len(names))]
	}
	return path
}

func randomUse(r *rand.Rand) Use {
	list := []launcher.Op{
		launcher.OpRead, launcher.OpRead, launcher.OpRead, launcher.OpWrite, launcher.OpTruncate, launcher.OpExec, launcher.OpCreate,
		launcher.OpRemove, launcher.OpRename, launcher.OpLink,
	}
	u := Use{Count: 1 + r.IntN(3), By: "p\n" + string(rune('a'+r.IntN(4)))}
	u.Op, u.Path, u.Kind = list[r.IntN(len(list))], randomPath(r), launcher.FileKind(1+r.IntN(3))
	if u.Op == launcher.OpRename || u.Op == launcher.OpLink {
		u.Dest = randomPath(r)
	}
	u.Judgement.Verdict = launcher.Allowed
	if r.IntN(5) == 0 {
		u.Judgement.Verdict = launcher.Refused
	}
	return u
}

// Every use that was allowed is allowed by the draft, read back from its text, but for what
// no line may open; and no place of secrets is open that the base does not open.
func TestDraftCoversWhatWasUsed(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	covered := 0
	for range 150 {
		uses := make([]Use, 1+r.IntN(60))
		for i := range uses {
			uses[i] = randomUse(r)
		}
		in := input(t, uses...)
		in.Status = r.IntN(2)
		in.Command = randomPath(r)
		d := New(in)
		text := d.TOML()
		p := parsed(t, text)
		can := model(t, p, text)
		b := bounds{home: in.Place.Home, cwd: in.Place.Cwd, secrets: newSecrets(in.Secrets)}
		for i := range uses {
			if uses[i].Judgement.Verdict != launcher.Allowed {
				continue
			}
			for _, n := range needsOf(&uses[i]) {
				at := n.path
				for !canSpell(at) {
					at = parent(at)
				}
				if b.never(n.path) || b.never(at) {
					continue
				}
				covered++
				if got := can(n.path); n.bits&^got != 0 {
					t.Fatalf("%v of %q needs %v, has %v, in\n%s", uses[i].Op, n.path, n.bits.right(), got.right(), text)
				}
			}
		}
		for _, l := range d.Lines {
			if b.never(l.Path) {
				t.Fatalf("an active line for %q in\n%s", l.Path, text)
			}
			for _, s := range in.Secrets {
				if policy.Below(strings.ReplaceAll(s.Path, "*", ""), l.Path) {
					t.Fatalf("the line %q opens %s", l.Path, s.Path)
				}
			}
		}
		for _, line := range strings.Split(string(text), "\n") {
			if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r == 0x202e }) {
				t.Fatalf("a raw control character in %q", line)
			}
		}
	}
	if covered < 2000 { // positive control: the test asked for something
		t.Errorf("%d needs in all", covered)
	}
}

// FuzzTOML reads back what is written for hostile names: as that very path, and nothing else.
func FuzzTOML(f *testing.F) {
	for _, seed := range []string{"a", `a"b`, "a\nb", "\x1b[31m", "'''", `\u0041`, "é\u202e\u200b", "\U000e0041", "*?[", "${HOME}", "~", "@cwd", "#", "a,\n]\n[env]\nallow=[\"X\"]", "\xff", " "} {
		f.Add(seed, seed, byte(0))
		f.Add(seed, "x", byte(1))
	}
	f.Fuzz(func(t *testing.T, name, by string, where byte) {
		if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") || len(name) > 255 {
			t.Skip()
		}
		dir := []string{"/srv/d", "/home/u/d", "/home/u/src/app/d"}[where%3]
		path := dir + "/" + name
		read := Use{Count: 1, By: by, Judgement: launcher.Judgement{Verdict: launcher.Allowed, Reason: by}}
		read.Path, read.Op, read.Kind = path, launcher.OpExec, launcher.KindRegular
		refused := read
		refused.Judgement.Verdict, refused.Path = launcher.Refused, "/srv/e/"+name
		in := input(t, read, refused)
		in.Command = name
		d := New(in)
		text := d.TOML()
		p := parsed(t, text)
		var got []string
		for _, g := range p.Grants {
			if p.Sources[g.Source].Kind == policy.KindFile && g.Right != policy.RightRead {
				got = append(got, g.Abs)
			}
		}
		want := d.Lines[len(d.Lines)-1].Path
		if len(got) != 1 || got[0] != want || !policy.Below(path, want) || canSpell(path) && !isTemporary(name) && keepsTogether(dir) == "" && want != path {
			t.Fatalf("%q became %q, want %q, in\n%s", path, got, want, text)
		}
		if len(p.Env.Allow) != len(parsed(t, []byte("version = 1\nextends = [\"minimal\"]\n")).Env.Allow) || p.Network.Mode.V != policy.NetNone {
			t.Fatalf("a name became something else in\n%s", text)
		}
	})
}
