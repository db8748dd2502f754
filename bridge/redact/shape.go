package redact

import "strings"

// starts marks the bytes that a shape is recognised at: the first one of a token, and the colon
// of a URL or a header.
var starts = [256]bool{'s': true, 'g': true, 'x': true, 'A': true, ':': true}

// shapes adds what looks like a secret (section A.8): tokens with a known beginning, header
// lines, users in URLs. It looks at each byte a bounded number of times.
func (w *walk) shapes(s string) {
	for i := 0; i < len(s); i++ {
		if !starts[s[i]] {
			continue
		}
		if s[i] == ':' {
			if from, to := user(s, i); to > from {
				w.add(from, to)
			} else if from, to := header(s, i, w.scope == Full); to > from {
				w.add(from, to)
				i = to - 1
			}
			continue
		}
		if i > 0 && alnum(s[i-1]) {
			continue
		}
		if n := token(s[i:]); n > 0 {
			w.add(i, i+n)
			i += n - 1
		}
	}
}

// token returns how long the token is that s begins with, 0 when it begins with none.
func token(s string) int {
	switch {
	case strings.HasPrefix(s, "sk-"):
		return run(s, 3, 20, "-_")
	case strings.HasPrefix(s, "github_pat_"):
		return run(s, 11, 20, "_")
	case len(s) > 4 && s[:2] == "gh" && strings.IndexByte("pousr", s[2]) >= 0 && s[3] == '_':
		return run(s, 4, 20, "_")
	case len(s) > 5 && s[:3] == "xox" && strings.IndexByte("baprs", s[3]) >= 0 && s[4] == '-':
		return run(s, 5, 20, "-")
	case strings.HasPrefix(s, "AKIA"):
		return run(s, 4, 16, "")
	}
	return 0
}

// run returns the length of s up to the end of letters, digits and more behind its first n
// bytes, when there are at least least of them.
func run(s string, n, least int, more string) int {
	end := n
	for end < len(s) && (alnum(s[end]) || strings.IndexByte(more, s[end]) >= 0) {
		end++
	}
	if end-n < least {
		return 0
	}
	return end
}

// user returns where the user and password of the URL stand whose colon is at i.
func user(s string, i int) (from, to int) {
	if i == 0 || !alnum(s[i-1]) || !strings.HasPrefix(s[i:], "://") {
		return 0, 0
	}
	from = i + 3
	for end := from; end < len(s); end++ {
		switch c := s[end]; {
		case c == '@':
			to = end // the last one: a password may have one
		case c <= ' ', strings.IndexByte("/?#\"'`<>\\", c) >= 0:
			return from, to
		}
	}
	return from, to
}

// header returns where the value of the header stands whose colon is at i. Where quoted names
// are ordinary data only a line that begins with the name counts, or a quoted header.
func header(s string, i int, anywhere bool) (from, to int) {
	const most = 8 // blanks, quotes and backslashes between a name and its colon
	end := i
	for end > 0 && i-end < most && (s[end-1] == ' ' || s[end-1] == '\t') {
		end--
	}
	quoted := end
	for end > 0 && quoted-end < most && (quote(s[end-1]) || s[end-1] == '\\') {
		end--
	}
	begin := headerName(s, end)
	if begin < 0 || strings.HasPrefix(s[i:], "://") || !anywhere && (end != quoted || !opens(s, begin)) {
		return 0, 0
	}
	return value(s, i+1, begin)
}

// value returns the value behind a colon: to its closing quote, that of the whole header, or
// the end of the line.
func value(s string, from, begin int) (int, int) {
	for from < len(s) && (s[from] == ' ' || s[from] == '\t') {
		from++
	}
	closing := byte('\n')
	first := from
	for first < len(s) && s[first] == '\\' {
		first++
	}
	switch {
	case first < len(s) && quote(s[first]):
		closing, from = s[first], first+1
	case begin > 0 && quote(s[begin-1]):
		closing = s[begin-1]
	}
	to := from
	for to < len(s) && s[to] != '\n' && s[to] != '\r' && s[to] != closing {
		to++
	}
	for to > from && s[to-1] == '\\' { // of an escaped quote
		to--
	}
	return from, to
}

// headerName returns where the name of a header with a secret begins that ends at end, or -1.
func headerName(s string, end int) int {
	for _, name := range [...]string{"proxy-authorization", "authorization", "set-cookie", "cookie"} {
		begin := end - len(name)
		if begin < 0 || !strings.EqualFold(s[begin:end], name) {
			continue
		}
		if begin == 0 || !alnum(s[begin-1]) {
			return begin
		}
	}
	return -1
}

// opens reports whether a header may begin at i: on a line of its own, behind the mark that a
// trace has there, or behind a quote.
func opens(s string, i int) bool {
	if i > 0 && quote(s[i-1]) {
		return true
	}
	for n := 0; i > 0 && n < 8; n++ {
		i--
		switch s[i] {
		case '\n', '\r':
			return true
		case ' ', '\t', '>', '<', '*':
		default:
			return false
		}
	}
	return i == 0
}

func quote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

func alnum(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}
