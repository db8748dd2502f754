package envfilter

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// input is a run in which the three system folders may be executed.
func input(caller ...string) Input {
	return Input{
		Caller: caller, Allow: DefaultAllow(), User: "u", Home: "/run1/home", Tmp: "/run1/tmp",
		PathOK: func(dir string) bool { return strings.HasPrefix(dir, "/usr/") || dir == "/bin" },
	}
}

// ownEnv is what Build gives for input() without a caller's variable.
func ownEnv() []string {
	return []string{
		"GOCACHE=/run1/home/.cache/go-build",
		"HOME=/run1/home",
		"LOGNAME=u",
		"PATH=/usr/local/bin:/usr/bin:/bin",
		"PIP_CACHE_DIR=/run1/home/.cache/pip",
		"SHELL=/bin/sh",
		"TEMP=/run1/tmp",
		"TMP=/run1/tmp",
		"TMPDIR=/run1/tmp",
		"TMPPREFIX=/run1/tmp/zsh",
		"USER=u",
		"XDG_CACHE_HOME=/run1/home/.cache",
		"XDG_CONFIG_HOME=/run1/home/.config",
		"XDG_DATA_HOME=/run1/home/.local/share",
		"XDG_STATE_HOME=/run1/home/.local/state",
		"npm_config_cache=/run1/home/.npm",
	}
}

func with(env ...string) []string {
	all := append(ownEnv(), env...)
	slices.Sort(all)
	return all
}

func build(t *testing.T, in Input) ([]string, []Note) {
	t.Helper()
	env, notes, err := Build(in)
	if err != nil {
		t.Fatalf("Build: %v", err)
	}
	return env, notes
}

// lookup returns the value of name in env.
func lookup(env []string, name string) (string, bool) {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v, true
		}
	}
	return "", false
}

func TestBuildNeverTakesOrSetsAControl(t *testing.T) {
	for _, name := range []string{
		"BRAINBOX_SOCKET", "BRAINBOX_", "BRAINBOX_POLICY", "BRAIN_UI_EXEC_WRAPPER", "BRAIN_UI_EXEC_KILLER", extraControl,
	} {
		for _, v := range []Var{{Name: name, Value: "x"}, {Name: name, FromCaller: true}} {
			in := input(name + "=v")
			in.Set = []Var{v}
			if _, _, err := Build(in); !errors.Is(err, fs.ErrPermission) {
				t.Errorf("Build with %+v: %v, want a refusal", v, err)
			}
		}
		env, _ := build(t, input(name+"=v"))
		if _, ok := lookup(env, name); ok {
			t.Errorf("%s was taken from the caller", name)
		}
	}
	in := input()
	in.Fixed = []Var{{Name: "BRAINBOX_SOCKET", Value: "/s"}}
	env, _ := build(t, in)
	if got, _ := lookup(env, "BRAINBOX_SOCKET"); got != "/s" {
		t.Errorf("BRAINBOX_SOCKET = %q, want brainbox's own /s", got)
	}
}

func TestBuildLayers(t *testing.T) {
	in := input("A=caller", "B=caller", "LANG=caller", "D=caller", "PATH=/usr/games:/evil")
	in.Allow = append(in.Allow, "A", "MISSING")
	in.Files = []File{{"f", []Var{{Name: "A", Value: "file", Line: 1}, {Name: "D", FromCaller: true, Line: 2}}}}
	in.Set = []Var{
		{Name: "C", Value: "one"},
		{Name: "C", Value: "two"},
		{Name: "https_proxy", Value: "mine"},
		{Name: "my.prop"},
	}
	in.Fixed = []Var{{Name: "https_proxy", Value: "http://127.0.0.1:1"}}
	in.Toolchain = []Var{{Name: "CARGO_HOME", Value: "/run1/home/.cargo"}}
	in.Sockets = []Var{{Name: "SSH_AUTH_SOCK", Value: "/tmp/agent"}}
	in.GitConfig, in.Shell = "/run1/home/.gitconfig", "/usr/bin/zsh"
	env, notes := build(t, in)
	want := with("A=file", "C=two", "D=caller", "LANG=caller", "https_proxy=http://127.0.0.1:1", "my.prop=",
		"CARGO_HOME=/run1/home/.cargo", "GIT_CONFIG_GLOBAL=/run1/home/.gitconfig", "SSH_AUTH_SOCK=/tmp/agent")
	for i, kv := range want {
		switch {
		case strings.HasPrefix(kv, "SHELL="):
			want[i] = "SHELL=/usr/bin/zsh"
		case strings.HasPrefix(kv, "PATH="):
			want[i] = "PATH=/usr/games:/usr/local/bin:/usr/bin:/bin"
		}
	}
	if diff := cmp.Diff(want, env); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if len(notes) != 2 || notes[0].Name != "https_proxy" || notes[1].Name != "https_proxy" {
		t.Errorf("notes %v, want two about https_proxy", notes)
	}
}

