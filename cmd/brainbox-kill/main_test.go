package main

import (
	"errors"
	"strings"
	"testing"

	"brainbox/internal/setuid"
	"brainbox/internal/version"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// fakeSystem counts what run does.
type fakeSystem struct {
	system
	out, errs strings.Builder
	begun     int
	dropped   []target
	signalled []int
}

func newFakeSystem(caller uint32) *fakeSystem {
	f := &fakeSystem{}
	f.system = system{
		start: func() setuid.Start {
			return setuid.Start{RUID: caller, EUID: caller, SUID: caller, RGID: caller, EGID: caller, SGID: caller}
		},
		begin:    func() { f.begun++ },
		readable: func() bool { return true },
		config:   func() (helperConfig, error) { return testConfig(), nil },
		accounts: testAccounts,
		pidMax:   func() int { return 32768 },
		drop:     func(to target) error { f.dropped = append(f.dropped, to); return nil },
		kill: func(pgid int, sig unix.Signal) error {
			f.signalled = append(f.signalled, pgid, int(sig))
			return nil
		},
		stdout: &f.out, stderr: &f.errs,
	}
	return f
}

func TestRunSignals(t *testing.T) {
	tests := []struct {
		name   string
		caller uint32
		word   string
		sig    unix.Signal
	}{
		{"bk/P1", hostUID, "TERM", unix.SIGTERM},
		{"bk/P2 KILL", 0, "KILL", unix.SIGKILL},
		{"bk/P2 INT", 0, "INT", unix.SIGINT},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFakeSystem(tt.caller)
			if got := run([]string{"1234", tt.word}, f.system); got != 0 {
				t.Fatalf("run = %d, %s", got, f.errs.String())
			}
			want := []target{{change: true, uid: agentUID, gid: 20002}}
			if diff := cmp.Diff(want, f.dropped, cmp.AllowUnexported(target{})); diff != "" {
				t.Errorf("drops (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]int{1234, int(tt.sig)}, f.signalled); diff != "" {
				t.Errorf("signals (-want +got):\n%s", diff)
			}
			if f.out.Len()+f.errs.Len() != 0 {
				t.Errorf("a success speaks: %q %q", f.out.String(), f.errs.String())
			}
		})
	}
}

func TestRunRefuses(t *testing.T) {
	failing := errors.New("first line\nsecond line")
	tests := []struct {
		name   string
		caller uint32
		args   []string
		change func(*fakeSystem)
	}{
		{"bk/P3", hostUID, []string{"1234", "HUP"}, nil},
		{"bk/P4", hostUID, []string{"-1", "TERM"}, nil},
		{"bk/P5", hostUID, []string{"4294967297", "TERM"}, nil},
		{"bk/P6", hostUID, []string{"+12", "TERM"}, nil},
		{"bk/P7", hostUID, nil, nil},
		{"bk/P7 a flag and a call", hostUID, []string{"--help", "TERM"}, nil},
		{"unknown flag", hostUID, []string{"-h"}, nil},
		{"bk/P8", agentUID, []string{"1234", "TERM"}, nil},
		{"bk/P9", thirdUID, []string{"1234", "TERM"}, nil},
		{"set-gid start", hostUID, []string{"1234", "TERM"}, func(f *fakeSystem) {
			f.start = func() setuid.Start {
				return setuid.Start{RUID: hostUID, EUID: hostUID, SUID: hostUID, EGID: 1, Secure: true}
			}
		}},
		{"set-uid start without an identity", hostUID, []string{"1234", "TERM"}, func(f *fakeSystem) {
			f.start = func() setuid.Start { return setuid.Start{RUID: hostUID, Secure: true, Permitted: ^uint64(0)} }
			f.config = func() (helperConfig, error) { return helperConfig{}, nil }
		}},
		{"policy unreadable", 0, []string{"1234", "TERM"}, func(f *fakeSystem) {
			f.config = func() (helperConfig, error) { return helperConfig{}, failing }
		}},
		{"drop fails", 0, []string{"1234", "TERM"}, func(f *fakeSystem) {
			f.drop = func(target) error { return failing }
		}},
		{"bk/P10, bk/P11 kill fails", 0, []string{"1234", "TERM"}, func(f *fakeSystem) {
			f.kill = func(int, unix.Signal) error { return unix.ESRCH }
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFakeSystem(tt.caller)
			if tt.change != nil {
				tt.change(f)
			}
			if got := run(tt.args, f.system); got != 126 {
				t.Errorf("run(%q) = %d, want 126", tt.args, got)
			}
			if len(f.signalled) != 0 {
				t.Errorf("run(%q) signalled %v", tt.args, f.signalled)
			}
			text := f.errs.String()
			if !strings.HasPrefix(text, "brainbox-kill: ") || strings.Count(text, "\n") != 1 || f.out.Len() != 0 {
				t.Errorf("run(%q) says %q and %q, want one line on standard error", tt.args, text, f.out.String())
			}
		})
	}
}

// TestRunVeilsThePolicy: root reads it for a caller who may not.
func TestRunVeilsThePolicy(t *testing.T) {
	for _, readable := range []bool{false, true} {
		f := newFakeSystem(hostUID)
		f.start = func() setuid.Start { return setuid.Start{RUID: hostUID, Secure: true, Permitted: ^uint64(0)} }
		f.config = func() (helperConfig, error) { return helperConfig{}, errors.New("s3cret") }
		f.readable = func() bool { return readable }
		if got := run([]string{"1234", "TERM"}, f.system); got != 126 || strings.Contains(f.errs.String(), "s3cret") != readable {
			t.Errorf("run = %d, %q, where the caller can read the policy: %v", got, f.errs.String(), readable)
		}
		if f.begun != 1 {
			t.Errorf("the limits were raised %d times, want once", f.begun)
		}
	}
}

func TestRunHelp(t *testing.T) {
	for arg, want := range map[string]string{
		"--help": "usage: brainbox-kill PGID", "--version": "brainbox-kill " + version.String(),
	} {
		f := newFakeSystem(thirdUID)
		if got := run([]string{arg}, f.system); got != 0 || !strings.HasPrefix(f.out.String(), want) || f.errs.Len() != 0 {
			t.Errorf("run(%q) = %d, %q, %q", arg, got, f.out.String(), f.errs.String())
		}
	}
}
