package policy

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func defaultPolicy(t testing.TB, v Vars) *Policy {
	t.Helper()
	layers, err := Layers("", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Resolve(Input{Vars: v}, layers...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestDefaultProfile(t *testing.T) {
	p := defaultPolicy(t, testVars())
	writable := []string{}
	for _, g := range p.Grants {
		switch {
		case g.Right == RightDeny:
			t.Errorf("the default denies %q: deny is never optional", g.Abs)
		case g.Right.Writes():
			writable = append(writable, g.Right.String()+" "+g.Abs)
		}
		if !g.Skip {
			t.Errorf("%v %q may not be absent", g.Right, g.Abs)
		}
		if g.Optional != (g.Right == RightProtect) {
			t.Errorf("%v %q: optional is %t", g.Right, g.Abs, g.Optional)
		}
	}
	if diff := cmp.Diff([]string{"write_exec /home/u/repo/sub"}, writable); diff != "" {
		t.Errorf("writable (-want +got)\n%s", diff)
	}
	var optional []string
	for _, o := range p.Optional {
		optional = append(optional, o.V)
	}
	want := []string{"protect", "metadata", "processes", "tree", "shared_memory"}
	if diff := cmp.Diff(want, optional); diff != "" {
		t.Errorf("optional clauses (-want +got)\n%s", diff)
	}
	if p.Network.Mode.V != NetNone || p.Process.Seccomp.V.Kind != "default" {
		t.Errorf("network %v, seccomp %v", p.Network.Mode.V, p.Process.Seccomp.V)
	}
	if diff := cmp.Diff([]Source{{Kind: KindProfile, Name: "default"}}, p.Sources); diff != "" {
		t.Errorf("sources (-want +got)\n%s", diff)
	}
}

// TestDefaultShowsNoSecret has no grant on, inside or around what holds
// credentials; the positive control is a folder that is granted.
func TestDefaultShowsNoSecret(t *testing.T) {
	for _, name := range BuiltinNames() {
		l, ok := Builtin(name)
		if !ok {
			t.Fatalf("no profile %q", name)
		}
		v := testVars()
		v.Cwd, v.Git = "/srv/x", "/srv/x"
		p, err := Resolve(Input{Vars: v}, l)
		if err != nil {
			t.Fatal(err)
		}
		granted := func(file string) bool {
			return slices.ContainsFunc(p.Grants, func(g Grant) bool { return g.Right.Grants() && Below(file, g.Abs) })
		}
		if !granted("/usr/bin/env") {
			t.Errorf("%s: /usr/bin/env is not granted", name)
		}
		for _, file := range []string{
			"/etc/shadow", "/etc/gshadow", "/etc/ssh/ssh_host_rsa_key", "/etc/ssl/private/x", "/etc/sudoers",
			"/etc/brainbox/exec.toml", "/etc", "/", "/home/u", "/home/u/.ssh/id_rsa", "/home/u/.netrc", "/home/u/.npmrc",
			"/home/u/.cargo/credentials.toml", "/home/u/.cargo/credentials", "/home/u/.cargo", "/home/u/.config/gh",
			"/home/u/.aws/credentials", "/home/u/.docker/config.json", "/home/u/.gitconfig", "/home/u/.volta",
			"/home/u/.local/share/uv/credentials/credentials.toml", "/home/u/.cache", "/home/u/.cache/huggingface/token",
			"/home/u/.m2/settings.xml", "/home/u/.m2", "/home/u/.config/pnpm/rc", "/home/u/.config/go/env", "/home/u/.gdbinit",
			"/home/u/.local/share", "/home/u/.local/share/keyrings/x", "/home/u/.local/state", "/home/u/.local",
			"/root", "/var", "/run", "/tmp", "/dev/mem", "/sys", "/sys/kernel", "/proc", "/boot",
		} {
			if granted(file) {
				t.Errorf("%s: %s is granted", name, file)
			}
		}
	}
}

func TestProtectedNames(t *testing.T) {
	names := ProtectedNames()
	if len(names) != 47 { // 9 directories, 1 run, 37 files: bg/C.2
		t.Errorf("%d names", len(names))
	}
	sorted := slices.Clone(names)
	slices.Sort(sorted)
	if len(slices.Compact(sorted)) != len(names) {
		t.Error("a name is listed twice")
	}
	p := defaultPolicy(t, testVars())
	for _, name := range names {
		for _, top := range []string{"/home/u/repo/sub/", "/home/u/repo/"} {
			if !slices.ContainsFunc(p.Grants, func(g Grant) bool {
				return g.Right == RightProtect && g.Abs == top+name
			}) {
				t.Errorf("%s%s is not protected", top, name)
			}
		}
	}
	v := testVars()
	v.Git = "" // outside a checkout
	for _, g := range defaultPolicy(t, v).Grants {
		if strings.HasPrefix(g.Text, "@git") {
			t.Errorf("%q outside a checkout", g.Text)
		}
	}
}

// TestDefaultNests has nothing in the profiles that contradicts itself, in an
// ordinary checkout and in odd places.
func TestDefaultNests(t *testing.T) {
	for _, cwd := range []string{"/home/u/repo", "/home/u/go", "/opt/work", "/home/u", "/home/u/.local"} {
		v := testVars()
		v.Cwd, v.Git = cwd, cwd
		p := defaultPolicy(t, v)
		nests(t, "in "+cwd, p)
	}
}

func TestBuiltinIsACopy(t *testing.T) {
	a, _ := Builtin("default")
	a.Policy.Grants[0].Right = RightWriteExec
	a.Policy.Env.Allow[0].V = "X"
	b, _ := Builtin("default")
	if b.Policy.Grants[0].Right == RightWriteExec || b.Policy.Env.Allow[0].V == "X" {
		t.Error("a profile is shared between callers")
	}
	if _, ok := Builtin("none-such"); ok {
		t.Error("an unknown profile")
	}
	if !slices.IsSorted(BuiltinNames()) {
		t.Error("the names are not sorted")
	}
}

// TestResolveLeavesLayers resolves the same layers twice.
func TestResolveLeavesLayers(t *testing.T) {
	file, err := Parse(KindFile, "p.toml", []byte(`version = 1
extends = ["default"]
[filesystem]
read = ["/a", "/a"]
[env]
set = { A = "1" }
[filesystem.remove]
write_exec = ["@cwd"]
`))
	if err != nil {
		t.Fatal(err)
	}
	flags := NewFlagLayer()
	if err := flags.AddEnv("--env A=2", "A=2"); err != nil {
		t.Fatal(err)
	}
	var texts []string
	for range 2 {
		p, err := Resolve(Input{Vars: testVars()}, file, flags)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(p.Format()))
	}
	if diff := cmp.Diff(texts[0], texts[1]); diff != "" {
		t.Errorf("(-first +second)\n%s", diff)
	}
}

func BenchmarkDefault(b *testing.B) {
	v := testVars()
	for b.Loop() {
		p := defaultPolicy(b, v)
		entries := make([]Entry, len(p.Grants))
		for i, g := range p.Grants {
			entries[i] = Entry{g.Abs, g.Right, p.Sources[g.Source].Kind}
		}
		Nest(entries)
	}
}

func BenchmarkParse(b *testing.B) {
	text := defaultPolicy(b, testVars()).Format()
	for b.Loop() {
		if _, err := Parse(KindFile, "p.toml", text); err != nil {
			b.Fatal(err)
		}
	}
}
