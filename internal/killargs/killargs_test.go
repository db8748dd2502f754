package killargs

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

const testPidMax = 32768

func TestParseRefuses(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want string // part of the message
	}{
		{"bk/P3 HUP", []string{"1234", "HUP"}, "signal"},
		{"bk/P3 lower case", []string{"1234", "term"}, "signal"},
		{"bk/P3 SIG prefix", []string{"1234", "SIGTERM"}, "signal"},
		{"bk/P3 number", []string{"1234", "15"}, "signal"},
		{"bk/P3 empty", []string{"1234", ""}, "signal"},
		{"bk/P3 blank after the word", []string{"1234", "TERM "}, "signal"},
		{"bk/P3 both words", []string{"1234", "TERM KILL"}, "signal"},
		{"bk/P4 one", []string{"1", "TERM"}, "below 2"},
		{"bk/P4 zero", []string{"0", "TERM"}, "decimal"},
		{"bk/P4 minus five", []string{"-5", "TERM"}, "decimal"},
		{"bk/P4 minus one", []string{"-1", "TERM"}, "decimal"},
		{"bk/P5 wraps to one in 32 bits (H2)", []string{"4294967297", "TERM"}, "pid_max"},
		{"bk/P5 2^31", []string{"2147483648", "TERM"}, "pid_max"},
		{"bk/P5 twenty digits", []string{"99999999999999999999", "TERM"}, "pid_max"},
		{"bk/P5 2^64 + 2", []string{"18446744073709551618", "TERM"}, "pid_max"},
		{"bk/P5 one above pid_max", []string{strconv.Itoa(testPidMax + 1), "TERM"}, "pid_max"},
		{"bk/P6 leading blank (H3)", []string{" 12", "TERM"}, "decimal"},
		{"bk/P6 plus (H3)", []string{"+12", "TERM"}, "decimal"},
		{"bk/P6 hexadecimal", []string{"0x10", "TERM"}, "decimal"},
		{"bk/P6 trailing letter", []string{"12a", "TERM"}, "decimal"},
		{"bk/P6 fraction", []string{"1.5", "TERM"}, "decimal"},
		{"bk/P6 empty", []string{"", "TERM"}, "decimal"},
		{"bk/P6 leading zero", []string{"012", "TERM"}, "decimal"},
		{"bk/P6 trailing newline", []string{"12\n", "TERM"}, "decimal"},
		{"bk/P6 underscore", []string{"1_2", "TERM"}, "decimal"},
		{"bk/P6 other digits", []string{"١٢", "TERM"}, "decimal"},
		{"bk/P6 NUL", []string{"12\x00", "TERM"}, "decimal"},
		{"bk/P7 no arguments", nil, "exactly two"},
		{"bk/P7 one argument", []string{"1234"}, "exactly two"},
		{"bk/P7 three arguments", []string{"1234", "TERM", ""}, "exactly two"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Parse(tt.args, testPidMax)
			if err == nil {
				t.Fatalf("Parse(%q) = %+v, want an error", tt.args, got)
			}
			if !strings.Contains(err.Error(), tt.want) || strings.ContainsAny(err.Error(), "\n\x00") {
				t.Errorf("Parse(%q) = %q, want one line with %q", tt.args, err, tt.want)
			}
			if got != (Request{}) {
				t.Errorf("Parse(%q) = %+v beside its error, want nothing", tt.args, got)
			}
		})
	}
}

func TestParseAccepts(t *testing.T) {
	tests := []struct {
		name   string
		args   []string
		pidMax int
		want   Request
	}{
		{"bk/P1", []string{"1234", "TERM"}, testPidMax, Request{1234, unix.SIGTERM}},
		{"bk/P2 KILL", []string{"1234", "KILL"}, testPidMax, Request{1234, unix.SIGKILL}},
		{"bk/P2 INT", []string{"1234", "INT"}, testPidMax, Request{1234, unix.SIGINT}},
		{"lowest", []string{"2", "TERM"}, testPidMax, Request{2, unix.SIGTERM}},
		{"pid_max itself", []string{"32768", "TERM"}, testPidMax, Request{32768, unix.SIGTERM}},
		{"unknown pid_max is the kernel's limit", []string{"4194304", "TERM"}, 0, Request{PidMaxLimit, unix.SIGTERM}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Parse(tt.args, tt.pidMax)
			if err != nil {
				t.Fatalf("Parse(%q) = %v, want no error", tt.args, err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Parse(%q) (-want +got):\n%s", tt.args, diff)
			}
		})
	}
	if _, err := Parse([]string{"4194305", "TERM"}, 1<<40); err == nil {
		t.Error("a pid_max beyond the kernel's limit widened the range")
	}
}

func FuzzParse(f *testing.F) {
	for _, pgid := range []string{"1234", "1", "0", "-1", "4294967297", " 12", "+12", "0x10", "", "4194304", "4194305"} {
		f.Add(pgid, "TERM")
		f.Add(pgid, "HUP")
	}
	f.Fuzz(func(t *testing.T, pgid, word string) {
		req, err := Parse([]string{pgid, word}, PidMaxLimit)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r") {
				t.Errorf("Parse(%q, %q) = %q, not one line", pgid, word, err)
			}
			return
		}
		// One spelling only: what was read, written again, is what was given.
		words := map[unix.Signal]string{unix.SIGTERM: "TERM", unix.SIGKILL: "KILL", unix.SIGINT: "INT"}
		if strconv.Itoa(req.PGID) != pgid || words[req.Signal] != word {
			t.Errorf("Parse(%q, %q) = %+v, a second spelling", pgid, word, req)
		}
		if req.PGID < 2 || req.PGID > PidMaxLimit {
			t.Errorf("Parse(%q, %q) = %+v, out of range", pgid, word, req)
		}
	})
}
