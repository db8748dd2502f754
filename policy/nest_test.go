package policy

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func rightOf(t *testing.T, word string) Right {
	t.Helper()
	r, err := ParseRight(word)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func effect(n Nested) string {
	var words []string
	switch {
	case n.Err != nil:
		return "error"
	case n.Drop:
		return "dropped"
	}
	if n.Implied == RightProtect {
		words = append(words, "implied protect")
	}
	if n.NoExec {
		words = append(words, "noexec")
	}
	if len(words) == 0 {
		return "as written"
	}
	return strings.Join(words, ", ")
}

func TestNested(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range rows(t, "nested.txt", 3) {
		outer, inner := rightOf(t, row[0]), rightOf(t, row[1])
		seen[row[0]+" "+row[1]] = true
		for _, entries := range [][]Entry{
			{{"/a", outer, KindFile}, {"/a/b", inner, KindFile}},
			{{"/a", outer, KindFile}, {"/a/b/c/d", inner, KindFile}},
			{{"/", outer, KindFile}, {"/a", inner, KindFile}},
		} {
			got := Nest(entries)
			if effect(got[0]) != "as written" {
				t.Errorf("%s around %s: the outer entry is %s", row[0], row[1], effect(got[0]))
			}
			if effect(got[1]) != row[2] {
				t.Errorf("%s inside %s is %s, want %s", row[1], row[0], effect(got[1]), row[2])
			}
			if got[1].Optional {
				t.Errorf("%s inside %s: an operator's entry is optional", row[1], row[0])
			}
			if w := effect(got[1]); w != "as written" && w != "error" && got[1].Note == "" {
				t.Errorf("%s inside %s is silently %s", row[1], row[0], w)
			}
			swapped := Nest([]Entry{entries[1], entries[0]})
			if effect(swapped[0]) != row[2] {
				t.Errorf("%s inside %s depends on the order: %s", row[1], row[0], effect(swapped[0]))
			}
		}
		beside := Nest([]Entry{{"/a", outer, KindFile}, {"/ab", inner, KindFile}})
		if effect(beside[1]) != "as written" {
			t.Errorf("%s beside %s is %s", row[1], row[0], effect(beside[1]))
		}
	}
	for _, outer := range rightWords[1:] {
		for _, inner := range rightWords[1:] {
			if !seen[outer+" "+inner] {
				t.Errorf("nested.txt has no row for %s inside %s", inner, outer)
			}
		}
	}
}

func TestNestedSamePath(t *testing.T) {
	for _, row := range rows(t, "same.txt", 4) {
		entry := func(cell string) Entry {
			kind, right, _ := strings.Cut(cell, ":")
			return Entry{"/a", rightOf(t, right), kindOf(t, kind)}
		}
		a, b := entry(row[0]), entry(row[1])
		got := Nest([]Entry{a, b})
		turned := Nest([]Entry{b, a})
		if row[2] == "error or winner" { // one of both carries the error
			if got[0].Err == nil && got[1].Err == nil || turned[0].Err == nil && turned[1].Err == nil {
				t.Errorf("%s and %s: no error", row[0], row[1])
			}
			continue
		}
		if effect(got[0]) != row[2] || effect(got[1]) != row[3] {
			t.Errorf("%s and %s: %s, %s", row[0], row[1], effect(got[0]), effect(got[1]))
		}
		if effect(turned[1]) != row[2] || effect(turned[0]) != row[3] {
			t.Errorf("%s and %s turned round: %s, %s", row[0], row[1], effect(turned[1]), effect(turned[0]))
		}
	}
}

func TestNestedProfile(t *testing.T) {
	got := Nest([]Entry{
		{"/home/u/.cargo", RightDeny, KindFlag},
		{"/home/u/.cargo/bin", RightExec, KindProfile},
		{"/w", RightWriteExec, KindFlag},
		{"/w/go/bin", RightExec, KindProfile},
		{"/p", RightProtect, KindFile},
		{"/p/w", RightWrite, KindProfile},
	})
	if !got[1].Drop {
		t.Errorf("a profile's grant in a denied tree: %+v", got[1])
	}
	if got[3].Implied != RightProtect || !got[3].Optional {
		t.Errorf("a profile's grant in a writable one: %+v", got[3])
	}
	if got[5].Implied != RightProtect || got[5].Err != nil {
		t.Errorf("a profile's writing grant in a protected tree: %+v", got[5])
	}
}

// TestNestedDepth has the innermost entry count, at every depth.
func TestNestedDepth(t *testing.T) {
	got := Nest([]Entry{
		{"/a", RightWrite, KindFile},
		{"/a/b", RightRead, KindFile},
		{"/a/b/c", RightWrite, KindFile},
		{"/a/b/c/d", RightRead, KindFile},
		{"/a/b/e", RightRead, KindFile},
	})
	want := []string{"as written", "implied protect", "as written", "implied protect", "as written"}
	for i, w := range want {
		if effect(got[i]) != w {
			t.Errorf("entry %d is %s, want %s", i, effect(got[i]), w)
		}
	}
	through := Nest([]Entry{
		{"/a", RightDeny, KindFile},
		{"/a/b/c", RightRead, KindFile},
		{"/a/b", RightProtect, KindFile},
	})
	if through[1].Err == nil {
		t.Error("a protected folder between hides the deny")
	}
}

// TestNestOrder has the order of entries without meaning.
func TestNestOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	paths := []string{"/", "/a", "/a/b", "/a/b/c", "/a-b", "/a.b", "/ab", "/a/bb"}
	for range 2000 {
		var entries []Entry
		for _, p := range paths {
			if r := Right(rng.IntN(7)); r != RightNone {
				entries = append(entries, Entry{p, r, SourceKind(rng.IntN(2))})
			}
		}
		want := Nest(entries)
		perm := rng.Perm(len(entries))
		mixed := make([]Entry, len(entries))
		for i, j := range perm {
			mixed[i] = entries[j]
		}
		for i, n := range Nest(mixed) {
			if effect(n) != effect(want[perm[i]]) {
				t.Fatalf("%v in %v: %s, and %s in another order", mixed[i], entries, effect(n), effect(want[perm[i]]))
			}
		}
	}
}
