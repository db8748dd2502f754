package redact

import (
	"path"
	"strings"
)

// roots returns the absolute ones of list, cleaned.
func roots(list []string) []string {
	var out []string
	for _, root := range list {
		if strings.HasPrefix(root, "/") {
			out = append(out, path.Clean(root))
		}
	}
	return out
}

// nameByte reports whether c may be in the name of a file, as paths are found in a text: what
// stands around paths ends them.
func nameByte(c byte) bool {
	return alnum(c) || c >= 0x80 || strings.IndexByte("_-.~+@%", c) >= 0
}

// paths adds the paths of the host in s. Each byte is in one run at most.
func (w *walk) paths(s string) {
	if w.scope == Output && len(w.r.host) == 0 {
		return
	}
	w.oddRoots(s)
	for done := 0; ; {
		slash := strings.IndexByte(s[done:], '/')
		if slash < 0 {
			return
		}
		slash += done
		begin, end := slash, slash+1
		for begin > done && nameByte(s[begin-1]) {
			begin--
		}
		for end < len(s) && (s[end] == '/' || nameByte(s[end])) {
			end++
		}
		done = end
		if from := w.hostPath(s, begin, slash, end); from >= 0 {
			w.spans = append(w.spans, span{from: from, to: end, path: true})
		}
	}
}

// hostPath judges the run from begin to end, whose first slash is given. It returns where a
// path of the host begins in it, or -1.
func (w *walk) hostPath(s string, begin, slash, end int) int {
	from, every := slash, w.scope == Full
	before := s[begin:slash]
	switch {
	case before == "" && strings.HasPrefix(s[slash:end], "//") && slash > 1 && s[slash-1] == ':' && alnum(s[slash-2]):
		scheme := scheme(s, slash-1)
		if scheme == "http" || scheme == "https" || scheme == "ws" || scheme == "wss" {
			return -1
		}
		next := strings.IndexByte(s[slash+2:end], '/') // behind the host
		if next < 0 {
			return -1
		}
		from = slash + 2 + next
		every = every && scheme == "file"
	case before == "":
	case before[len(before)-1] >= 0x80 && slash+1 < end && s[slash+1] < 0x80: // a quote, or a word
	case before[0] == '-' || before == "@" || before == "+": // -I/home/op
		every = false
	default: // a relative path
		return -1
	}
	if w.foreign(s[from:end], every) {
		return from
	}
	return -1
}

// scheme returns the letters before the colon at i, in lower case.
func scheme(s string, i int) string {
	begin := i
	for begin > 0 && i-begin < 16 && alnum(s[begin-1]) {
		begin--
	}
	return strings.ToLower(s[begin:i])
}

// foreign reports whether the absolute path p is one that the sandbox does not have; with every,
// one that no root is above is foreign too.
func (w *walk) foreign(p string, every bool) bool {
	if strings.Trim(p, "/") == "" {
		return false
	}
	if p[len(p)-1] == '.' || strings.Contains(p, "//") || strings.Contains(p, "/.") {
		p = path.Clean(p)
	}
	host, sandbox := longest(w.r.host, p), longest(w.r.sandbox, p)
	if host < 0 && sandbox < 0 {
		return every
	}
	return host >= sandbox
}

// longest returns the length of the longest root that p is beneath or is, -1 for none.
func longest(roots []string, p string) int {
	most := -1
	for _, root := range roots {
		if beneath(p, root) && len(root) > most {
			most = len(root)
		}
	}
	return most
}

func beneath(p, root string) bool {
	return root == "/" || strings.HasPrefix(p, root) && (len(p) == len(root) || p[len(root)] == '/')
}

// oddRoots adds the paths beneath roots that have a character by which paths end.
func (w *walk) oddRoots(s string) {
	for _, root := range w.r.odd {
		for at := 0; ; {
			i := strings.Index(s[at:], root)
			if i < 0 {
				break
			}
			from := at + i
			at = from + len(root)
			if at < len(s) && s[at] != '/' && nameByte(s[at]) {
				continue
			}
			for at < len(s) && (s[at] == '/' || nameByte(s[at])) {
				at++
			}
			w.spans = append(w.spans, span{from: from, to: at, path: true})
		}
	}
}
