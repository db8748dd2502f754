package shell

import (
	"strings"

	"brainbox/gate/wild"

	"mvdan.cc/sh/v3/syntax"
)

// word is one word of a call after the quotes are taken off.
type word struct {
	text       string // wild.Hole for what is computed
	hole       bool
	quoted     bool     // some of it; a leading ~ is then no home
	computed   bool     // text begins with what an expansion gives, and may be an option
	alts       []string // what {a,b} makes of it, as far as that is plain
	plain      string   // where the text sets HOME or PWD: the word with these as they are
	start, end int      // bytes of the text that was read
}

// read takes the quotes off a word and reads the commands inside it.
func (r *reader) read(w *syntax.Word, at place) word {
	out := word{start: int(w.Pos().Offset()), end: int(w.End().Offset())} //nolint:gosec // below MaxText
	if len(w.Parts) == 1 {
		if lit, ok := w.Parts[0].(*syntax.Lit); ok && !strings.ContainsAny(lit.Value, "\\*?[{") {
			out.text = lit.Value
			return out
		}
	}
	f := former{r: r, at: at}
	for i, p := range w.Parts {
		f.more = i+1 < len(w.Parts)
		f.part(p, false)
	}
	out.text, out.hole, out.quoted, out.computed = string(f.buf), f.hole, f.quoted, f.computed
	out.alts = f.alts
	if f.sets {
		out.plain, out.hole = out.text, true
		out.text = unset.Replace(out.text)
	}
	return out
}

var unset = strings.NewReplacer("$HOME", hole, "$PWD", hole)

// former builds the text of a word.
type former struct {
	r            *reader
	at           place
	buf          []byte
	hole, quoted bool
	computed     bool
	sets         bool // holds HOME or PWD, which the text sets
	more         bool // parts follow
	alts         []string
	brace        bool // in what may be {a,b}: all of it is a hole
}

// gap adds a hole and reads the commands that fill it.
func (f *former) gap(p syntax.WordPart) {
	if n := len(f.buf); n == 0 || f.buf[n-1] != wild.Hole {
		f.buf = append(f.buf, wild.Hole)
	}
	f.hole = true
	f.computed = f.computed || p != nil && len(f.buf) == 1
	if p != nil {
		f.r.words(p, f.at)
	}
}

func (f *former) part(p syntax.WordPart, quoted bool) {
	if f.brace {
		f.fragments(p)
		f.gap(p)
		return
	}
	switch p := p.(type) {
	case *syntax.Lit:
		f.lit(p.Value, quoted)
	case *syntax.SglQuoted:
		f.quoted = true
		if p.Dollar && strings.Contains(p.Value, `\`) {
			f.computed = f.computed || len(f.buf) == 0
			f.gap(nil) // $'\x6e': what it is, is not worked out
			return
		}
		f.buf = append(f.buf, p.Value...)
	case *syntax.DblQuoted:
		f.quoted = true
		if p.Dollar {
			f.gap(p) // translated by a catalogue
			return
		}
		for _, q := range p.Parts {
			f.part(q, true)
		}
	case *syntax.ParamExp:
		if name := plain(p); name != "" {
			f.buf = append(f.buf, name...)
			f.sets = f.sets || name == "$HOME" && f.r.setsHome || name == "$PWD" && f.r.setsPwd
			return
		}
		f.gap(p)
	default:
		f.gap(p)
	}
}

// plain is $HOME or $PWD without an operator, or nothing.
func plain(p *syntax.ParamExp) string {
	if p.Param == nil || p.Excl || p.Length || p.Width || p.Index != nil || p.Slice != nil ||
		p.Repl != nil || p.Names != 0 || p.Exp != nil {
		return ""
	}
	switch p.Param.Value {
	case "HOME", "PWD":
		return "$" + p.Param.Value
	}
	return ""
}

// lit adds what stands in the text itself: backslashes are taken off, and where
// nothing is quoted a glob is a hole.
func (f *former) lit(s string, quoted bool) {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\' && i+1 < len(s) && (!quoted || strings.IndexByte("$`\"\\\n", s[i+1]) >= 0):
			i++
			f.quoted = true
			if s[i] != '\n' {
				f.buf = append(f.buf, s[i])
			}
		case !quoted && (c == '*' || c == '?' || c == '[' && strings.IndexByte(s[i:], ']') > 0):
			f.gap(nil)
			if c == '[' {
				i += strings.IndexByte(s[i:], ']')
			}
		case !quoted && c == '{' && (f.more || strings.IndexByte(s[i:], ',') > 0 || strings.Contains(s[i:], "..")):
			f.brace = true // SplitBraces would tell, in more than quadratic time
			f.alternatives(s[i:])
			f.computed = f.computed || len(f.buf) == 0
			f.gap(nil)
			return
		default:
			f.buf = append(f.buf, c)
		}
	}
}

// alternatives finds the words that a brace expansion makes, for paths: of one
// plain group all of them, else the parts that there are.
func (f *former) alternatives(s string) {
	body, rest, ok := strings.Cut(s[1:], "}")
	if ok = ok && !f.more && !strings.ContainsAny(body+rest, "{\\"); !ok {
		f.split(s)
		return
	}
	for part := range strings.SplitSeq(body, ",") {
		if f.alts = append(f.alts, string(f.buf)+part+rest); len(f.alts) == maxAlternatives {
			return
		}
	}
}

// fragments are the parts of a brace expansion that stand in the text.
func (f *former) fragments(p syntax.WordPart) {
	switch p := p.(type) {
	case *syntax.Lit:
		f.split(p.Value)
	case *syntax.SglQuoted:
		f.split(p.Value)
	case *syntax.DblQuoted:
		for _, q := range p.Parts {
			f.fragments(q)
		}
	}
}

func (f *former) split(s string) {
	for part := range strings.FieldsFuncSeq(s, func(c rune) bool { return strings.ContainsRune("{},", c) }) {
		if len(f.alts) < maxAlternatives {
			f.alts = append(f.alts, part)
		}
	}
}

const maxAlternatives = 64

// form joins words as the rules see them.
func form(words []word) string {
	n := len(words)
	for i := range words {
		n += len(words[i].text)
	}
	var b strings.Builder
	b.Grow(n)
	for i := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(words[i].text)
	}
	return b.String()
}

// expandHome replaces a leading ~, $HOME or $PWD of a word by what it is when the
// text begins; it reports false if that may have changed, or cannot be told.
func (r *reader) expandHome(w *word) (string, bool) {
	text := w.text
	for _, v := range [...]struct {
		name, value string
		set         bool
	}{{"~", r.env.Home, r.setsHome}, {"$HOME", r.env.Home, r.setsHome}, {"$PWD", r.env.Dir, r.setsPwd || r.hasCd}} {
		rest, ok := strings.CutPrefix(text, v.name)
		if !ok || v.name == "~" && w.quoted && !strings.Contains(r.slice(w.start, w.end), "~/") {
			continue
		}
		if rest != "" && rest[0] != '/' || v.value == "" {
			return text, false
		}
		return v.value + rest, !v.set
	}
	return text, true
}
