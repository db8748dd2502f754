package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

var update = flag.Bool("update", false, "rewrite docs/reference.md")

const referencePage = "../../docs/reference.md"

// TestReference has docs/reference.md say what the table of verbs and flags says.
func TestReference(t *testing.T) {
	want := reference()
	if *update {
		if err := os.WriteFile(referencePage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(referencePage)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("docs/reference.md is not what the flags say: go test ./cmd/brainbox -run TestReference -update")
	}
	if n := strings.Count(want, "\n| `--"); n < 60 {
		t.Errorf("the page has %d flags: too few to be all", n)
	}
}

func reference() string {
	var b strings.Builder
	b.WriteString("# Reference: verbs and flags\n\n" +
		"Made from the table that the command itself reads (`go test ./cmd/brainbox -run TestReference -update`).\n" +
		"What each means in full is in brainbox(1), the policy file in brainbox.toml(5), exit statuses and JSON in\n" +
		"[interfaces.md](interfaces.md).\n")
	status := 0
	shared := flagTable(policyFlags(), nil)
	fmt.Fprintf(&b, "\n## Flags of the policy\n\nWhat is said of `run`, `check`, `why` and others as \"the policy's\".\n\n%s", table(shared))
	for _, c := range commands("", &status) {
		if c.Hidden {
			continue
		}
		verbs := []*cli.Command{c}
		if len(c.Subcommands) > 0 {
			verbs = c.Subcommands
		}
		for _, v := range verbs {
			name := c.Name
			if v != c {
				name += " " + v.Name
			}
			fmt.Fprintf(&b, "\n## brainbox %s\n\n%s.\n", name, sentence(v.Usage))
			if v.ArgsUsage != "" {
				fmt.Fprintf(&b, "\n    brainbox %s [FLAGS] %s\n", name, v.ArgsUsage)
			}
			own := flagTable(v.Flags, shared)
			if len(own) < len(flagTable(v.Flags, nil)) {
				b.WriteString("\nThe policy's flags.\n")
			}
			if len(own) > 0 {
				b.WriteString("\n" + table(own))
			}
		}
	}
	return b.String()
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// flagTable gives a row for each flag, but for those that other rows have.
func flagTable(flags []cli.Flag, but []string) (rows []string) {
	for _, f := range flags {
		var names []string
		for _, n := range f.Names() {
			if len(n) == 1 {
				names = append(names, "`-"+n+"`")
			} else {
				names = append(names, "`--"+n+"`")
			}
		}
		usage := ""
		if d, ok := f.(cli.DocGenerationFlag); ok {
			usage = d.GetUsage()
		}
		row := "| " + strings.Join(names, ", ") + " | " + strings.ReplaceAll(usage, "|", `\|`) + " |\n"
		known := false
		for _, b := range but {
			known = known || b == row
		}
		if !known {
			rows = append(rows, row)
		}
	}
	return rows
}

func table(rows []string) string {
	return "| flag | |\n| --- | --- |\n" + strings.Join(rows, "")
}
