package protect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brainbox/dirchain"
)

// vector is one row of contract bridge-and-gate §C.8: what /w/p holds, what is judged, and
// the verdict.
type vector struct {
	id    string
	paths []string
	want  string // "clear" or "ROW VIA"
	files string // dirs end in /, links are NAME->TARGET; beneath /w/p unless absolute
	seat  string
	data  string // "" is /d, "-" is none
	where Where
	bare  bool // without an environment
}

const agent = "/w/p/.claude/agent"

var vectors = []vector{
	{id: "bg/C01", paths: []string{".git/config"}, want: ".git spelling"},
	{id: "bg/C02", paths: []string{"/w/p/.git"}, want: ".git spelling"},
	{id: "bg/C03", paths: []string{"src/main.go"}, want: "clear"},
	{id: "bg/C04", paths: []string{".gitignore"}, want: "clear"},
	{id: "bg/C05", paths: []string{"x.git/config"}, want: "clear"},
	{id: "bg/C06", paths: []string{".GIT/hooks/pre-commit"}, want: ".git spelling"},
	{id: "bg/C07", paths: []string{".g\u0131t/x"}, want: ".git spelling"},
	{id: "bg/C08", paths: []string{".g\u0130t/x"}, want: "clear"},
	{id: "bg/C09", paths: []string{".v\u017fcode/tasks.json"}, want: ".vscode spelling"},
	{id: "bg/C10", paths: []string{".hus\u212ay/pre-push"}, want: ".husky spelling"},
	{id: "bg/C11", paths: []string{".gi\u200ct/x", ".\u202egit/x", "\ufeff.git/x", ".git\u206a/x"}, want: ".git spelling"},
	{id: "bg/C12", paths: []string{".gi\u200bt/x", ".g\u00adit/x", ".git\u2060/x", "\uff0egit/x"}, want: "clear"},
	{id: "bg/C13", paths: []string{".git./x", ".git /x", ".git:x"}, want: "clear"},
	{id: "bg/C14", paths: []string{".git\xff/x"}, want: "clear"},
	{id: "bg/C15", paths: []string{"\u200c\u200d/x"}, want: "clear"},
	{id: "bg/C17", paths: []string{".bashrc"}, want: ".bashrc spelling"},
	{id: "bg/C18", paths: []string{".bashrc/inner"}, want: "clear"},
	{id: "bg/C19", paths: []string{"home/.bashrc.bak"}, want: "clear"},
	{id: "bg/C20", paths: []string{".claude/worktrees/a/f"}, want: ".claude spelling"},
	{id: "bg/C21", paths: []string{".claude.json"}, want: ".claude.json spelling"},
	{id: "bg/C22", paths: []string{".claude/.mcp.json"}, want: ".mcp.json spelling"},
	{id: "bg/C23", paths: []string{".config/git/ignore"}, want: ".config/git spelling"},
	{id: "bg/C24", paths: []string{".config/x/git/ignore"}, want: "clear"},
	{id: "bg/C25", paths: []string{".config"}, want: "clear"},
	{id: "bg/C26", paths: []string{".CONFIG/GIT"}, want: ".config/git spelling"},
	{id: "bg/C27", paths: []string{"a/.config/git"}, want: ".config/git spelling"},
	{id: "bg/C28", paths: []string{"gradle/wrapper/gradle-wrapper.properties"}, want: "gradle-wrapper.properties spelling"},
	{id: "bg/C29", paths: []string{"lefthook.YML"}, want: "lefthook.yml spelling"},
	{id: "bg/C30", paths: []string{"./.git/../.git/config"}, want: ".git spelling"},
	{id: "bg/C31", paths: []string{".git/../README.md"}, files: ".git/", want: "clear"},
	{id: "bg/C32", paths: []string{".git/../README.md"}, bare: true, want: "clear"},
	{id: "bg/C33", paths: []string{"a/../../p/.git/x"}, want: ".git spelling"},
	{id: "bg/C34", paths: []string{"//w//p///.git//x"}, want: ".git spelling"},
	{id: "bg/C35", paths: []string{"plain/x"}, files: ".git/hooks/ plain->.git/hooks", want: ".git target"},
	{id: "bg/C36", paths: []string{"conf"}, files: "conf->/w/p/.bashrc", want: ".bashrc chain"},
	{id: "bg/C37", paths: []string{"a"}, files: "/w/q/ /w/q/data a->b b->/w/q/data", seat: `[{"name":"b","kind":"basename"}]`, want: "b chain"},
	{id: "bg/C38", paths: []string{"a"}, files: "/w/q/real/ a->.git .git->/w/q/real", want: ".git chain"},
	{id: "bg/C39", paths: []string{"plain/x"}, files: ".git/hooks/ plain->.git/hooks", bare: true, want: "clear"},
	{id: "bg/C46", paths: []string{"d"}, files: "d->.git/new", want: ".git chain"},
	{id: "bg/C47", paths: []string{"n1/n2/.envrc"}, want: ".envrc spelling"},
	{id: "bg/C48", paths: []string{"lnk/a/b"}, files: ".vscode/ lnk->/w/p/.vscode", want: ".vscode target"},
	{id: "bg/C49", paths: []string{".claude/agent/mem.md"}, data: agent, want: "clear"},
	{id: "bg/C50", paths: []string{".claude/agent/.git/x"}, data: agent, want: ".git spelling"},
	{id: "bg/C51", paths: []string{".CLAUDE/agent/mem.md"}, data: agent, want: ".claude spelling"},
	{id: "bg/C52", paths: []string{".claude/agentX/m"}, data: agent, want: ".claude spelling"},
	{id: "bg/C53", paths: []string{".claude/agent/../settings.json"}, data: agent, want: ".claude spelling"},
	{id: "bg/C54", paths: []string{"/d/m"}, files: ".claude/agent/ /d->/w/p/.claude/agent", want: "clear"},
	{id: "bg/C55", paths: []string{"/w/p/.claude/agent/m"}, files: ".claude/agent/ /d->/w/p/.claude/agent", want: ".claude spelling"},
	{id: "bg/C56", paths: []string{"/w/p/.claude/agent/m"}, files: ".claude/agent/ /d->/w/p/.claude/agent", where: Where{Canonical: true}, want: "clear"},
	{id: "bg/C57", paths: []string{"/w/p/plain"}, files: ".git/ plain->.git", where: Where{Canonical: true}, want: "clear"},
	{id: "bg/C58", paths: []string{"/w/p/.git"}, bare: true, where: Where{Canonical: true}, want: ".git spelling"},
	{id: "bg/C60", paths: []string{".git"}, seat: `[".git"]`, want: ".git spelling"},
	{id: "bg/C60 no other row", paths: []string{".bashrc"}, seat: `[".git"]`, want: "clear"},
	{id: "bg/C61", paths: []string{"x/a/b/c"}, seat: `["a/b"]`, want: "a/b spelling"},
	{id: "bg/C79", paths: []string{"\u03b1\u03c2", "\u03b1\u03c3", "\u0391\u03a3"}, seat: "[\"\u0391\u03a3\"]", want: "\u0391\u03a3 spelling"},

	{id: "a link on the way, and a new file", paths: []string{"l/n/m/x"}, files: "real/ l->real", want: "clear"},
	{id: "a link to a link on the way", paths: []string{"l/x"}, files: ".idea/ m->.idea l->m", want: ".idea target"},
	{id: "a run by a link into its middle", paths: []string{"c/git/x"}, files: ".config/git/ c->.config", want: ".config/git target"},
	{id: "a key that is protected", paths: []string{"/w/p/.git/x"}, files: ".git/", where: Where{Canonical: true}, want: ".git target"},
	{id: "a key whose directory is gone", paths: []string{"/w/p/.git/n/x"}, where: Where{Canonical: true}, want: ".git target"},
	{id: "a key outside of the tree of the data root", paths: []string{"/w/p/.claude/m"}, files: ".claude/agent/ /d->/w/p/.claude/agent", where: Where{Canonical: true}, want: ".claude target"},
	{id: "beneath the real data root a row asks", paths: []string{"/d/x/m"}, files: ".claude/agent/.git/ .claude/agent/x->.git /d->/w/p/.claude/agent", want: ".git target"},
	{id: "no data root", paths: []string{"/d/m"}, files: ".claude/agent/ /d->/w/p/.claude/agent", data: "-", want: ".claude target"},
	{id: "the tool's own base", paths: []string{"x"}, files: "/w/q/ /w/q/x->.git", where: Where{Cwd: "/w/p", Base: "/w/q"}, want: ".git chain"},
	{id: "no base, no directory: the root of the compilation", paths: []string{"plain/x"}, files: ".git/ plain->.git", where: Where{Cwd: "-"}, want: ".git target"},
	{id: "segments go by the table, not by the path", paths: []string{"a/.vscode/.git/x"}, want: ".git spelling"},
	{id: "the working directory counts", paths: []string{"x"}, where: Where{Cwd: "/w/p/.git"}, want: ".git spelling"},
	{id: "the root", paths: []string{"/"}, want: "clear"},
	{id: "a backslash", paths: []string{`a\b`}, want: "clear"},
}

