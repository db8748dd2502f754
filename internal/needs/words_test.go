package needs

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	const variable, number = "needs: BRAINBOX_TEST_MUST_RUN: ", " has no ABI number"
	const unknown = variable + "unknown word "
	tests := []struct {
		name, value string
		want        demands
		err         string
	}{
		{"an unknown word fails", "seccomp,secomp", demands{}, unknown + `"secomp"`},
		{"a word in capitals is unknown", "ROOT", demands{}, unknown + `"ROOT"`},
		{"landlock without a number is unknown", "landlock", demands{}, unknown + `"landlock"`},
		{"landlock with an empty number fails", "landlock:", demands{}, variable + `"landlock:"` + number},
		{"landlock with ABI 0 fails", "landlock:0", demands{}, variable + `"landlock:0"` + number},
		{"landlock with a word fails", "landlock:x", demands{}, variable + `"landlock:x"` + number},
		{"nothing demands nothing", "", demands{}, ""},
		{"the highest ABI counts", "landlock:3,landlock:7", demands{abi: 7}, ""},
		{"commas and spaces separate", "root, git  tty,", demands{words: []string{"root", "git", "tty"}}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parse(tt.value)
			if text := errText(err); text != tt.err {
				t.Fatalf("parse(%q) error = %q, want %q", tt.value, text, tt.err)
			}
			if tt.err != "" {
				return
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(demands{})); diff != "" {
				t.Errorf("parse(%q) (-want +got):\n%s", tt.value, diff)
			}
		})
	}
}

func TestEveryWordIsAccepted(t *testing.T) {
	words := append(plainWords(), tools()...)
	if len(words) != 20+10 {
		t.Fatalf("%d words, want 30", len(words))
	}
	for _, word := range words {
		if d, err := parse(word); err != nil || !d.has(word) {
			t.Errorf("parse(%q) = %v, %v", word, d, err)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
