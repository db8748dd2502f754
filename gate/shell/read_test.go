package shell

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var env = Env{Dir: "/w/p", Home: "/h"}

// describe is a command in short: units as form, floor and whether only denial
// counts; paths as text, access and bases.
func describe(c Command) (units, paths []string) {
	show := func(s string) string { return strings.ReplaceAll(s, "\xff", "…") }
	for _, u := range c.Units {
		s := show(u.Form)
		if u.Floor != None && !u.DenyOnly {
			s += " " + string(u.Floor)
		}
		if u.DenyOnly {
			s += " (deny only)"
		}
		units = append(units, s)
	}
	for _, p := range c.Paths {
		s := show(p.Text) + map[Access]string{Both: "", ReadOnly: " r", WriteOnly: " w"}[p.Access]
		if p.Bare {
			s += " bare"
		}
		if p.Text[0] != '/' {
			s += " @" + strings.Join(p.Bases, ",")
		}
		paths = append(paths, s)
	}
	return units, paths
}

func TestUnits(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"# hi", nil},
		{"", nil},
		{" \n\t ", nil},
		{"X=1", nil},
		{"git status", []string{"git status"}},
		{"git\tstatus  -s", []string{"git status -s"}},
		{"git \\\n push", []string{"git push"}},
		{`"np"m i`, []string{"npm i"}},
		{`n\pm 'a b' "c"`, []string{"npm a b c"}},
		{"ls; ls -a | wc & ls", []string{"ls", "ls -a", "wc"}},
		{"a && b || c\nd", []string{"a", "b", "c", "d"}},
		{"ls $(npm i)", []string{"npm i", "ls …"}},
		{"ls `npm i`", []string{"npm i", "ls …"}},
		{"ls <(npm i)", []string{"npm i", "ls …"}},
		{"ls > $(npm i)", []string{"npm i", "ls"}},
		{`ls "x${y:-$(npm i)}"`, []string{"npm i", "ls x…"}},
		{"ls $((1 + $(npm i)))", []string{"npm i <unparsed-bash-subtree>", "ls … <unparsed-bash-subtree>"}},
		{"(npm i)", []string{"(npm i)", "npm i"}},
		{"{ npm i; }", []string{"{ npm i; }", "npm i"}},
		{"if true; then npm i; else b; fi", []string{"if true; then npm i; else b; fi", "true", "npm i", "b"}},
		{"while a; do b; done", []string{"while a; do b; done", "a", "b"}},
		{"for x in $(a); do b $x; done", []string{"for x in $(a); do b $x; done", "a", "b …"}},
		{"for ((i=$(a);;)); do b; done", []string{"for ((i=$(a);;)); do b; done <unparsed-bash-subtree>", "a <unparsed-bash-subtree>", "b <unparsed-bash-subtree>"}},
		{"case $(a) in $(b)) c;; esac", []string{"case $(a) in $(b)) c;; esac", "a", "b", "c"}},
		{"f() { npm i; }", []string{"f() { npm i; }", "{ npm i; }", "npm i"}},
		{"[[ -f $(a) ]]", []string{"[[ -f $(a) ]]", "a"}},
		{"(( x = $(a) ))", []string{"(( x = $(a) )) <unparsed-bash-subtree>", "a <unparsed-bash-subtree>"}},
		{"cat <<E\n$(npm i)\nE\n", []string{"npm i", "cat"}},
		{"cat <<'E'\n$(npm i)\nE\n", []string{"cat"}},
		{"cat <<< $(npm i)", []string{"npm i", "cat"}},
		{"X=$(touch X) npm --version", []string{"touch X", "npm --version"}},
		{"A[$(touch X)]=1 ls", []string{"A[$(touch X)]=1 ls <unparseable-bash-command>", "A[ (deny only)", "touch X (deny only)", "ls (deny only)"}},
		{"X=$(touch X)", []string{"touch X"}},
		{"a=($(b) c)", []string{"b"}},
		{"export X=$(b)", []string{"export X=$(b)", "b"}},
		{"time npm i", []string{"time npm i <indirection-bash-wrapper>", "npm i"}},
		{"! npm i", []string{"npm i"}},
		{"coproc npm i", []string{"coproc npm i", "npm i"}},
		{"git $X", []string{"git … <opaque-bash-wrapper>"}},
		{"git push$IFS-f", []string{"git push…-f"}},
		{"git push{,x} *.a [ab] x?", []string{"git push… ….a … x…"}},
		{"git log {a,$(b)}c HEAD@{1} {}", []string{"b", "git log … HEAD@{1} {}"}},
		{"git $'pu\\x73h'", []string{"git … <opaque-bash-wrapper>"}},
		{"git $'push'", []string{"git push"}},
		{"/usr/bin/git x", []string{"/usr/bin/git x"}},
		{`ls "$HOME/x" ${HOME}/y $PWD`, []string{"ls $HOME/x $HOME/y $PWD"}},
		{"HOME=/x; ls $HOME", []string{"ls …"}},
		{"[ -f x ]", []string{"[ -f x ]"}},
	} {
		got, _ := describe(Read(c.text, env))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.text, diff)
		}
	}
}

