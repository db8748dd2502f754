package proxy

import (
	"strings"
	"testing"

	"brainbox/proxy/allow"
)

// TestRefusalLine: nothing of a name reaches a terminal raw.
func TestRefusalLine(t *testing.T) {
	for _, reason := range []allow.Reason{
		allow.Malformed, allow.NotListed, allow.PortClosed, allow.Literal, allow.Private, allow.Unresolved,
		allow.Unreachable, allow.ServerName, allow.Busy, allow.Itself, allow.Gone,
	} {
		line := refusalLine(&refusal{reason, "a\x1b[2K\r\nb\u202e\xff", 80})
		if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r > '~' }) || !strings.Contains(line, `"a\x1b[2K\r\nb\u202e\xff"`) {
			t.Errorf("%s: %q", reason, line)
		}
	}
}
