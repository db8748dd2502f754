package wild

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// MaxLen is the longest pattern, in bytes.
const MaxLen = 4096

// Hole is the byte that stands in a text for content that is not known. It
// occurs in no UTF-8 text.
const Hole = '\xff'

// Options say how a pattern is read. The zero Options expand nothing.
type Options struct {
	// Homes are the spellings of the home folder, absolute and clean: as in the
	// password file, and with links followed if that differs. Without one a
	// leading ~ stands for itself.
	Homes []string
}

// Pattern is a compiled pattern. It does not change and may be shared.
type Pattern struct {
	source string
	alts   []glob // tried in order; more than one for homes and a trailing " *"
	any    bool
	need   uint64 // see Need
}

// Compile reads a pattern. It refuses an empty one, one over [MaxLen] bytes, and
// one with U+0000 or bytes that are no UTF-8, which no text can match.
func Compile(pattern string, o Options) (*Pattern, error) {
	switch {
	case pattern == "":
		return nil, errors.New("wild: an empty pattern")
	case len(pattern) > MaxLen:
		return nil, errors.New("wild: a pattern over 4096 bytes")
	case !utf8.ValidString(pattern) || strings.IndexByte(pattern, 0) >= 0:
		return nil, errors.New("wild: a pattern that is not UTF-8, or holds U+0000")
	}
	p := &Pattern{source: pattern}
	for _, text := range expand(pattern, o.Homes) {
		g := parse(text)
		p.any = p.any || g.kind == kindAny
		p.alts = append(p.alts, g)
		if bare, ok := strings.CutSuffix(text, " *"); ok && bare != "" {
			p.alts = append(p.alts, parse(bare))
		}
	}
	p.need = ^uint64(0)
	for i := range p.alts {
		p.need &= bits(p.alts[i].all, true)
	}
	return p, nil
}

// bits is the set of bytes in a text, folded to 64; of a pattern, those that it
// spells out.
func bits(s string, pattern bool) uint64 {
	var set uint64
	for i := range len(s) {
		if c := s[i]; !pattern || c != '*' && c != '?' {
			set |= 1 << (c & 63)
		}
	}
	return set
}

// Have and [Pattern.Need] tell that a pattern cannot match without looking at the
// places: p.Need()&^Have(text) != 0. Have is linear in the text, and is the same
// for all patterns.
func Have(text string) uint64 { return bits(text, false) }

// Need is what a text must have to match.
func (p *Pattern) Need() uint64 { return p.need }

// expand replaces a leading ~, $HOME or ${HOME} by every home there is.
func expand(pattern string, homes []string) []string {
	for _, name := range [...]string{"~", "$HOME", "${HOME}"} {
		rest, ok := strings.CutPrefix(pattern, name)
		if !ok || rest != "" && rest[0] != '/' || len(homes) == 0 {
			continue
		}
		all := make([]string, len(homes))
		for i, home := range homes {
			all[i] = strings.TrimSuffix(home, "/") + rest
			if all[i] == "" {
				all[i] = "/"
			}
		}
		return all
	}
	return []string{pattern}
}

// String is the pattern as it was written.
func (p *Pattern) String() string { return p.source }

// Universal reports whether every text matches.
func (p *Pattern) Universal() bool { return p.any }

// Match reports whether the whole text matches.
func (p *Pattern) Match(text string) bool {
	for i := range p.alts {
		if p.alts[i].match(text, false) {
			return true
		}
	}
	return false
}

// MatchForm reports whether a text with holes matches whatever they hold: only a
// star takes in a hole.
func (p *Pattern) MatchForm(text string) bool {
	for i := range p.alts {
		if p.alts[i].match(text, true) {
			return true
		}
	}
	return false
}

// MayMatch reports whether there is content for the holes of text with which it
// matches. Every step takes one from budget; when that is used up the answer is
// true.
func (p *Pattern) MayMatch(text string, budget *int) bool {
	for i := range p.alts {
		if p.alts[i].may(text, budget) {
			return true
		}
	}
	return false
}

// First returns the bytes that a text can start with to match; nil if it may be
// any, or none.
func (p *Pattern) First() []byte {
	var all []byte
	for i := range p.alts {
		text := p.alts[i].all
		if text == "" || text[0] == '*' || text[0] == '?' {
			return nil
		}
		all = append(all, text[0])
	}
	return all
}
