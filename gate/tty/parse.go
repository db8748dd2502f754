package tty

import (
	"crypto/rand"
	"strings"
	"time"

	"brainbox/gate/prompt"
)

// letters of a word: those that are not taken for one another, and no vowels, so that no
// word means anything and none is an answer.
const letters = "bcdfghjkmpqrstvwxz"

// newWord returns four random letters. They need not be secret for long: the program that
// would like to know them is held, and the next prompt has others.
func newWord() string {
	word := make([]byte, 0, 4)
	var b [1]byte
	for len(word) < cap(word) {
		_, _ = rand.Read(b[:])
		// the last incomplete round is thrown away: each letter is as likely
		if n := int(b[0]); n < 256/len(letters)*len(letters) {
			word = append(word, letters[n%len(letters)])
		}
	}
	return string(word)
}

// meaning is what a line is.
type meaning uint8

const (
	unclear meaning = iota
	answered
	more
)

// parse reads what was typed. What is not exactly an answer is none.
func parse(line, word string, longer bool) (prompt.Answer, meaning) {
	line = strings.TrimSpace(line)
	first, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	switch {
	case line == "more":
		return prompt.Answer{}, more
	case first == "n" || first == "no":
		return prompt.Answer{Decision: prompt.Deny, Reason: strings.ToValidUTF8(rest, "?")}, answered
	case word == "" || first != word:
		return prompt.Answer{}, unclear
	case rest == "":
		return prompt.Answer{Decision: prompt.Approve}, answered
	case !longer:
		return prompt.Answer{}, unclear
	}
	scope, ok := parseScope(strings.Fields(rest))
	if !ok {
		return prompt.Answer{}, unclear
	}
	return prompt.Answer{Decision: prompt.Approve, Scope: scope}, answered
}

// parseScope reads run or a time, and all for every agent.
func parseScope(words []string) (prompt.Scope, bool) {
	var s prompt.Scope
	if len(words) == 2 && words[1] == "all" {
		s.WholeSession, words = true, words[:1]
	}
	if len(words) != 1 {
		return s, false
	}
	if words[0] == "run" {
		s.Lasts = prompt.ForRun
		return s, true
	}
	d, err := time.ParseDuration(words[0])
	s.Lasts, s.For = prompt.ForTime, d
	return s, err == nil && d >= time.Second && d <= prompt.MostFor
}

// question is what is asked below the facts. Without a word there is nothing to approve
// yet: something is folded, and has to be opened first.
func question(word string, longer bool) string {
	if word == "" {
		return "not all of it is shown: more to see it all and to be asked, n to deny (n why)"
	}
	if !longer {
		return "type " + word + " to allow it once, n to deny (n why), more to see all of it"
	}
	return "type " + word + " to allow it once, " + word + " run until this run ends, " + word +
		" 10m for a time (all behind it: for every agent), n to deny (n why), more to see all of it"
}
