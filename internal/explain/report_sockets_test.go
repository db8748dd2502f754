package explain

import (
	"fmt"
	"slices"
	"syscall"
	"testing"

	"brainbox/launcher"
)

// Who wants a host tries both families of the Internet: that is one denial.
func TestReportJoinsInternetFamilies(t *testing.T) {
	r := &Report{}
	for _, call := range []string{"socket(AF_INET6)", "socket(AF_INET)", "socket(AF_INET)", "socket(AF_INET6, SOCK_DGRAM)", "socket(AF_UNIX)"} {
		saw(r, 1, &Seen{
			Operation: launcher.Operation{Op: launcher.OpSyscall, Call: call}, Certainty: Proven, Call: call,
			Judgement: launcher.Judgement{Verdict: launcher.Refused, Errno: syscall.EPERM, Remedy: launcher.Remedy{Flag: "--net ports --connect-tcp PORT"}},
		})
	}
	var got []string
	for _, d := range r.Denials() {
		got = append(got, fmt.Sprintf("%s ×%d", d.Operation.Call, d.Count))
	}
	want := []string{"socket(AF_INET and AF_INET6) ×3", "socket(AF_INET6, SOCK_DGRAM) ×1", "socket(AF_UNIX) ×1"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	// A word that stands for another is nothing to type.
	for _, s := range r.Suggestions() {
		if s.typable() {
			t.Errorf("%q is suggested to be typed", s.Flag)
		}
	}
}
