package tty

import (
	"strings"
	"testing"
	"time"

	"brainbox/gate/prompt"
)

func TestParse(t *testing.T) {
	approve := func(s prompt.Scope) prompt.Answer { return prompt.Answer{Decision: prompt.Approve, Scope: s} }
	for _, c := range []struct {
		line   string
		longer bool
		want   prompt.Answer
		is     meaning
	}{
		{"", true, prompt.Answer{}, unclear},
		{"y", true, prompt.Answer{}, unclear},
		{"yes", true, prompt.Answer{}, unclear},
		{"KFMU", true, prompt.Answer{}, unclear},
		{"kfmux", true, prompt.Answer{}, unclear},
		{"y kfmu", true, prompt.Answer{}, unclear},
		{"kfmu yes", true, prompt.Answer{}, unclear},
		{"kfmu run", false, prompt.Answer{}, unclear},
		{"kfmu run run", true, prompt.Answer{}, unclear},
		{"kfmu all", true, prompt.Answer{}, unclear},
		{"kfmu 25h", true, prompt.Answer{}, unclear},
		{"kfmu 0s", true, prompt.Answer{}, unclear},
		{"kfmu -1h", true, prompt.Answer{}, unclear},
		{"\x1b[24;80Rkfmu", true, prompt.Answer{}, unclear},
		{"kfmu\n", true, approve(prompt.Scope{}), answered},
		{"  kfmu  \n", false, approve(prompt.Scope{}), answered},
		{"kfmu run\n", true, approve(prompt.Scope{Lasts: prompt.ForRun}), answered},
		{"kfmu run all\n", true, approve(prompt.Scope{Lasts: prompt.ForRun, WholeSession: true}), answered},
		{"kfmu 10m\n", true, approve(prompt.Scope{Lasts: prompt.ForTime, For: 10 * time.Minute}), answered},
		{"n\n", true, prompt.Answer{}, answered},
		{"n not \xff today\n", true, prompt.Answer{Reason: "not ? today"}, answered},
		{"more\n", true, prompt.Answer{}, more},
	} {
		got, is := parse(c.line, "kfmu", c.longer)
		if is != c.is || is == answered && (got.Decision != c.want.Decision || got.Scope != c.want.Scope || got.Reason != c.want.Reason) {
			t.Errorf("parse(%q) = %+v %v, want %+v %v", c.line, got, is, c.want, c.is)
		}
	}
	if _, is := parse("", "", true); is != unclear {
		t.Error("without a word nothing approves")
	}
}

// TestWord: four letters, each time others, none of which is an answer by itself.
func TestWord(t *testing.T) {
	seen := map[string]bool{}
	for range 200 {
		w := newWord()
		if len(w) != 4 || strings.Trim(w, letters) != "" {
			t.Fatalf("the word %q", w)
		}
		if _, is := parse(w, newWord()+"x", true); is != unclear {
			t.Fatalf("%q is an answer to another question", w)
		}
		seen[w] = true
	}
	if len(seen) < 150 {
		t.Errorf("%d words of 200 are different", len(seen))
	}
}

// FuzzParse: only a line that begins with the word approves.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"kfmu", "kfmu run all", "kfmu 1h", "n why", "more", "y\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		ans, is := parse(line, "kfmu", true)
		approves := is == answered && ans.Decision == prompt.Approve
		if approves && !strings.HasPrefix(strings.TrimSpace(line), "kfmu") {
			t.Fatalf("%q approves", line)
		}
		if is != answered && ans.Decision != prompt.Deny {
			t.Fatalf("%q is no answer and approves", line)
		}
	})
}
