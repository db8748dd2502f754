package main

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/launcher"
)

// A disagreement ends why with the status of a fault; what could not be tried does not.
func TestVerifiedLine(t *testing.T) {
	args := []string{"read", "a\nb"}
	refused := launcher.Judgement{Verdict: launcher.Refused}
	eacces := launcher.Tried{Made: true, Errno: unix.EACCES}
	_, err := verifiedLine(launcher.Verification{
		Agreement: launcher.Disagrees, Tried: eacces, Reason: "the plan says allowed and the kernel says EACCES",
	}, launcher.Judgement{Verdict: launcher.Allowed}, args)
	var r *launcher.Refusal
	if !errors.As(err, &r) || r.Status != 125 || !strings.HasSuffix(r.Message, "EACCES: this is a fault of brainbox") ||
		!strings.HasSuffix(r.Hint, `brainbox why --verify "read" "a\nb"`) {
		t.Errorf("%+v", err)
	}
	for want, c := range map[string]struct {
		said launcher.Verification
		j    launcher.Judgement
	}{
		"verified: the kernel agrees (EACCES)":                           {launcher.Verification{Agreement: launcher.Agrees, Tried: eacces}, refused},
		"verified: the kernel agrees (allowed)":                          {launcher.Verification{Agreement: launcher.Agrees, Tried: eacces}, launcher.Judgement{Verdict: launcher.Allowed}},
		"verified: the kernel agrees (the program finds something else)": {launcher.Verification{Agreement: launcher.Agrees, Tried: launcher.Tried{Made: true}}, refused},
		"verified: the kernel agrees (the caller is killed)":             {launcher.Verification{Agreement: launcher.Agrees}, refused},
		"unverified: why": {launcher.Verification{Reason: "why"}, refused},
	} {
		if got, err := verifiedLine(c.said, c.j, args); err != nil || got != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
}
