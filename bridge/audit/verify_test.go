package audit

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"brainbox/internal/strictjson"
)

// chain makes a file of n lines.
func chain(n int) []byte {
	var out []byte
	var last Hash
	for i := range n {
		v := value(i)
		e := entry{kind: Effect, at: time.Unix(int64(i), 0), data: strictjson.Append(nil, &v)}
		start := len(out)
		out = e.line(out, uint64(i+1), last, []byte(`"s"`))
		last = sha256.Sum256(out[start : len(out)-1])
	}
	return out
}

// Every way to change a file is found, where it is.
func TestFaultsAreFound(t *testing.T) {
	lines := func() []string { return strings.SplitAfter(strings.TrimSuffix(string(chain(8)), "\n")+"\n", "\n")[:8] }
	swap := func(l []string, a, b int) []string { l[a], l[b] = l[b], l[a]; return l }
	forged := func(l []string, at int) string { // what continues line at, with another text
		v := value(99)
		e := entry{kind: Decision, at: time.Unix(0, 0), data: strictjson.Append(nil, &v)}
		var prev Hash
		if at > 0 {
			prev = sha256.Sum256([]byte(strings.TrimSuffix(l[at-1], "\n")))
		}
		return string(e.line(nil, uint64(at+1), prev, []byte(`"s"`)))
	}
	for _, tc := range []struct {
		name   string
		change func(l []string) []string
		want   []string
	}{
		{"nothing", func(l []string) []string { return l }, nil},
		{"an empty file", func([]string) []string { return nil }, nil},
		{"one text", func(l []string) []string { l[3] = strings.Replace(l[3], `"n":3`, `"n":4`, 1); return l }, []string{"changed@4"}},
		{"one time", func(l []string) []string { l[0] = strings.Replace(l[0], `1970`, `1971`, 1); return l }, []string{"changed@1"}},
		{"the kept hash", func(l []string) []string { l[0] = strings.Replace(l[0], `"0`, `"1`, 1); return l }, []string{"changed@1", "changed@1"}},
		{"a blank", func(l []string) []string { l[3] = strings.Replace(l[3], `"data":`, `"data": `, 1); return l }, []string{"changed@4"}},
		{"no JSON", func(l []string) []string { l[3] = "x" + l[3]; return l }, []string{"changed@4"}},
		{"a key twice", func(l []string) []string { l[3] = `{"seq":4,` + l[3][1:]; return l }, []string{"changed@4"}},
		{"two that are no JSON", func(l []string) []string { l[3], l[4] = "x\n", "\n"; return l }, []string{"changed@4", "changed@5"}},
		{"one removed", func(l []string) []string { return slices.Delete(l, 3, 4) }, []string{"removed@4"}},
		{"three removed", func(l []string) []string { return slices.Delete(l, 3, 6) }, []string{"removed@4"}},
		{"the first removed", func(l []string) []string { return l[1:] }, []string{"removed@1"}},
		{"neighbours swapped", func(l []string) []string { return swap(l, 3, 4) }, []string{"removed@4", "reordered@5"}},
		{"others swapped", func(l []string) []string { return swap(l, 2, 5) }, []string{"removed@3", "reordered@4", "reordered@5", "reordered@6"}},
		{"one copied", func(l []string) []string { return slices.Insert(l, 5, l[2]) }, []string{"inserted@6"}},
		{"one forged", func(l []string) []string { return slices.Insert(l, 4, forged(l, 4)) }, []string{"inserted@6"}},
		{"one in its place", func(l []string) []string { l[4] = forged(l, 4); return l }, []string{"changed@5"}},
		{"text inserted", func(l []string) []string { return slices.Insert(l, 4, "hello\n") }, []string{"inserted@5"}},
		{"an empty line", func(l []string) []string { return slices.Insert(l, 4, "\n") }, []string{"inserted@5"}},
		{"half a line at the end", func(l []string) []string { l[7] = l[7][:20]; return l }, []string{"cut@8"}},
		{"no line feed at the end", func(l []string) []string { l[7] = l[7][:len(l[7])-1]; return l }, []string{"cut@8"}},
		{"a long line", func(l []string) []string { return slices.Insert(l, 4, strings.Repeat("x", 3<<20)+"\n") }, []string{"inserted@5"}},
		{"another beginning", func(l []string) []string {
			return append([]string{strings.Replace(forged(l, 0), strings.Repeat("0", 64), strings.Repeat("1", 64), 1)}, l[1:]...)
		}, []string{"changed@1", "changed@1"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := verified(t, []byte(strings.Join(tc.change(lines()), "")), Hash{})
			if d := cmp.Diff(tc.want, problems(r)); d != "" {
				t.Errorf("%s\n%v", d, r.Problems)
			}
		})
	}
}

