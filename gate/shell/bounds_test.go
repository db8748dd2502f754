package shell

import (
	"runtime"
	"strings"
	"testing"
)

// bombs are texts that make the parser, or a reader of its tree, descend once for
// every few bytes.
var bombs = []string{
	"(", "$(", "{ ", "((", "$((", "$[", "a[", "<(", "a<(", `"$(`, "${a:-", `"${a:-`, "`", "if ", "while ", "f() ", "case a in a) ",
	"for a in b; do ", "[[ ( ", "time ", "coproc ", "a|", "a&&", "a||", "a;", "a<<a ", "@(", "{a,", "sudo ", "env ", "eval ", "bash -c ", "! ", "a=(", "\\\n",
	"if a; then b; el", "a<<E\nE\n", "$((a?", "~", "x=", "'", `"`, "cd a;", "cd a||", "a >b ",
}

// TestDepthIsBounded: 128 KiB of each leave a floor, and the stack small.
func TestDepthIsBounded(t *testing.T) {
	for _, open := range bombs {
		for _, text := range []string{
			strings.Repeat(open, MaxText/len(open)),
			"((" + strings.Repeat(open, 50_000/len(open)) + "))", "[[ " + strings.Repeat("! ", 50_000) + "a ]]",
		} {
			var before, after runtime.MemStats
			done := make(chan Command)
			runtime.ReadMemStats(&before)
			go func() {
				c := Read(text, env)
				runtime.ReadMemStats(&after)
				done <- c
			}()
			c := <-done
			if grown := int64(after.StackInuse) - int64(before.StackInuse); grown > 80<<20 { //nolint:gosec // sizes of memory
				t.Errorf("%q…: %d MiB of stack", open, grown>>20)
			}
			if len(c.Units) == 0 && strings.Trim(text, "x='\"\\\n~") != "" {
				t.Errorf("%.20q…: nothing to judge", text)
			}
		}
	}
}

// 10⁵ parentheses are asked about; what stands beside them can still be denied.
func TestNestedParenthesesAsk(t *testing.T) {
	bomb := strings.Repeat("(", 100_000)
	for _, text := range []string{bomb, bomb + "a" + strings.Repeat(")", 20_000), "npm i; " + bomb, bomb + "; npm i"} {
		c := Read(text, env)
		if c.Units[0].Floor != Unparsed || c.Units[0].Text != text {
			t.Errorf("%.20q…: %s", text, c.Units[0].Floor)
		}
		npm := false
		for _, u := range c.Units {
			npm = npm || u.Form == "npm i"
		}
		if npm != strings.Contains(text, "npm i") {
			t.Errorf("%.20q…: npm i found: %v", text, npm)
		}
	}
}

func TestTooLongIsOneQuestion(t *testing.T) {
	text := strings.Repeat("ls;", 10<<20/3)
	c := Read(text, env)
	if len(c.Units) != 1 || c.Units[0].Floor != Unparsed || len(c.Paths) != 0 {
		t.Errorf("%d units, %d paths", len(c.Units), len(c.Paths))
	}
	if allocs := testing.AllocsPerRun(10, func() { Read(text, env) }); allocs > 2 {
		t.Errorf("%v allocations for a text that is not read", allocs)
	}
}

// What is closed again is read to the innermost command, each level once: twice for each
// would not end.
func TestNestedIsReadOnce(t *testing.T) {
	const n = 40
	for _, c := range [][2]string{
		{"x=$(", ")"},
		{"x=($(", "))"},
		{"a ${x:-$(", ")}"},
		{"a \"${x:-$(", ")}\""},
		{"a $(", ")"},
		{"a \"$(", ")\""},
		{"[[ $(", ") ]]"},
		{"export x=$(", ")"},
		{"export $(", ")"},
		{"for x in $(", "); do a; done"},
		{"a > $(", ")"},
		{"case $(", ") in x) ;; esac"},
		{"echo $(( $(", ") ))"},
		{"a {b,$(", ")}"},
		{"a ${x[$(", ")]}"},
		{"x[$(", ")]=1"},
		{"x=([$(", ")]=1)"},
		{"cat <(", ")"},
		{"cat <<< $(", ")"},
		{"[ $(", ") ]"},
		{"declare -i x=$(", ")"},
	} {
		found := false
		for _, u := range Read(strings.Repeat(c[0], n)+"npm i"+strings.Repeat(c[1], n), env).Units {
			found = found || u.Form == "npm i" || u.Floor == Unparsed
		}
		if !found {
			t.Errorf("%s…%s: the innermost command is not found", c[0], c[1])
		}
	}
}

func TestReadIsTheSameTwice(t *testing.T) {
	for _, open := range bombs {
		text := strings.Repeat(open, 3000)
		a, b := Read(text, env), Read(text, env)
		if len(a.Units) != len(b.Units) || len(a.Paths) != len(b.Paths) {
			t.Errorf("%q…: %d units then %d", open, len(a.Units), len(b.Units))
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range bombs {
		f.Add(strings.Repeat(s, 3))
	}
	for _, s := range []string{
		"cd src && git status > log 2>&1", "X=$(a) sudo -u b env C=1 npm i", "cat <<E\n$(x) `y`\nE\nls", "if a; then b; elif c; then d; fi",
		"for x in *.go; do sed -n '1,2p' $x | awk '{print $1}'; done", "bash -c 'ls \"$HOME\"'; eval \"x\"", "a[$(x)]=1 b", "[[ -f $(x) && ! -e y ]]",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := Read(text, env)
		for _, u := range c.Units {
			if u.Form == "" && !u.DenyOnly && u.Floor == None {
				t.Errorf("%q: a unit without words and without a floor", text)
			}
		}
		for _, p := range c.Paths {
			if p.Text == "" {
				t.Errorf("%q: a path without text", text)
			}
		}
		// A command that stands in front of it is found whatever follows.
		for _, u := range Read("npm i\n"+text, env).Units {
			if u.Form == "npm i" {
				return
			}
		}
		t.Errorf("%q hides the command before it", text)
	})
}

func BenchmarkRead(b *testing.B) {
	text := `cd src && CI=1 go test -run 'TestA|TestB' ./pkg/... 2>&1 | tee "$HOME/log.txt" | grep -v '^ok' && git diff --stat HEAD~1 -- pkg/a.go pkg/b.go > /tmp/diff.txt || echo "failed: $(git rev-parse HEAD)"`
	b.ReportAllocs()
	for b.Loop() {
		Read(text, env)
	}
}
