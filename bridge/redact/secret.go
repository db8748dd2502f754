package redact

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// pattern is one spelling of a secret.
type pattern struct {
	text string
	fail []int32 // fail[i]: the longest proper prefix of text that ends text[:i+1]

	// base64: beside the spelling stand characters that have some of the secret's bits.
	left, right bool
}

// spellings returns how s may be written. What is percent-encoded or JSON-escaped is not here:
// the text is decoded instead, since each character may be written in several ways.
func spellings(s string) []pattern {
	list := []pattern{{text: s}, {text: hex.EncodeToString([]byte(s))}}
	list = append(list, pattern{text: strings.ToUpper(list[1].text)})
	if strings.ContainsRune(s, ' ') { // a form (application/x-www-form-urlencoded)
		list = append(list, pattern{text: strings.ReplaceAll(s, " ", "+")})
	}
	raws := []string{s}
	if squeezed := squeeze(view{text: s}); squeezed.text != s && len(squeezed.text) >= MinSecret {
		list = append(list, pattern{text: squeezed.text})
		// A text that uses the other line end is encoded differently.
		unix := strings.ReplaceAll(s, "\r\n", "\n")
		raws = append(raws, unix, strings.ReplaceAll(unix, "\n", "\r\n"))
	}
	for _, raw := range raws {
		list = append(list, encoded(raw)...)
	}
	seen := map[string]bool{}
	unique := list[:0]
	for _, p := range list {
		if !seen[p.text] {
			seen[p.text] = true
			unique = append(unique, p)
		}
	}
	return unique
}

// encoded returns what of s alone decides in a base64 text that has it, behind 0, 1 or 2 bytes
// of a group of three, in both alphabets.
func encoded(s string) []pattern {
	var list []pattern
	for skip := range 3 {
		text := base64.RawStdEncoding.EncodeToString(append(make([]byte, skip, skip+len(s)), s...))
		bits := 8 * (skip + len(s))
		from, to := (8*skip+5)/6, bits/6
		p := pattern{text: text[from:to], left: skip > 0, right: bits%6 != 0}
		list = append(list, p)
		if strings.ContainsAny(p.text, "+/") {
			p.text = strings.NewReplacer("+", "-", "/", "_").Replace(p.text)
			list = append(list, p)
		}
	}
	return list
}

func base64Byte(c byte) bool {
	return 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9' ||
		c == '+' || c == '/' || c == '-' || c == '_'
}

// failure returns the table of Knuth, Morris and Pratt for s.
func failure(s string) []int32 {
	fail := make([]int32, len(s))
	k := int32(0)
	for i := 1; i < len(s); i++ {
		for k > 0 && s[i] != s[k] {
			k = fail[k-1]
		}
		if s[i] == s[k] {
			k++
		}
		fail[i] = k
	}
	return fail
}