func TestBuildKeepsItsOwnValueUnlessOneIsWritten(t *testing.T) {
	in := input("HOME=/root", "XDG_CONFIG_HOME=/root/.config")
	in.Set = []Var{{Name: "HOME", FromCaller: true}}
	in.Allow = []string{"XDG_CONFIG_HOME"}
	env, notes := build(t, in)
	if diff := cmp.Diff(ownEnv(), env); diff != "" { // esc/EV-11
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if len(notes) != 2 {
		t.Errorf("notes %v, want one for each name", notes)
	}
	in.Set = []Var{{Name: "HOME", Value: "/srv"}}
	env, notes = build(t, in)
	if got, _ := lookup(env, "HOME"); got != "/srv" || len(notes) != 2 {
		t.Errorf("HOME = %q with notes %v, want /srv and two notes", got, notes)
	}
}

// esc/EV-13: a run with a proxy of its own has that one, unless an operator writes another.
func TestBuildSetsTheRunsProxy(t *testing.T) {
	in := input("HTTPS_PROXY=http://caller:1", "http_proxy=http://caller:1", "NO_PROXY=caller")
	in.Proxies = []Var{{Name: "HTTPS_PROXY", Value: "http://run:1"}, {Name: "http_proxy", Value: "http://run:1"}}
	in.Allow = append(in.Allow, "HTTPS_PROXY")
	env, notes := build(t, in)
	if diff := cmp.Diff(with("HTTPS_PROXY=http://run:1", "http_proxy=http://run:1"), env); diff != "" || len(notes) != 1 {
		t.Errorf("environment (-want +got):\n%s%v", diff, notes)
	}
	in.Set = []Var{{Name: "http_proxy", Value: "http://mine:1"}}
	env, notes = build(t, in)
	if diff := cmp.Diff(with("HTTPS_PROXY=http://run:1", "http_proxy=http://mine:1"), env); diff != "" || len(notes) != 2 {
		t.Errorf("environment (-want +got):\n%s%v", diff, notes)
	}
}

func TestBuildRebuildsPath(t *testing.T) {
	in := input("PATH=/usr/games")
	in.Set = []Var{{Name: "PATH", Value: "/usr/x:.:/evil:"}}
	env, notes := build(t, in)
	if got, _ := lookup(env, "PATH"); got != "/usr/x:/usr/local/bin:/usr/bin:/bin" || len(notes) != 1 {
		t.Errorf("PATH = %q, notes %v", got, notes)
	}
	in.PathOK = nil
	env, _ = build(t, in)
	if got, _ := lookup(env, "PATH"); got != "/dev/null" {
		t.Errorf("PATH = %q, want one that finds nothing", got)
	}
}

func TestBuildSetsTheCertificateVariables(t *testing.T) {
	in := input("SSL_CERT_FILE=/callers")
	in.CABundle = "/etc/corp.pem"
	env, _ := build(t, in)
	for _, name := range []string{
		"SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO",
		"PIP_CERT", "AWS_CA_BUNDLE", "CARGO_HTTP_CAINFO", "NIX_SSL_CERT_FILE",
	} {
		if got, _ := lookup(env, name); got != "/etc/corp.pem" {
			t.Errorf("%s = %q, want the bundle", name, got)
		}
	}
}

func TestBuildReadsAStrangeBlockOneWay(t *testing.T) {
	big := strings.Repeat("x", 2<<20)
	env, _ := build(t, input("NOEQ", "=x", "=C:=x", "LANG=a\x00b", "LANG=1", "LANG=2", "TERM=a\nb", "TZ=\xff", "BIG="+big))
	if diff := cmp.Diff(with("LANG=2", "TERM=a\nb", "TZ=\xff"), env); diff != "" { // esc/EV-12
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

func TestBuildRefusesWhatCannotBe(t *testing.T) {
	fits := strings.Repeat("x", MaxEntry-len("LANG=")-1)
	tests := []struct {
		name, want string
		change     func(*Input)
	}{
		{"esc/EV-12 a value over MAX_ARG_STRLEN", "LANG", func(in *Input) { in.Caller = []string{"LANG=" + fits + "x"} }},
		{"U+0000 in a value", "A", func(in *Input) { in.Set = []Var{{Name: "A", Value: "a\x00"}} }},
		{"empty name", "", func(in *Input) { in.Set = []Var{{Value: "a"}} }},
		{"name with =", "A=B", func(in *Input) { in.Set = []Var{{Name: "A=B", Value: "a"}} }},
		{"name with a blank", "A B", func(in *Input) { in.Allow = []string{"A B"} }},
		{"name with a line feed", "A\n", func(in *Input) { in.Set = []Var{{Name: "A\n", FromCaller: true}} }},
		{"a pattern", "AWS_*", func(in *Input) { in.Allow = []string{"AWS_*"} }},
		{"every name", "*", func(in *Input) { in.Allow = []string{"*"} }},
		{"no home", "HOME", func(in *Input) { in.Home = "" }},
		{"no home, though one is written", "HOME", func(in *Input) {
			in.Home, in.Set = "", []Var{{Name: "HOME", Value: "/x"}}
		}},
		{"relative temporary folder", "TMPDIR", func(in *Input) { in.Tmp = "tmp" }},
		{"U+0000 in a fixed value", "F", func(in *Input) { in.Fixed = []Var{{Name: "F", Value: "\x00"}} }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := input()
			tt.change(&in)
			env, _, err := Build(in)
			var ne *NameError
			if !errors.As(err, &ne) || ne.Name != tt.want || !errors.Is(err, fs.ErrInvalid) || env != nil {
				t.Errorf("Build: %v, want an error for %q", err, tt.want)
			}
		})
	}
	if env, _ := build(t, input("LANG="+fits)); !slices.Contains(env, "LANG="+fits) {
		t.Error("a value of exactly MAX_ARG_STRLEN was not taken")
	}
}

func TestNotesAndErrorsHoldNoValue(t *testing.T) {
	const secret = "s3cr3t"
	in := input("PAGER=" + secret)
	for _, name := range []string{"LD_PRELOAD", "HOME", "all_proxy"} {
		in.Set = append(in.Set, Var{Name: name, Value: secret})
	}
	_, notes := build(t, in)
	if len(notes) != 3 {
		t.Fatalf("notes %v, want three", notes)
	}
	for _, n := range notes {
		if strings.Contains(n.Name+n.Text, secret) {
			t.Errorf("note %v holds a value", n)
		}
	}
	in.Set = []Var{{Name: "A", Value: secret + "\x00"}}
	if _, _, err := Build(in); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("error %v, want one without a value", err)
	}
}

func BenchmarkBuild(b *testing.B) {
	var caller []string
	for _, names := range evNames() {
		caller = append(caller, block(names...)...)
	}
	in := input(append(caller, "LANG=C", "TERM=xterm", "PATH=/usr/local/bin:/usr/bin:/bin:/usr/games:/snap/bin")...)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := Build(in); err != nil {
			b.Fatal(err)
		}
	}
}
