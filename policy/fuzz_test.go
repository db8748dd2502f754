package policy

import (
	"errors"
	"net/netip"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// FuzzParse never panics; every error has a place inside the text; what parses
// and merges formats, and parses to the same policy.
func FuzzParse(f *testing.F) {
	seeds := 0
	for _, name := range []string{"merge.txtar", "narrow.txtar", "degrade.txtar", "errors.txtar"} {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range txtar.Parse(text).Files {
			if strings.HasSuffix(file.Name, ".toml") {
				seeds++
				f.Add(uint8(seeds%3), file.Data)
			}
		}
	}
	if seeds == 0 {
		f.Fatal("no seeds")
	}
	f.Fuzz(func(t *testing.T, k uint8, text []byte) {
		kind := [...]SourceKind{KindFile, KindExec, KindProject}[k%3]
		l, err := Parse(kind, "f.toml", text)
		if err != nil {
			checkPlaces(t, text, err)
			return
		}
		in := Input{Vars: testVars(), Read: func(string) ([]byte, error) { return text, nil }}
		if kind == KindProject {
			base, err := Resolve(in, developer("default").l)
			if err != nil {
				t.Fatal(err)
			}
			p, err := Narrow(base, l, in)
			if err != nil {
				checkPlaces(t, text, err)
				return
			}
			checkNarrower(t, base, p)
			checkRoundTrip(t, p)
			return
		}
		p, err := Resolve(in, l)
		if err != nil {
			checkPlaces(t, text, err)
			return
		}
		checkRoundTrip(t, p)
	})
}

func checkPlaces(t *testing.T, text []byte, err error) {
	t.Helper()
	var one *Error
	if !errors.As(err, &one) {
		t.Fatalf("%T: %v", err, err)
	}
	lines := strings.Count(string(text), "\n") + 1
	all := Errors{one}
	errors.As(err, &all)
	for _, e := range all {
		if len(text) <= maxText && (e.Source.Line < 1 || e.Source.Line > lines || e.Source.Column < 1) {
			t.Errorf("%v: no place in a text of %d lines", e, lines)
		}
		if e.Msg == "" {
			t.Error("an error without a message")
		}
	}
}

// checkNarrower has no grant of p reach further than base does.
func checkNarrower(t *testing.T, base, p *Policy) {
	t.Helper()
	for _, g := range p.Grants {
		if !g.Right.Grants() {
			continue
		}
		ok := false
		for _, o := range base.Grants {
			ok = ok || o.Right.Grants() && Below(g.Abs, o.Abs) && covers(o.Right, g.Right)
		}
		if !ok {
			t.Errorf("%v %q is wider than the operator's policy", g.Right, g.Abs)
		}
	}
	marks := map[Grant]bool{}
	for _, g := range p.Grants {
		marks[Grant{Path{Abs: g.Abs}, g.Right}] = true
	}
	for _, o := range base.Grants {
		if !o.Right.Grants() && !marks[Grant{Path{Abs: o.Abs}, o.Right}] {
			t.Errorf("%v %q is lost", o.Right, o.Abs)
		}
	}
	if p.Network.Mode.V > base.Network.Mode.V {
		t.Errorf("network mode %v", p.Network.Mode.V)
	}
}

// FuzzExpand never panics; what it returns is absolute, clean, and below the
// home for what begins with ~/ and has no "..".
func FuzzExpand(f *testing.F) {
	for _, text := range []string{
		".", "~", "~/x/../y", "@git/x", "@cwd", "${HOME}/x", "${USER}",
		"a${USER}b", "/..", "//x", "~x", "$", "${", "[", "\xff",
	} {
		f.Add(uint8(1), text)
		f.Add(uint8(2), text)
	}
	f.Fuzz(func(t *testing.T, k uint8, text string) {
		kind := SourceKind(k % 5)
		got, err := Expand(kind, text, testVars())
		if err != nil {
			if got != "" {
				t.Errorf("%q with error %v", got, err)
			}
			return
		}
		if !path.IsAbs(got) || path.Clean(got) != got {
			t.Errorf("%q is not absolute and clean", got)
		}
		if strings.HasPrefix(text, "~/") && !strings.Contains(text, "..") && !Below(got, "/home/u") {
			t.Errorf("%q leaves the home: %q", text, got)
		}
		if kind == KindExec && text[0] != '/' && text[0] != '~' && !strings.HasPrefix(text, "@cwd") {
			t.Errorf("exec.toml accepts %q", text)
		}
	})
}

// FuzzAddress agrees with net/netip on what an address is.
func FuzzAddress(f *testing.F) {
	for _, text := range []string{
		"192.0.2.1", "1.2.3", "1.2.3.4.5", "01.2.3.4", "256.1.1.1", "::", "::1", "1::", "1:2:3:4:5:6:7:8",
		"1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "1::2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8:9", "::ffff:192.0.2.1",
		"1:2:3:4:5:6:192.0.2.1", "1:2:3:4:5:6:7:192.0.2.1", "192.0.2.1::", "::192.0.2.1:1", "1:::2", ":1", "1:", ":::",
		"12345::", "::g", "fe80::1%eth0", "::1::", "1:2", "",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		addr, err := netip.ParseAddr(text)
		if want := err == nil && addr.Zone() == ""; isAddress(text) != want {
			t.Errorf("isAddress(%q) = %t, net/netip says %v", text, !want, err)
		}
	})
}

// FuzzResolver takes an address with a port, or gives it one, and nothing else.
func FuzzResolver(f *testing.F) {
	for _, text := range []string{
		"192.0.2.53", "192.0.2.53:5353", "[2001:db8::53]:53", "2001:db8::53", "dns.example:53", "127.1", "[::1]:0", "fe80::1%eth0", "::ffff:192.0.2.1:53", "",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseResolver(text)
		if err != nil {
			return
		}
		addr, err := netip.ParseAddrPort(got)
		if err != nil || addr.Port() == 0 || addr.Addr().Zone() != "" {
			t.Errorf("%q: %q, %v", text, got, err)
		}
		if again, err := ParseResolver(got); err != nil || again != got {
			t.Errorf("%q: %q, then %q, %v", text, got, again, err)
		}
	})
}
