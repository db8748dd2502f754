package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"brainbox/internal/needs"
)

// documents are those whose command lines are typed by a reader who follows them from the top,
// in a new home: each block marked "console" goes on where the one before ended.
var documents = []string{"../README.md", "../docs/tutorial.md", "../docs/cookbook.md"}

// docHome is the home of the reader in the documents.
const docHome = "/home/ada"

// typed is one command line of a document and what is printed for it.
type typed struct {
	line    int
	command string   // more than one line if those after the first begin with "> "
	prints  []string // a line of "…" stands for any lines, one inside a line for any text
}

// console finds the command lines of a document.
func console(text string) (list []typed) {
	in := false
	for i, line := range strings.Split(text, "\n") {
		command, isCommand := strings.CutPrefix(line, "$ ")
		more, isMore := strings.CutPrefix(line, "> ")
		switch {
		case strings.HasPrefix(line, "```"):
			in = line == "```console"
		case !in:
		case isCommand:
			list = append(list, typed{line: i + 1, command: command})
		case len(list) == 0:
		case isMore && len(list[len(list)-1].prints) == 0:
			list[len(list)-1].command += "\n" + more
		default:
			list[len(list)-1].prints = append(list[len(list)-1].prints, line)
		}
	}
	return list
}

// printed is the pattern of what a document says is printed.
func printed(lines []string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString(`\A`)
	for _, line := range lines {
		if line == "…" {
			b.WriteString(`(?:.*\n)*?`)
			continue
		}
		parts := strings.Split(line, "…")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		b.WriteString(strings.Join(parts, ".*") + `\n`)
	}
	b.WriteString(`\z`)
	return regexp.MustCompile(b.String())
}

func TestConsole(t *testing.T) {
	const text = "$ no\n```console\n$ a b\nout …\n$ cat <<E\n> in\n> E\nin\n```\n```\n$ no\n```\n```console\n$ c\n```\n"
	got := console(text)
	if len(got) != 3 || got[1].command != "cat <<E\nin\nE" || got[0].line != 3 || got[2].prints != nil {
		t.Fatalf("found %+v", got)
	}
	for _, tt := range []struct {
		want []string
		got  string
		is   bool
	}{
		{nil, "", true},
		{nil, "x\n", false},
		{[]string{"out …"}, "out of it\n", true},
		{[]string{"out …"}, "without it\n", false},
		{[]string{"a", "…", "b"}, "a\nx\ny\nb\n", true},
		{[]string{"a", "…", "b"}, "a\nb\n", true},
		{[]string{"a", "…", "b"}, "a\nx\n", false},
		{[]string{"a.c"}, "abc\n", false},
	} {
		if is := printed(tt.want).MatchString(tt.got); is != tt.is {
			t.Errorf("%q is %q: %v, want %v", tt.got, tt.want, is, tt.is)
		}
	}
}

// Every command line in a document prints what stands below it.
func TestDocuments(t *testing.T) {
	needs.User(t) // whose home is where $HOME says
	needs.Userns(t)
	needs.Program(t, "git")
	needs.Program(t, "python3")
	for _, name := range documents {
		t.Run(filepath.Base(name), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			follow(t, console(string(text)))
		})
	}
}

// Every document with command lines of brainbox is one of those that are typed.
func TestDocumentsAreAll(t *testing.T) {
	for _, pattern := range []string{"../*.md", "../docs/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %q, %v", pattern, found, err)
		}
		for _, name := range found {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if name == "../docs/setuid.md" {
				continue // an administrator's: cmd/brainbox-exec and -kill test what is said there
			}
			if strings.Contains(string(text), "\n$ brainbox") && !slices.Contains(documents, name) {
				t.Errorf("nobody types the command lines of %s", name)
			}
		}
	}
}

// follow types the command lines into one shell.
func follow(t *testing.T, lines []typed) {
	if len(lines) == 0 {
		t.Fatal("no command line: the pattern matches too little")
	}
	home := reader(t)
	const mark = "=== line "
	var script strings.Builder
	script.WriteString("exec 2>&1 </dev/null\n")
	for _, l := range lines {
		fmt.Fprintf(&script, "%s\nprintf '%s%d\\n'\n", strings.ReplaceAll(l.command, docHome, home), mark, l.line)
	}
	cmd := exec.Command("bash", "-c", script.String())
	cmd.Dir = home + "/src/app"
	cmd.Env = []string{
		"HOME=" + home, "PATH=" + bin + ":/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "USER=ada", "LOGNAME=ada", "SHELL=/bin/bash",
	}
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("the shell: %v", err)
	}
	rest := strings.ReplaceAll(string(out), home, docHome)
	for _, l := range lines {
		got, after, found := strings.Cut(rest, fmt.Sprintf("%s%d\n", mark, l.line))
		if !found {
			t.Fatalf("line %d: %s: the shell has ended:\n%s", l.line, l.command, rest)
		}
		if rest = after; !printed(l.prints).MatchString(got) {
			t.Errorf("line %d: %s\nprints\n%sand is said to print\n%s", l.line, l.command, got, strings.Join(l.prints, "\n"))
		}
	}
}

// reader makes the home of somebody who begins: with a key, which is nobody's business, and
// an empty checkout.
func reader(t *testing.T) string {
	home, err := os.MkdirTemp("/var/tmp", "brainbox-reader-") //nolint:usetesting // in isolation namespaces /tmp is another one
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	if err := os.MkdirAll(home+"/.ssh", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(home+"/.ssh/id_ed25519", []byte("a key\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(home+"/src/app", 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("git", "init", "-q", home+"/src/app").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return home
}