// build makes the files of a vector beneath top, which stands for /.
func (v vector) build(t *testing.T) (top string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string {
		if !strings.HasPrefix(name, "/") {
			name = "/w/p/" + name
		}
		return top + name
	}
	make := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	make(os.MkdirAll(top+"/w/p", 0o755))
	for name := range strings.FieldsSeq(v.files) {
		name, to, link := strings.Cut(name, "->")
		switch {
		case link && strings.HasPrefix(to, "/"):
			make(os.Symlink(top+to, at(name)))
		case link:
			make(os.Symlink(to, at(name)))
		case strings.HasSuffix(name, "/"):
			make(os.MkdirAll(at(name), 0o755))
		default:
			make(os.WriteFile(at(name), nil, 0o644))
		}
	}
	return top
}

// tree is the environment of a vector.
func (v vector) tree(t *testing.T, o dirchain.Options) Tree {
	t.Helper()
	root, err := dirchain.OpenRoot(v.build(t), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return Tree{Root: root, At: "/"}
}

func (v vector) judge(t *testing.T, env Environment) *Judge {
	t.Helper()
	var seat Seat
	var err error
	if v.seat != "" {
		if seat, err = ParseSeat([]byte(v.seat)); err != nil {
			t.Fatal(err)
		}
	}
	o := Options{Env: env, DataRoot: v.data, Root: "/w/p", OnAbsent: func(a Absence) { t.Errorf("absent: %+v", a) }}
	switch v.data {
	case "":
		o.DataRoot = "/d"
	case "-":
		o.DataRoot = ""
	}
	j, mounted, err := Compile(seat, o)
	if err != nil || !mounted {
		t.Fatal(mounted, err)
	}
	return j
}

// told is a verdict as a vector writes it.
func told(v Verdict) string {
	switch v.Outcome {
	case Hit:
		return v.Row.Name + " " + v.Via.String()
	case Clear:
		return "clear"
	case Unresolvable:
	}
	return "unresolvable"
}

func TestVectors(t *testing.T) {
	for _, old := range []bool{false, true} {
		for _, v := range vectors {
			t.Run(v.id, func(t *testing.T) {
				var env Environment
				if !v.bare {
					env = v.tree(t, dirchain.Options{NoOpenat2: old})
				}
				j := v.judge(t, env)
				if v.where.Cwd == "" && !v.where.Canonical {
					v.where.Cwd = "/w/p"
				}
				if v.where.Cwd == "-" {
					v.where.Cwd = ""
				}
				before := openFiles(t)
				for _, path := range v.paths {
					v.check(t, j, path)
				}
				if after := openFiles(t); after != before {
					t.Errorf("%d descriptors are open, want %d", after, before)
				}
			})
		}
	}
}

// check judges one path by both ways.
func (v vector) check(t *testing.T, j *Judge, path string) {
	t.Helper()
	got := j.Judge(t.Context(), path, v.where)
	defer got.Close()
	if told(got) != v.want || got.Absent != nil {
		t.Errorf("%q: %s (absent: %v), want %s", path, told(got), got.Absent, v.want)
	}
	call := Call{Cwd: v.where.Cwd, Aims: []Aim{{Path: path, Base: v.where.Base, Canonical: v.where.Canonical}}}
	g, mine, err := j.Check(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if !mine || told(g.Verdict) != v.want {
		t.Errorf("Check(%q): %s, %v, want %s", path, told(g.Verdict), mine, v.want)
	}
	if want := map[bool]TargetView{true: SpellingOnly, false: WithTarget}[v.bare]; j.View() != want {
		t.Errorf("the view is %s, want %s", j.View(), want)
	}
}

// openFiles counts descriptors.
func openFiles(t *testing.T) int {
	t.Helper()
	n := openFilesNow()
	if n < 0 {
		t.Fatal("/proc/self/fd cannot be read")
	}
	return n
}

func openFilesNow() int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return -1
	}
	return len(list)
}
