package wild

import "unicode/utf8"

// may reports whether the pattern matches s for some content of its holes. It
// walks s once with the set of places in the pattern that can be reached: bit i
// says that the first i bytes of the pattern are behind.
func (g *glob) may(s string, budget *int) bool {
	p := g.all
	here, next := make([]bool, len(p)+1), make([]bool, len(p)+1)
	here[0] = true
	skipStars(p, here)
	for at := 0; at < len(s); {
		w := 1
		if s[at] != Hole {
			_, w = utf8.DecodeRuneInString(s[at:])
		}
		if *budget -= len(p) + 1; *budget < 0 {
			return true
		}
		if s[at] == Hole {
			fill(here)
		} else {
			w = step(p, s[at:at+w], here, next)
			here, next = next, here
		}
		at += w
	}
	return here[len(p)]
}

// skipStars adds what is reached by stars that take in nothing.
func skipStars(p string, set []bool) {
	for i := range len(p) {
		if set[i] && p[i] == '*' {
			set[i+1] = true
		}
	}
}

// fill is a hole: any content can lead from the first place to every later one.
func fill(set []bool) {
	on := false
	for i := range set {
		on = on || set[i]
		set[i] = on
	}
}

// step takes in one character, all of it or, where the pattern's literal is
// compared, its bytes one after the other; it returns how many bytes it took.
func step(p, char string, here, next []bool) int {
	clear(next)
	for i := range len(p) {
		if !here[i] {
			continue
		}
		switch {
		case p[i] == '*':
			next[i] = true
		case p[i] == '?':
			next[i+1] = true
		case len(p)-i >= len(char) && p[i:i+len(char)] == char:
			next[i+len(char)] = true
		}
	}
	skipStars(p, next)
	return len(char)
}
