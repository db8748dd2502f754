package envfilter

import (
	"slices"
	"strings"
)

// Scrub returns env without the variables that names lists and without those
// whose value contains one of secrets, and the names it left out, sorted. An
// empty secret is ignored. It is what a session with a bridge applies last
// (contract bridge-and-gate, section A.9), whatever was admitted before.
func Scrub(env, names, secrets []string) (kept, dropped []string) {
	for _, e := range parse(env) {
		if slices.Contains(names, e.name) || holdsAny(e.value, secrets) {
			dropped = append(dropped, e.name)
			continue
		}
		kept = append(kept, e.name+"="+e.value)
	}
	return kept, dropped
}

func holdsAny(value string, secrets []string) bool {
	for _, s := range secrets {
		if s != "" && strings.Contains(value, s) {
			return true
		}
	}
	return false
}
