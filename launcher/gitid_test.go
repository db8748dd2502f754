package launcher

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brainbox/internal/needs"
)

func TestFilterGitConfig(t *testing.T) {
	kept := func(section, name, value string) string {
		return "[" + section + "]\n\t" + name + ` = "` + value + "\"\n"
	}
	for name, c := range map[string]struct{ in, want string }{
		"a credential helper is left out":            {"[credential]\n\thelper = store\n", ""},
		"an alias is left out":                       {"[alias]\n\tname = !sh\n", ""},
		"an include is left out":                     {"[include]\n\tpath = ~/x\n", ""},
		"hooks and commands are left out":            {"[core]\n\thooksPath = /x\n\teditor = vi\n\tsshCommand = x\n\tfsmonitor = x\n", ""},
		"a subsection of a kept section is left out": {"[user \"x\"]\n\tname = a\n", ""},
		"the old spelling of a subsection as well":   {"[user.x]\n\tname = a\n", ""},
		"url rewriting is left out":                  {"[url \"git@evil:\"]\n\tinsteadOf = https://\n", ""},
		"a continued comment hides no section":       {"[user]\n# x \\\n[alias]\n\tname = !sh\n", ""},
		"an escaped backslash continues no line":     {"[user]\n\tname = x\\\\\n[alias]\n\temail = y\n", kept("user", "name", `x\\`)},
		"a continued value swallows the next header": {"[user]\n\tname = a \\\n[alias]\n\temail = e\n", kept("user", "name", "a [alias]") + kept("user", "email", "e")},
		"nothing after the first error counts":       {"[user]\n\tname = a\n=\n\temail = b\n", kept("user", "name", "a")},
		"an open quote ends it":                      {"[user]\n\tname = \"a\n\temail = b\n", ""},
		"an unknown escape ends it":                  {"[user]\n\tname = a\\x\n\temail = b\n", ""},
		"a control character is left out":            {"[user]\n\tname = \"a\x1bb\"\n\temail = b\n", kept("user", "email", "b")},
		"a backspace is left out":                    {"[user]\n\tname = a\\bc\n", ""},
		"a name without a value is left out":         {"[user]\n\tname\n\temail = b\n", kept("user", "email", "b")},
		"a value stays inside its quotes":            {"[user]\n\tname = \"a\\\"\\n[alias]\\nx = !sh\"\n", kept("user", "name", `a\"\n[alias]\nx = !sh`)},
		"comments and blanks are cut":                {"[user]\n\tname =  Ann  B  # c\n", kept("user", "name", "Ann  B")},
		"a hash inside quotes stays":                 {"[user]\n\tname = \"a # b\" ; c\n", kept("user", "name", "a # b")},
		"case does not matter":                       {"[USER]\n\tNAME = a\n[Init]\n\tdefaultBranch = main\n", kept("user", "name", "a") + kept("init", "defaultbranch", "main")},
		"all that is kept": {
			"[user]name=a\n\temail=b\n\tuseConfigOnly=true\n[core]\n\tautocrlf=input\n[safe]\n\tdirectory=*\n\tdirectory=/x\n",
			kept("user", "name", "a") + kept("user", "email", "b") + kept("user", "useconfigonly", "true") +
				kept("core", "autocrlf", "input") + kept("safe", "directory", "*") + kept("safe", "directory", "/x"),
		},
		"blanks before a continued line stay": {"[user]\n\tname = a \\\n\n", kept("user", "name", "a ")},
		"blanks after empty quotes go":        {"[user]\n\tname = \"\" a\n", kept("user", "name", "a")},
		"carriage returns before new lines":   {"[user]\r\n\tname = a\r\n", kept("user", "name", "a")},
		"a byte order mark":                   {"\ufeff[user]\n\tname = a\n", kept("user", "name", "a")},
		"too long":                            {strings.Repeat("#", maxGitConfig) + "\n[user]\n\tname = a\n", ""},
	} {
		if diff := cmp.Diff(c.want, string(filterGitConfig(c.in))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// gitList is what git itself reads in a configuration text: "section.name\nvalue" each.
func gitList(t testing.TB, git, dir string, text []byte) (list []string, ok bool) {
	t.Helper()
	file := filepath.Join(dir, "config")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(git, "config", "-f", file, "--list", "-z")
	cmd.Env = []string{"HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
	out, err := cmd.Output()
	for item := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if item != "" {
			list = append(list, item)
		}
	}
	return list, err == nil
}

// FuzzFilterGitConfig asks git what the output means: it must be readable, hold kept
// variables only, and each must be one that git reads in the input as well.
func FuzzFilterGitConfig(f *testing.F) {
	git := needs.Tool(f, "git")
	for _, seed := range []string{
		"[user]\n\tname = a\n", "[user]\n# x \\\n[alias]\n\tname = !sh\n", "[user]\n\tname = x\\\\\n[alias]\n\temail = y\n",
		"[user \"a\\\"]\"]\n\tname = b\n", "[user]\n\tname = \"a\\n[alias]\\nx=!sh\"\n", "[core]autocrlf=input;x\n[safe]\ndirectory=*",
		"[user]\r\nname = \"a\" b \\\r\n c\r\n", "\ufeff[init]\n\tdefaultBranch = m\\\n\n", "[user]\nname=\\", "[user] name = a\rb\n",
		"[user]\n\tname = a\n[user.x]\n\tname=\n[credential]\nhelper=!x\n", "[us\ner]\nname=a", "[user]\nname = yX\x93\t\" a \"\t\n", "[user]\nname = \t\" a \"\t\n", "[]\nname=a",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		out := filterGitConfig(text)
		if len(out) == 0 {
			return
		}
		got, ok := gitList(t, git, t.TempDir(), out)
		if !ok || len(got) == 0 {
			t.Fatalf("git cannot read what came of %q:\n%s", text, out)
		}
		theirs, readable := gitList(t, git, t.TempDir(), []byte(text))
		for _, item := range got {
			key, _, _ := strings.Cut(item, "\n")
			section, name, _ := strings.Cut(key, ".")
			if !gitKept(section, name) {
				t.Errorf("key %q came through from %q:\n%s", key, text, out)
			}
			// git before 2.45 makes a blank of every white space outside of quotes.
			blank := strings.NewReplacer("\t", " ", "\v", " ", "\f", " ", "\r", " ")
			all := blank.Replace("\x00" + strings.Join(theirs, "\x00") + "\x00")
			if readable && !strings.Contains(all, blank.Replace("\x00"+item+"\x00")) {
				t.Errorf("git reads no %q in %q, but %q", item, text, theirs)
			}
		}
	})
}

func TestGitIdentityReadsBothFiles(t *testing.T) {
	home := t.TempDir()
	if err := os.MkdirAll(home+"/.config/git", 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, home+"/.config/git/config", "[user]\n\tname = a\n")
	write(t, home+"/.gitconfig", "[user]\n\temail = b\n[credential]\n\thelper = x\n")
	pl := &Place{Home: home, xdg: [5]string{home + "/.config"}}
	want := "[user]\n\tname = \"a\"\n[user]\n\temail = \"b\"\n"
	if got := string(gitIdentity(pl)); got != want {
		t.Errorf("identity %q, want %q", got, want)
	}
	if got := gitIdentity(&Place{}); got != nil {
		t.Errorf("without a home: %q", got)
	}
}

func write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
