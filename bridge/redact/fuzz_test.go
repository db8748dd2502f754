package redact

import (
	"bytes"
	"encoding/base64"
	"math/rand"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"brainbox/internal/strictjson"
)

// The oracle: the secret is in none of the texts that a reader gets by decoding once.
func leaks(text, secret string) bool {
	for _, v := range []view{{text: text}, squeeze(view{text: text})} {
		if strings.Contains(v.text, secret) {
			return true
		}
		if d, ok := percent(v); ok && strings.Contains(d.text, secret) {
			return true
		}
		if d, ok := unescape(v); ok && strings.Contains(d.text, secret) {
			return true
		}
	}
	return false
}

// base64Leaks decodes each run of the alphabet at each alignment.
func base64Leaks(text, secret string) bool {
	text = strings.NewReplacer("-", "+", "_", "/").Replace(text)
	for run := range strings.FieldsFuncSeq(text, func(r rune) bool { return r >= 0x80 || !base64Byte(byte(r)) }) {
		for skip := range min(4, len(run)) {
			part := run[skip:]
			out := make([]byte, len(part))
			n, _ := base64.RawStdEncoding.Decode(out, []byte(part[:len(part)/4*4]))
			if bytes.Contains(out[:n], []byte(secret)) {
				return true
			}
		}
	}
	return false
}

// FuzzRedact puts a secret, spelled in every way, between two texts.
func FuzzRedact(f *testing.F) {
	f.Add("before", "after", bearer, uint8(0))
	f.Add("aaaa", "aaab", "aaaaaaaaab", uint8(3))
	f.Add("%2", "5", "%41%42", uint8(7))
	f.Add(`\`, `u0041`, `\u0041\\"`, uint8(11))
	f.Add("QUJD", "=", "line\r\nbreak", uint8(5))
	f.Add("/home/op/", "@x://", "u:p@h/:x", uint8(2))
	f.Fuzz(func(t *testing.T, before, after, secret string, n uint8) {
		secret = strings.TrimSpace(secret)
		if !utf8.ValidString(secret) || !utf8.ValidString(before) || !utf8.ValidString(after) {
			return
		}
		r := New(Options{Secrets: []string{secret}, HostRoots: []string{"/home/op"}})
		if r.Skipped() > 0 {
			return
		}
		var names []string
		spelled := spellingsOf(t, secret)
		for name := range spelled {
			names = append(names, name)
		}
		text := spelled[names[int(n)%len(names)]]
		for _, scope := range []Scope{Full, Output, Names} {
			in := strictjson.Object(strictjson.Pair(before+text+after, strictjson.Array(strictjson.Text(before+text+after))))
			out, err := r.Value(in, scope)
			if err != nil {
				continue // the text around it makes another one: nothing is sent
			}
			got := out.Members[0].Value.Items[0].Text
			for _, s := range []string{got, out.Members[0].Key, r.Text(before+text+after, scope)} {
				if leaks(s, secret) || base64Leaks(s, secret) {
					t.Fatalf("secret %q in %q: %q", secret, before+text+after, s)
				}
			}
			if r.Holds(got) {
				t.Fatalf("secret %q is held by %q", secret, got)
			}
		}
	})
}

// A search that compares every place agrees with the one that skips.
func TestMatcherAgreesWithASlowOne(t *testing.T) {
	rnd := rand.New(rand.NewSource(1))
	random := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "ab"[rnd.Intn(2)]
		}
		return string(b)
	}
	hits := 0
	for range 3000 {
		var m matcher
		list := []pattern{{text: random(4 + rnd.Intn(6))}, {text: random(4 + rnd.Intn(6))}, {text: random(8)}}
		m.build(list)
		var s scan
		for range 2 { // the second time with what the first left in s
			text := random(rnd.Intn(40))
			got := map[[2]int]bool{}
			m.find(&s, text, func(_ *pattern, from, to int) { got[[2]int{from, to}] = true })
			want := map[[2]int]bool{}
			for _, p := range list {
				for i := 0; i+len(p.text) <= len(text); i++ {
					if text[i:i+len(p.text)] == p.text {
						want[[2]int{i, i + len(p.text)}] = true
					}
				}
			}
			hits += len(want)
			if len(got) != len(want) {
				t.Fatalf("%v in %q: got %v, want %v", list, text, got, want)
			}
			for k := range want {
				if !got[k] {
					t.Fatalf("%v in %q: %v is missing", list, text, k)
				}
			}
		}
	}
	if hits < 1000 {
		t.Errorf("only %d places", hits)
	}
}

// worst are texts that make a careless search slow.
func worst(secret string) map[string]string {
	const n = 1 << 20
	fill := func(s string) string { return strings.Repeat(s, n/len(s)) }
	return map[string]string{
		"prose":             fill("The quick brown fox, and so on. "),
		"the secret":        fill(secret),
		"all but its end":   fill(secret[:len(secret)-1]),
		"percent signs":     fill("%25"),
		"backslashes":       fill(`\\`),
		"slashes":           fill("/"),
		"paths":             fill("/a/b "),
		"dots":              fill("/.."),
		"colons":            fill("://a"),
		"users":             fill("://a@"),
		"headers":           fill("\ncookie: "),
		"tokens":            fill("sk-aaaaaaaaaaaaaaaaaaa "),
		"line breaks":       fill("a\n "),
		"one byte":          fill("a"),
		"percent, and JSON": fill(`%5C\u0025`),
	}
}

// A search that compares each place with the whole secret would take minutes; this one takes
// hundredths of a second.
func TestLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a few seconds")
	}
	secret := strings.Repeat("a", 8000) + "b"
	r := New(Options{Secrets: []string{secret}, HostRoots: []string{"/home/op"}})
	for name, text := range worst(secret) {
		start := time.Now()
		r.Text(text, Full)
		if d := time.Since(start); d > 30*time.Second {
			t.Errorf("%s: 1 MiB takes %v", name, d)
		}
	}
}

func BenchmarkText(b *testing.B) {
	secrets := make([]string, 20)
	for i := range secrets {
		secrets[i] = strings.Repeat(string(rune('a'+i)), 3) + "-0123456789-abcdefghijklmnop"
	}
	r := New(Options{Secrets: secrets, HostRoots: []string{"/home/op"}, SandboxRoots: []string{"/usr"}})
	for name, text := range worst(secrets[0]) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for range b.N {
				r.Text(text, Full)
			}
		})
	}
}

func BenchmarkNew(b *testing.B) {
	for range b.N {
		New(Options{Secrets: []string{strings.Repeat("0123456789", 20)}})
	}
}
