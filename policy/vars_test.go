package policy

import (
	"errors"
	"strings"
	"testing"
)

func kindOf(t *testing.T, word string) SourceKind {
	t.Helper()
	switch word {
	case "profile":
		return KindProfile
	case "file":
		return KindFile
	case "exec":
		return KindExec
	case "project":
		return KindProject
	case "flag":
		return KindFlag
	}
	t.Fatalf("unknown kind %q", word)
	return 0
}

func TestRelative(t *testing.T) {
	for _, row := range rows(t, "relative.txt", 3) {
		got, err := Expand(kindOf(t, row[0]), row[1], testVars())
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != row[2] {
			t.Errorf("%s %q is %s, want %s", row[0], row[1], got, row[2])
		}
	}
}

func TestExpandWithoutValue(t *testing.T) {
	for _, text := range []string{
		"~", "~/x", "@git", "@cwd/x", "${HOME}/x", "/a/${USER}", "${XDG_RUNTIME_DIR}/x", "${TMPDIR}", "x",
	} {
		if got, err := Expand(KindFile, text, testVars()); err != nil {
			t.Errorf("%q with a value: %v", text, err)
		} else if got[0] != '/' {
			t.Errorf("%q is %q", text, got)
		}
		if _, err := Expand(KindFile, text, Vars{}); !errors.Is(err, ErrNoValue) {
			t.Errorf("%q without a value: %v, want ErrNoValue", text, err)
		}
	}
	if got, err := Expand(KindFile, "/x", Vars{}); err != nil || got != "/x" {
		t.Errorf("/x needs no value: %q, %v", got, err)
	}
}

func TestExpandRefusesTable(t *testing.T) {
	for name, v := range map[string]Vars{
		"relative home":  {Home: "home/u"},
		"control byte":   {Home: "/home/\x1b"},
		"not UTF-8":      {Home: "/home/\xff"},
		"relative PWD":   {Home: "/home/u", Pwd: "x"},
		"user with path": {Home: "/home/u", Pwd: "/x", User: "../root"},
		"user dots":      {Home: "/home/u", Pwd: "/x", User: ".."},
	} {
		_, first := Expand(KindFile, "~/x", v)
		_, second := Expand(KindFile, "${PWD}/x", v)
		_, third := Expand(KindFile, "/x/${USER}", v)
		if first == nil && second == nil && third == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestCheckPathBytes(t *testing.T) {
	for _, text := range []string{"", "a\x00", "a\nb", "a\x7f", "\xff", "a\u0085", strings.Repeat("a", 4096)} {
		if err := CheckPath(KindFile, text); err == nil {
			t.Errorf("%.20q is accepted", text)
		}
	}
	for _, text := range []string{"a b", "ä", "-", "'", strings.Repeat("a", 4000)} {
		if err := CheckPath(KindFile, text); err != nil {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

func TestBelow(t *testing.T) {
	for _, tt := range []struct {
		child, parent string
		want          bool
	}{
		{"/a", "/a", true},
		{"/a/b", "/a", true},
		{"/ab", "/a", false},
		{"/a", "/a/b", false},
		{"/a", "/", true},
		{"/", "/", true},
	} {
		if got := Below(tt.child, tt.parent); got != tt.want {
			t.Errorf("Below(%q, %q) = %t", tt.child, tt.parent, got)
		}
	}
}
