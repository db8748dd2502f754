package dirchain

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// part is one component, restated: no slash, no backslash, nothing of the
// categories that Unicode calls control.
var part = regexp.MustCompile(`^[^/\\\x00-\x1f\x7f-\x{9f}]+$`)

// usable restates the rules of a path (contract brainkit §4.2 step 0).
func usable(path string) bool {
	if !utf8.ValidString(path) || len(path) > 4096 {
		return false
	}
	n := 0
	for p := range strings.SplitSeq(path, "/") {
		if n++; !part.MatchString(p) || p == "." || p == ".." || len(p) > 255 {
			return false
		}
	}
	return n <= 128
}

func FuzzSplitPath(f *testing.F) {
	long := strings.Repeat("a", 255)
	for _, path := range []string{
		"", ".", "..", "/", "a", "a/b", "a/", "/a", "a//b", "./a", "a/..", "a/../b", "...", ".a", "a.", `a\b`,
		"a\x00", "a\n", "a\x7f",
		"a\u0085", "a\u00a0", "\xff", "\u202e", "\u2028", "\ufeff", "é", "e\u0301",
		long, long + "a", strings.Repeat("a/", 127) + "b",
		strings.Repeat("a/", 128) + "b", strings.Repeat(long+"/", 15) + long, strings.Repeat(long+"/", 16) + "a",
	} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		parts, err := SplitPath(path)
		if want := usable(path); (err == nil) != want {
			t.Fatalf("SplitPath(%q) = %q, %v, usable %v", path, parts, err, want)
		}
		if err != nil {
			if !errors.Is(err, ErrPath) || parts != nil {
				t.Errorf("SplitPath(%q) = %q, %v", path, parts, err)
			}
			return
		}
		if again := strings.Join(parts, "/"); again != path || len(parts) == 0 {
			t.Errorf("SplitPath(%q) = %q", path, parts)
		}
	})
}

func FuzzReplaceOnce(f *testing.F) {
	for _, c := range [][3]string{
		{"", "", ""},
		{"abc", "", "x"},
		{"aaa", "aa", "b"},
		{"abcabc", "abc", "x"},
		{"abc", "b", "$&$$\\1"},
		{"abc", "abc", ""},
		{"ababab", "abab", "x"},
		{"aab", "ab", "x"},
		{"abcabd", "abd", "x"},
		{"\x00\xff", "\xff", "\x00"},
		{"a", "ab", "x"},
		{"aabaabaaab", "aabaaab", "x"},
		{strings.Repeat("a", 100), strings.Repeat("a", 99), "x"},
	} {
		f.Add([]byte(c[0]), []byte(c[1]), []byte(c[2]))
	}
	f.Fuzz(func(t *testing.T, text, old, fresh []byte) {
		text, old = text[:min(len(text), 4096)], old[:min(len(old), 4096)]
		n := 0
		for i := range text {
			if len(old) > 0 && bytes.HasPrefix(text[i:], old) {
				n++
			}
		}
		whole := bytes.Clone(text)
		got, err := replaceOnce(text, old, fresh)
		if n != 1 {
			if !errors.Is(err, ErrMatch) || got != nil {
				t.Fatalf("replaceOnce(%q, %q, %q) = %q, %v, but it is there %d times", text, old, fresh, got, err, n)
			}
			return
		}
		before, after, _ := bytes.Cut(text, old)
		if want := bytes.Join([][]byte{before, fresh, after}, nil); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("replaceOnce(%q, %q, %q) = %q, %v, want %q", text, old, fresh, got, err, want)
		}
		if !bytes.Equal(whole, text) {
			t.Errorf("the text was changed: %q, was %q", text, whole)
		}
	})
}
