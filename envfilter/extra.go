package envfilter

import "strings"

// ParseExtra reads the value of BRAIN_UI_SUBPROCESS_ENV_EXTRA: names between
// commas, trimmed. Empty and malformed names and the variable's own name are
// dropped, and of equal names the first is kept. Time is linear in len(value).
func ParseExtra(value string) []string {
	list := []string{}
	var seen map[string]struct{}
	for part := range strings.SplitSeq(value, ",") {
		name := strings.TrimSpace(part)
		if !ValidName(name) || name == extraControl {
			continue
		}
		if seen == nil {
			seen = make(map[string]struct{})
		}
		if _, dup := seen[name]; dup {
			continue
		}
		seen[name] = struct{}{}
		list = append(list, name)
	}
	return list
}
