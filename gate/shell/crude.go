package shell

import "strings"

// crude finds what may be commands in a text that the parser does not read,
// without regard to quotes: a rule that denies one of them counts. So a command
// that is denied stays denied when something unreadable is put beside it. What
// stands in quotes there may be taken apart in another way.
func (r *reader) crude(text string, at place) {
	was := r.denyOnly
	r.denyOnly, r.crudely = true, true
	text = strings.ReplaceAll(text, "\\\n", "")
	for part := range strings.FieldsFuncSeq(text, func(c rune) bool {
		return strings.ContainsRune(";&|\n()`{}", c)
	}) {
		r.crudePaths(part, at)
		words := strings.Fields(unquote.Replace(strings.Trim(part, " \t$!")))
		words = withoutRedirects(words)
		for lead := 0; lead < maxLead && len(words) > 1 && leads(words[0]); lead++ {
			words = words[1:]
		}
		if text := strings.Join(words, " "); text != "" {
			call := make([]word, len(words))
			for i := range words {
				call[i].text = words[i]
			}
			r.simple(Unit{Text: text, Source: text}, call, Unparsed, true, at)
			switch words[0] {
			case "cd", "pushd", "popd":
				at = join(at, r.cd(call, at).any)
			}
		}
	}
	r.denyOnly, r.crudely = was, false
}

// crudePaths finds what may be paths in such a part.
func (r *reader) crudePaths(part string, at place) {
	for text := range strings.FieldsFuncSeq(unquote.Replace(part), func(c rune) bool { return strings.ContainsRune(" \t<>$", c) }) {
		r.shaped(&word{text: text}, at)
	}
	for rest := part; ; {
		op := strings.IndexAny(rest, "<>")
		if op < 0 {
			return
		}
		rest = strings.TrimLeft(rest[op:], "<> \t")
		target, _, _ := strings.Cut(unquote.Replace(rest), " ")
		r.path(&word{text: target}, Both, false, at)
	}
}

const maxLead = 8 // reserved words and assignments before a command

var unquote = strings.NewReplacer(`"`, "", `'`, "", `\`, "")

// withoutRedirects leaves out what looks like a redirection, and its target.
func withoutRedirects(words []string) []string {
	out := words[:0:0]
	for i := 0; i < len(words); i++ {
		op := strings.TrimLeft(words[i], "0123456789&")
		if op == "" || op[0] != '<' && op[0] != '>' {
			out = append(out, words[i])
		} else if strings.Trim(op, "<>&|-") == "" {
			i++
		}
	}
	return out
}

// leads reports whether a command may follow the word.
func leads(word string) bool {
	switch word {
	case "if", "then", "elif", "else", "while", "until", "do", "time", "!", "coproc":
		return true
	}
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && !strings.ContainsAny(name, `"'\/-.,:`)
}
