package notify

import (
	"strings"
	"testing"
	"unicode"
)

// FuzzParseStatus: a process with SIGKILL pending is gone, whatever else is in its status, and
// without a pending signal nothing interrupts it.
func FuzzParseStatus(f *testing.F) {
	f.Add("Name:\tsh\nState:\tS (sleeping)\nTgid:\t7\nThreads:\t1\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000004000\nSigBlk:\t0000000000004000\n")
	f.Add("State:\tT (stopped)\nSigPnd:\t0000000000000100\n")
	f.Add("SigPnd:\tffffffffffffffff0\nThreads: -1\nState:")
	f.Fuzz(func(t *testing.T, text string) {
		s := parseStatus(text)
		if s.own|s.shared == 0 && s.interrupts() != 0 {
			t.Errorf("nothing is pending, and %v interrupts", s.interrupts())
		}
		if strings.ContainsFunc(text, unicode.IsControl) && !strings.HasSuffix(text, "\n") {
			text += "\n" // the last line is a line of its own
		}
		if s := parseStatus(text + "\nSigPnd:\t0000000000000100\n"); s.interrupts() != Gone {
			t.Errorf("SIGKILL is pending, and %v interrupts", s.interrupts())
		}
	})
}
