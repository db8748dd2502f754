package main

import (
	"bytes"
	"strings"
	"testing"
)

// Every verb's --help names every flag that the verb takes, and nothing else is printed.
func TestHelpNamesEveryFlag(t *testing.T) {
	status := 0
	for _, c := range commands("", &status) {
		verbs := [][]string{{c.Name}}
		for _, sub := range c.Subcommands {
			verbs = append(verbs, []string{c.Name, sub.Name})
		}
		for _, verb := range verbs {
			var out, errs bytes.Buffer
			if got := Main(append(append([]string{"brainbox"}, verb...), "--help"), &out, &errs); c.Hidden || got != 0 || errs.Len() > 0 {
				if c.Hidden {
					continue
				}
				t.Errorf("%q --help: status %d, errors %q", verb, got, errs.String())
			}
			flags := flagsOf(c.Name)
			if len(verb) == 2 && verb[1] == "show" {
				flags = policyFlags()
			}
			if len(verb) == 2 && verb[1] == "export" {
				flags = append(policyFlags(), exportFlags()...)
			}
			for _, f := range flags {
				for _, name := range f.Names() {
					dashes := "--"
					if len(name) == 1 {
						dashes = "-"
					}
					if !strings.Contains(out.String(), dashes+name) {
						t.Errorf("%q --help does not name %s%s", verb, dashes, name)
					}
				}
			}
		}
	}
	var out, errs bytes.Buffer
	if got := Main([]string{"brainbox", "--help"}, &out, &errs); got != 0 || errs.Len() > 0 {
		t.Errorf("--help: status %d, errors %q", got, errs.String())
	}
	for _, c := range commands("", &status) {
		if strings.Contains(out.String(), "\n   "+c.Name) == c.Hidden {
			t.Errorf("--help and the verb %q, hidden %v:\n%s", c.Name, c.Hidden, out.String())
		}
	}
}
