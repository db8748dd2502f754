package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// words collects the verbs, and the flags with their dashes, of the whole command.
func words() (verbs, flags []string) {
	status := 0
	list := commands("", &status)
	for i := 0; i < len(list); i++ {
		c := list[i]
		if c.Hidden {
			continue
		}
		verbs = append(verbs, c.Name)
		list = append(list, c.Subcommands...)
		for _, f := range c.Flags {
			for _, name := range f.Names() {
				dashes := "--"
				if len(name) == 1 {
					dashes = "-"
				}
				flags = append(flags, dashes+name)
			}
		}
	}
	slices.Sort(flags)
	return verbs, slices.Compact(flags)
}

// document reads a text of the repository, roff's escaped dashes made plain.
func document(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), `\-`, "-")
}

func holds(text, word string) bool {
	return regexp.MustCompile(`(^|[^-a-z])` + regexp.QuoteMeta(word) + `($|[^-a-z])`).MatchString(text)
}

// TestManTellsAll has every verb and flag of the command on its man page.
func TestManTellsAll(t *testing.T) {
	page := document(t, "../../man/brainbox.1")
	verbs, flags := words()
	if len(verbs) < 8 || len(flags) < 30 {
		t.Fatalf("the command has verbs %q and flags %q: too few to be all", verbs, flags)
	}
	for _, w := range append(verbs, flags...) {
		if !holds(page, w) {
			t.Errorf("man/brainbox.1 does not tell of %s", w)
		}
	}
}

// TestDocumentsPromiseNoFlag holds the documents to the flags that exist.
func TestDocumentsPromiseNoFlag(t *testing.T) {
	_, flags := words()
	known := append(flags, "--help", "--version", "--protocol")
	foreign := []string{"--user", "--scope", "--short", "--security-opt"} // of other programs
	seen := 0
	for _, name := range []string{"../../man/brainbox.1", "../../README.md"} {
		for _, flag := range regexp.MustCompile(`--[a-z][a-z-]+`).FindAllString(document(t, name), -1) {
			seen++
			if !slices.Contains(known, flag) && !slices.Contains(foreign, flag) {
				t.Errorf("%s tells of %s, which does not exist", name, flag)
			}
		}
	}
	if seen < 30 {
		t.Fatalf("found %d flags in the documents: the pattern matches too little", seen)
	}
}
