package policy

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func resolved(t *testing.T, layers ...*Layer) *Policy {
	t.Helper()
	p, err := Resolve(Input{Vars: testVars()}, layers...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func builtin(t *testing.T, name string) *Layer {
	t.Helper()
	l, ok := Builtin(name)
	if !ok {
		t.Fatalf("no profile %q", name)
	}
	return l
}

// says is what a policy holds, one thing a line.
func says(p *Policy) []string {
	var list []string
	for _, g := range p.Grants {
		list = append(list, g.Right.String()+" "+g.Text)
	}
	for _, e := range p.Env.Allow {
		list = append(list, "env "+e.V)
	}
	for _, h := range p.Network.AllowHosts {
		list = append(list, "host "+h.V.String())
	}
	for _, o := range p.Optional {
		list = append(list, "optional "+o.V)
	}
	return append(list, "network "+p.Network.Mode.V.String(), "seccomp "+p.Process.Seccomp.V.Kind)
}

// TestProfilesGolden has what each profile adds to the default and takes from it, as a
// person would review it. Hosts are those of network mode proxy.
func TestProfilesGolden(t *testing.T) {
	var got strings.Builder
	base := says(resolved(t, builtin(t, "default")))
	for _, name := range BuiltinNames() {
		if name == "default" {
			continue
		}
		flags := NewFlagLayer()
		if err := flags.Set("network.mode", "--net proxy", "proxy"); err != nil {
			t.Fatal(err)
		}
		own := says(resolved(t, builtin(t, name)))
		own = append(own, slices.DeleteFunc(says(resolved(t, builtin(t, name), flags)), func(s string) bool {
			return !strings.HasPrefix(s, "host ")
		})...)
		got.WriteString("-- " + name + "\n")
		for _, s := range base {
			if !slices.Contains(own, s) && (name != "minimal" || !strings.HasPrefix(s, "protect ")) {
				got.WriteString("- " + s + "\n")
			}
		}
		for _, s := range own {
			if !slices.Contains(base, s) {
				got.WriteString("+ " + s + "\n")
			}
		}
	}
	const file = "testdata/profiles.golden"
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil { //nolint:gosec // a file of the project
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestProfilesOpenNothing: none writes but in the directory it starts in, denies or
// demands what may be absent, opens a network, or opens ptrace but the one for it.
func TestProfilesOpenNothing(t *testing.T) {
	for _, name := range BuiltinNames() {
		p := resolved(t, builtin(t, name))
		writable := []string{}
		for _, g := range p.Grants {
			if g.Right.Writes() {
				writable = append(writable, g.Right.String()+" "+g.Abs)
			}
			if g.Right == RightDeny || !g.Skip || g.Optional != (g.Right == RightProtect) {
				t.Errorf("%s: %v %q", name, g.Right, g.Abs)
			}
		}
		want := []string{"write_exec /home/u/repo/sub"}
		if name == "minimal" || name == "readonly" {
			want = []string{}
		}
		if diff := cmp.Diff(want, writable); diff != "" {
			t.Errorf("%s: writable (-want +got)\n%s", name, diff)
		}
		if p.Network.Mode.V != NetNone || len(p.Network.AllowHosts) > 0 || len(p.Network.Unix) > 0 || len(p.Notes) > 0 {
			t.Errorf("%s: network %+v, notes %q", name, p.Network, p.Notes)
		}
		filter := "default"
		if name == "debug" {
			filter = "debug"
		}
		if p.Process.Seccomp.V.Kind != filter || p.Sandbox.Home.Set || len(p.Sandbox.Degraded) > 0 || len(p.Env.Set) > 0 {
			t.Errorf("%s: seccomp %q, sandbox %+v, env %+v", name, p.Process.Seccomp.V.Kind, p.Sandbox, p.Env)
		}
		if diff := cmp.Diff([]Source{{Kind: KindProfile, Name: name}}, p.Sources); diff != "" {
			t.Errorf("%s: sources (-want +got)\n%s", name, diff)
		}
	}
}

// TestProfileHosts: the hosts of a registry count in mode proxy and nowhere else, whoever
// sets the mode, and can be taken back.
func TestProfileHosts(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"alone", "", ""},
		{"none", "[network]\nmode = \"none\"\n", ""},
		{"host", "[network]\nmode = \"host\"\n", ""},
		{"ports", "[network]\nmode = \"ports\"\nconnect_tcp = [443]\n", ""},
		{"proxy", "[network]\nmode = \"proxy\"\n", "registry.npmjs.org:443 registry.yarnpkg.com:443"},
		{
			"and one more", "[network]\nmode = \"proxy\"\nallow_hosts = [\"a.example\"]\n",
			"registry.npmjs.org:443 registry.yarnpkg.com:443 a.example",
		},
		{
			"taken back", "[network]\nmode = \"proxy\"\n[network.remove]\nallow_hosts = [\"registry.yarnpkg.com:443\"]\n",
			"registry.npmjs.org:443",
		},
	} {
		file, err := Parse(KindFile, "p.toml", []byte("version = 1\nextends = [\"node\"]\n"+c.text))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		var got []string
		for _, h := range resolved(t, file).Network.AllowHosts {
			got = append(got, h.V.String())
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	// What an operator writes without a mode for it is still an error.
	file, err := Parse(KindFile, "p.toml", []byte("version = 1\nextends = [\"node\"]\n[network]\nallow_hosts = [\"a.example\"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Resolve(Input{Vars: testVars()}, file); err == nil {
		t.Error("a host of the operator's without mode proxy")
	}
}

// TestProfilesJoin merges every pair, in both orders: nothing contradicts, nothing is
// there twice, and of seccomp the last one counts.
func TestProfilesJoin(t *testing.T) {
	for _, a := range BuiltinNames() {
		for _, b := range BuiltinNames() {
			file, err := Parse(KindFile, "p.toml", []byte("version = 1\nextends = [\""+a+"\", \""+b+"\"]\n"))
			if err != nil {
				t.Fatal(err)
			}
			p := resolved(t, file)
			if filter := "debug"; (p.Process.Seccomp.V.Kind == filter) != (b == filter) {
				t.Errorf("%s, %s: seccomp %q", a, b, p.Process.Seccomp.V.Kind)
			}
			got := says(p)
			slices.Sort(got)
			if n := len(got); len(slices.Compact(got)) != n {
				t.Errorf("%s, %s: a line is there twice", a, b)
			}
			nests(t, a+", "+b, p)
		}
	}
}

// nests has no entry that contradicts one around it.
func nests(t *testing.T, name string, p *Policy) {
	t.Helper()
	entries := make([]Entry, len(p.Grants))
	for i, g := range p.Grants {
		entries[i] = Entry{g.Abs, g.Right, p.Sources[g.Source].Kind}
	}
	for i, n := range Nest(entries) {
		if n.Err != nil {
			t.Errorf("%s: %v %q: %v", name, p.Grants[i].Right, p.Grants[i].Abs, n.Err)
		}
		if n.Implied == RightProtect && !n.Optional {
			t.Errorf("%s: %v %q is a required protect", name, p.Grants[i].Right, p.Grants[i].Abs)
		}
	}
}

// BenchmarkProfiles is what one more profile costs whoever names it.
func BenchmarkProfiles(b *testing.B) {
	for _, name := range []string{"default", "node", "offline-build"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, ok := Builtin(name); !ok {
					b.Fatal(name)
				}
			}
		})
	}
}
