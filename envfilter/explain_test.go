package envfilter

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExplain(t *testing.T) {
	in := input("LANG=C", "LC_TIME=C", "SECRET=s3cr3t", "EDITOR=vi", "OK=1")
	in.Allow = append(in.Allow, "OK", "NOT_THERE", "PAGER")
	in.Set = []Var{{Name: "X", Value: "s3cr3t"}, {Name: "ASKED", FromCaller: true}}
	in.Fixed = []Var{{Name: "HTTPS_PROXY", Value: "s3cr3t"}}
	tests := []struct {
		name    string
		allowed bool
		reason  string // a part of it
	}{
		{"SECRET", false, "not on the allow list"},
		{"NOWHERE", false, "no such variable"},
		{"EDITOR", false, "other code"},
		{"LD_PRELOAD", false, "NAME=VALUE"},
		{"PAGER", false, "other code"}, // refused although the list names it
		{"no_proxy", false, "proxy"},
		{"XDG_RUNTIME_DIR", false, "--unix"},
		{"SSL_CERT_FILE", false, "ca_bundle"},
		{"BRAINBOX_SOCKET", false, "controls brainbox"},
		{"A B", false, "not a variable name"},
		{"LC_*", false, "not a variable name"},
		{"lang", false, "no such variable"},
		{"LANG", true, "taken from the caller"},
		{"LC_TIME", true, "taken from the caller"},
		{"LC_ALL", true, "the caller has no such variable"},
		{"NOT_THERE", true, "the caller has no such variable"},
		{"ASKED", true, "the caller has no such variable"},
		{"X", true, "set by you"},
		{"HOME", true, "private home"},
		{"HTTPS_PROXY", true, "set by brainbox"},
	}
	for _, tt := range tests {
		allowed, reason := Explain(in, tt.name)
		if allowed != tt.allowed || !strings.Contains(reason, tt.reason) {
			t.Errorf("Explain(%s) = %v, %q; want %v, %q", tt.name, allowed, reason, tt.allowed, tt.reason)
		}
		if strings.Contains(reason, "s3cr3t") {
			t.Errorf("Explain(%s) = %q holds a value", tt.name, reason)
		}
	}
}

func TestPath(t *testing.T) {
	all := func(string) bool { return true }
	none := func(string) bool { return false }
	tests := []struct {
		name, caller string
		ok           func(string) bool
		want         string
	}{
		{"nothing accepted", "/usr/bin", none, ""},
		{"no judge", "/usr/bin", nil, ""},
		{"esc/EV-10 dot, empty and relative elements", ".:" + "::bin:./x:~/bin:../y:", all, "/usr/local/bin:/usr/bin:/bin"},
		{
			"esc/EV-10 a writable folder first", "/w/bin:/usr/bin", func(d string) bool { return d != "/w/bin" },
			"/usr/bin:/usr/local/bin:/bin",
		},
		{"order of the caller", "/opt/b:/bin:/opt/a", all, "/opt/b:/bin:/opt/a:/usr/local/bin:/usr/bin"},
		{"no element twice", "/a:/a/:/a//.:/a", all, "/a:/usr/local/bin:/usr/bin:/bin"},
		{"dot dot stays for the judge", "/a/../b", all, "/a/../b:/usr/local/bin:/usr/bin:/bin"},
		{"root", "/", all, "/:/usr/local/bin:/usr/bin:/bin"},
		{"no caller's path", "", all, "/usr/local/bin:/usr/bin:/bin"},
		{"system folders too need the judge", "/a", func(d string) bool { return d == "/bin" }, "/bin"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Path(tt.caller, tt.ok); got != tt.want {
				t.Errorf("Path = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestLooksSecret(t *testing.T) {
	for _, name := range strings.Fields("GITHUB_TOKEN OPENAI_API_KEY COOKIE_SECRET AWS_PROFILE GOOGLE_X AZURE_X " +
		"KUBECONFIG DOCKER_AUTH NPM_TOKEN PGPASSWORD db_password TOKEN npm_config__authToken SSH_PRIVATE_KEY_FILE") {
		if !LooksSecret(name) {
			t.Errorf("LooksSecret(%s) = false, want true", name)
		}
	}
	for _, name := range strings.Fields("PATH LANG KEYBOARD TOKENIZER MONKEY SECRETARY CI TERM XAWS_") {
		if LooksSecret(name) {
			t.Errorf("LooksSecret(%s) = true, want false", name)
		}
	}
}

func TestScrub(t *testing.T) {
	env := []string{"A=1", "TOKEN_ENV=t0ken", "B=xt0keny", "C=", "URL=u"}
	kept, dropped := Scrub(env, []string{"URL", "TOKEN_ENV"}, []string{"", "t0ken"})
	if diff := cmp.Diff([]string{"B", "TOKEN_ENV", "URL"}, dropped); diff != "" { // bg/A74, bg/A75
		t.Errorf("dropped (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"A=1", "C="}, kept); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}

func TestParseFile(t *testing.T) {
	text := "\ufeffA=1\r\n# comment\n\n  \t\n  B= two words \n  #x=1\nC\nD=\"q\" # kept\nE=a=b\nmy.prop=é\nF="
	got, err := ParseFile([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := []Var{
		{Name: "A", Value: "1", Line: 1},
		{Name: "B", Value: " two words ", Line: 5},
		{Name: "C", FromCaller: true, Line: 7},
		{Name: "D", Value: `"q" # kept`, Line: 8},
		{Name: "E", Value: "a=b", Line: 9},
		{Name: "my.prop", Value: "é", Line: 10},
		{Name: "F", Line: 11},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
}

func TestParseFileRefuses(t *testing.T) {
	for _, line := range []string{
		"=x", "A B=x", "export A=x", "A =x", "secret words", "A=\xff", "A=\x00", "É=1", "A\tB", "A*",
	} {
		vars, err := ParseFile([]byte("OK=1\n" + line + "\n"))
		if vars != nil || err == nil || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("ParseFile(%q) = %v, %v; want an error for line 2", line, vars, err)
			continue
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("error %v holds text of the file", err)
		}
	}
}