// What the chain alone cannot tell is told by a hash that was kept.
func TestACutTailNeedsAHead(t *testing.T) {
	text := chain(8)
	whole := verified(t, text, Hash{})
	if whole.Seq != 8 || whole.Head == (Hash{}) {
		t.Fatalf("%+v", whole)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	cut := bytes.Join(lines[:6], nil)
	last := append(slices.Clone(cut), bytes.Replace(bytes.Join(lines[6:], nil), []byte(`"n":7`), []byte(`"n":8`), 1)...)
	for name, bad := range map[string][]byte{"cut": cut, "the last line changed": last, "empty": nil} {
		if r := verified(t, bad, Hash{}); !r.OK() {
			t.Errorf("%s: seen without a head: %v", name, r.Problems)
		}
		if r := verified(t, bad, whole.Head); r.OK() || r.Problems[0].Fault != Cut {
			t.Errorf("%s: not seen", name)
		}
	}
	for n, l := range lines[:8] { // the file has grown since: the control
		if r := verified(t, text, sha256.Sum256(bytes.TrimSuffix(l, []byte("\n")))); !r.OK() {
			t.Errorf("line %d: %v", n+1, r.Problems)
		}
	}
}

// A change of any byte but those of the last line is found.
func TestEveryByteCounts(t *testing.T) {
	text := chain(4)
	end := bytes.LastIndexByte(text[:len(text)-1], '\n')
	for i := range text[:end] {
		changed := slices.Clone(text)
		changed[i] ^= 1
		if r := verified(t, changed, Hash{}); r.OK() {
			t.Errorf("byte %d changed from %q to %q: not seen", i, text[i], changed[i])
		}
	}
}

func TestProblemsAreBounded(t *testing.T) {
	r := verified(t, bytes.Repeat([]byte("x\n"), 1<<20), Hash{})
	if len(r.Problems) != mostProblems || !r.More {
		t.Errorf("%d problems, more %v", len(r.Problems), r.More)
	}
	if _, err := ParseHash(strings.Repeat("A", 64)); err == nil {
		t.Error("upper-case digits are a hash")
	}
}

// FuzzVerify looks for panics, and for a changed file that verifies.
func FuzzVerify(f *testing.F) {
	text := chain(6)
	f.Add(text, 10, 3, []byte("x"))
	f.Add(text, 300, 0, []byte("\n"))
	f.Add(append(slices.Clone(text), "half"...), 0, 0, []byte(nil))
	healed := `{"seq":7,"prev":"` + strings.Repeat("0", 64) + `","time":"","session":"","type":"healed","data":{"bytes":4,"sha256":"` + strings.Repeat("0", 64) + "\"}}\n"
	f.Add(append(slices.Clone(text), healed...), 20, 9, []byte(`"`))
	end := bytes.LastIndexByte(text[:len(text)-1], '\n')
	f.Fuzz(func(t *testing.T, any []byte, at, gone int, with []byte) {
		if r := verified(t, any, Hash{}); len(r.Problems) > mostProblems {
			t.Error("too many problems")
		}
		if at < 0 || gone < 0 || at+gone < 0 || at+gone > end {
			return
		}
		changed := slices.Concat(text[:at], with, text[at+gone:])
		if r := verified(t, changed, Hash{}); r.OK() && !bytes.Equal(changed, text) {
			t.Errorf("not seen: %q", changed)
		}
	})
}
