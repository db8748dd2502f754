package policy

import (
	"os"
	"strings"
	"testing"
)

func manPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../man/brainbox.toml.5")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestManKeys has every key of the language on the man page.
func TestManKeys(t *testing.T) {
	page := strings.ReplaceAll(manPage(t), `\-`, "-")
	for _, table := range []string{"", "filesystem", "network", "env", "process", "sandbox", "gate", "bridge"} {
		section := page
		if table != "" {
			_, section, _ = strings.Cut(page, "\n.SH ["+table+"]\n")
			section, _, _ = strings.Cut(section, "\n.SH ")
		}
		for _, key := range keysOf(table) {
			if !strings.Contains(section, key) {
				t.Errorf("[%s] does not tell of %s", table, key)
			}
		}
	}
	plain := strings.ReplaceAll(page, `\(ti`, "~")
	for _, s := range Secrets() {
		if !strings.Contains(plain, s.Path) || !strings.Contains(plain, "\n"+s.What+"\n") {
			t.Errorf("the page does not tell of %s, %s", s.Path, s.What)
		}
	}
	for _, words := range [][]string{Clauses(), BuiltinNames(), varNames[:]} {
		for _, w := range words {
			if !strings.Contains(page, w) {
				t.Errorf("the page does not tell of %s", w)
			}
		}
	}
}

// TestManExamples reads and merges every complete example.
func TestManExamples(t *testing.T) {
	seen := 0
	for _, block := range strings.Split(manPage(t), "\n.EX\n")[1:] {
		text, _, _ := strings.Cut(block, "\n.EE\n")
		text = strings.NewReplacer(`\\`, `\`, `\-`, "-").Replace(text)
		if !strings.HasPrefix(text, "version = 1\n") {
			continue
		}
		seen++
		kind := KindFile
		switch {
		case strings.Contains(text, "callers"):
			kind = KindExec
		case !strings.Contains(text, "extends"):
			kind = KindProject
		}
		l, err := Parse(kind, "example.toml", []byte(text))
		if err != nil {
			t.Errorf("%v\n%s", err, text)
			continue
		}
		in := Input{Vars: testVars()}
		if kind == KindProject {
			in.Vars.Cwd = in.Vars.ProjectDir
			_, err = Narrow(defaultPolicy(t, in.Vars), l, in)
		} else {
			_, err = Resolve(in, l)
		}
		if err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
	if seen != 4 {
		t.Errorf("%d examples", seen)
	}
}

// TestManNested compares the table of the page with what Nest decides.
func TestManNested(t *testing.T) {
	words := strings.NewReplacer(`\fB`, "", `\fR`, "", "inner: ", "")
	var columns []string
	seen := 0
	for _, line := range strings.Split(words.Replace(manPage(t)), "\n") {
		cells := strings.Split(line, "\t")
		if len(cells) != 6 {
			continue
		}
		if cells[0] == "outer" {
			columns = cells
			continue
		}
		for i, cell := range cells[1:] {
			inner := rightOf(t, columns[i+1])
			got := effect(Nest([]Entry{
				{"/a", rightOf(t, cells[0]), KindFile}, {"/a/b", inner, KindFile},
			})[1])
			want := strings.NewReplacer("protect", "implied protect", "no-exec", "noexec", "as is", "as written",
				"both", "implied protect, noexec", "masked", "as written", "no effect", "dropped").Replace(cell)
			if got != want {
				t.Errorf("%s inside %s is %s, and %q on the page", inner, cells[0], got, cell)
			}
			seen++
		}
	}
	if seen != 25 {
		t.Errorf("%d cells", seen)
	}
}
