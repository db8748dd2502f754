package redact

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strings"
	"testing"
)

// wrap breaks s into lines as base64(1) does.
func wrap(s string, n int) string {
	var b strings.Builder
	for ; len(s) > n; s = s[n:] {
		b.WriteString(s[:n] + "\n  ")
	}
	return b.String() + s
}

// spellingsOf are ways in which a program may write s.
func spellingsOf(t testing.TB, s string) map[string]string {
	all := ""
	units := ""
	for _, c := range []byte(s) {
		all += "%" + hex.EncodeToString([]byte{c})
	}
	for _, r := range s {
		if r < 0x10000 {
			units += `\u` + strings.ToUpper(hex.EncodeToString([]byte{byte(r >> 8), byte(r)}))
		} else {
			units += string(r)
		}
	}
	js := strings.Trim(quoted(t, s), `"`)
	b64 := base64.StdEncoding.EncodeToString
	return map[string]string{
		"itself":                  s,
		"base64":                  b64([]byte(s)),
		"base64, no padding":      base64.RawStdEncoding.EncodeToString([]byte(s)),
		"base64url":               base64.URLEncoding.EncodeToString([]byte(s)),
		"basic authorization":     b64([]byte("user:" + s)),
		"base64 behind 1 byte":    b64([]byte("a" + s + "b")),
		"base64 behind 2 bytes":   base64.URLEncoding.EncodeToString([]byte("ab" + s + "bcd")),
		"wrapped base64":          wrap(b64([]byte("some text before "+s+" and after it")), 10),
		"base64 in a query":       url.QueryEscape(b64([]byte(s))),
		"hexadecimal":             hex.EncodeToString([]byte(s)),
		"HEXADECIMAL":             strings.ToUpper(hex.EncodeToString([]byte(s))),
		"a query":                 url.QueryEscape(s),
		"a path":                  url.PathEscape(s),
		"all percent":             all,
		"percent twice":           url.QueryEscape(url.QueryEscape(s)),
		"JSON":                    js,
		"JSON units":              units,
		"JSON with slashes":       strings.ReplaceAll(js, "/", `\/`),
		"JSON in JSON":            strings.Trim(quoted(t, js), `"`),
		"percent in JSON":         strings.Trim(quoted(t, url.QueryEscape(s)), `"`),
		"JSON, percent-encoded":   url.QueryEscape(js),
		"wrapped base64 in JSON":  strings.Trim(quoted(t, wrap(b64([]byte(s)), 4)), `"`),
		"within words":            "x" + s + "y",
		"its lines broken (CRLF)": strings.ReplaceAll(s, "\n", "\r\n"),
	}
}

func TestEverySpelling(t *testing.T) {
	for _, secret := range []string{
		bearer, "abcdef", "pass word/1", "ÿþ??>>~~", "line one\nline two\nend", strings.Repeat("k", 300),
		"a\\b\"c%41d", "😀secret",
	} {
		r := New(Options{Secrets: []string{secret}})
		if r.Skipped() != 0 {
			t.Fatalf("%q is skipped", secret)
		}
		for name, text := range spellingsOf(t, secret) {
			got := r.Text("before "+text+" after", Output)
			if strings.Contains(got, text) || !strings.Contains(got, Redacted) {
				t.Errorf("%s of %q: %q becomes %q", name, secret, text, got)
			}
			if !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") {
				t.Errorf("%s of %q: %q takes what is around it", name, secret, got)
			}
			if !r.Holds(text) {
				t.Errorf("%s of %q is not held", name, secret)
			}
		}
		if got := r.Text("nothing to see: abc%20\\n=", Output); got != "nothing to see: abc%20\\n=" {
			t.Errorf("control: %q", got)
		}
	}
}