func TestPaths(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"ls .env", []string{".env @/w/p"}},
		{"ls a", []string{"a bare @/w/p"}},
		{"for f in /a .b; do c; done", []string{"/a", ".b @/w/p"}},
		{"x=(/a [1]=.b)", []string{"/a", ".b @/w/p"}},
		{"a ${x:-/b} ${y-.c}", []string{"/b", ".c @/w/p"}},
		{"a @(/b|.c)", []string{"/b", ".c @/w/p"}},
		{"a -f.b -C.. -x", []string{".b @/w/p", ".. @/w/p"}},
		{"a -Fx=@/b y=@/c 'z=</d'", []string{"/b", "x=@/b @/w/p", "/c", "y=@/c @/w/p", "/d", "z=</d @/w/p"}},
		{"git log > x.env", []string{"x.env w @/w/p", "log bare @/w/p"}},
		{"a < x >> y 2>&1 &> z", []string{"x r @/w/p", "y w @/w/p", "z w @/w/p"}},
		{"a <> x", []string{"x @/w/p"}},
		{"a >&x", []string{"x w @/w/p"}},
		{"a 2>/dev/null", []string{"/dev/null w"}},
		{"cd s && ls ./x", []string{"s bare @/w/p", "./x @/w/p/s"}},
		{"cd s; ls ./x", []string{"s bare @/w/p", "./x @/w/p,/w/p/s"}},
		{"cd s || ls ./x", []string{"s bare @/w/p", "./x @/w/p,/w/p/s"}},
		{"(cd /s); ls ./x", []string{"/s", "./x @/w/p"}},
		{"cd /s | a; ls ./x", []string{"/s", "./x @/w/p"}},
		{"cd /s & ls ./x", []string{"/s", "./x @/w/p"}},
		{"x=$(cd /s); ls ./x", []string{"/s", "./x @/w/p"}},
		{"cd && ls ./x", []string{"./x @/h"}},
		{"cd ~/s && ls ./x", []string{"/h/s", "./x @/h/s"}},
		{"cd -L -- /s && ls ./x", []string{"/s", "./x @/s"}},
		{"cd -P /s && ls ./x", []string{"/s", "./x @/s,"}},
		{`cd "$D" && ls ./x`, []string{"./x @"}},
		{"cd - && ls ./x", []string{"./x @"}},
		{"pushd /s && ls ./x && popd && ls ./y", []string{"/s", "./x @/s", "./y @"}},
		{"if cd /s; then ls ./x; fi; ls ./y", []string{"/s", "./x @/w/p,/s", "./y @/w/p,/s"}},
		{"a ~/x $HOME/y ${HOME}/z $PWD/v", []string{"/h/x", "/h/y", "/h/z", "/w/p/v"}},
		{"HOME=/etc; a $HOME/x", []string{"/etc", "/h/x", "…/x @/w/p"}},
		{"cd; ./x; HOME=/", []string{"./x r @/w/p,/h,", "/"}},
		{"read HOME; a ~/x", []string{"HOME bare @/w/p", "/h/x", "/…/x"}},
		{"a $X/y ~root/z", []string{"…/y @/w/p", "/…/z"}},
		{"a --f=/x -I/y of=/z h:/v @./u file:///t https://h/x", []string{"/x", "/y", "/z", "of=/z @/w/p", "/v", "h:/v @/w/p", "./u @/w/p", "@./u @/w/p", "/t", "file:///t @/w/p"}},
		{"cat {.env,x} a/{b,c}d", []string{".env @/w/p", "x bare @/w/p", "a/bd @/w/p", "a/cd @/w/p", "a/… @/w/p"}},
		{`cat {"x",.env}`, []string{"x bare @/w/p", ".env @/w/p"}},
		{"sed -n '/x/p' y/z", []string{"y/z @/w/p"}},
		{"grep -e x /y", []string{"x bare @/w/p", "/y"}},
		{"/usr/bin/x", []string{"/usr/bin/x r"}},
		{"bash -c 'cat .env'", []string{"cat .env bare @/w/p", ".env @/w/p"}},
	} {
		_, got := describe(Read(c.text, env))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.text, diff)
		}
	}
}

func TestUnreadable(t *testing.T) {
	for text, want := range map[string][]string{
		`ls "`:                  {`ls " <unparseable-bash-command>`, "ls (deny only)"},
		`ls; npm i; "`:          {`ls; npm i; " <unparseable-bash-command>`, "ls", "npm i"},
		"cat <<E\n$(npm i)":     {"cat <<E\n$(npm i) <unparseable-bash-command>", "cat (deny only)", "npm i (deny only)"},
		"ls )":                  {"ls ) <unparseable-bash-command>", "ls (deny only)"},
		"a\x00b":                {"a\x00b <unparseable-bash-command>", "a\x00b (deny only)"},
		"x='a[$(b)]'; c $((x))": {"c … <unparsed-bash-subtree>"},
		"test -v 'a[`b`]'":      {"test -v a[`b`] <unparsed-bash-subtree>"},
		"x='$(b)'; c ${x@P}":    {"c … <unparsed-bash-subtree>"},
		"git status\r":          {"git status <unparsed-bash-subtree>"},
		"git \x1b[2K status":    {"git \x1b[2K status <unparsed-bash-subtree>"},
	} {
		got, _ := describe(Read(text, env))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// What the parser takes for a part of a comment, and bash for a command, can be denied.
func TestCommentDoesNotGoOn(t *testing.T) {
	for _, text := range []string{"ls # x \\\nnpm i", "#\\\nnpm i", "../b*n/npm i", "./$X/npm i"} {
		found := false
		for _, u := range Read(text, env).Units {
			found = found || u.Form == "npm i" || u.Base == "npm i"
		}
		if !found {
			t.Errorf("%q hides npm i", text)
		}
	}
	if got := floorsOf("ls -a \\\n -b"); got != "" {
		t.Error(got)
	}
}
