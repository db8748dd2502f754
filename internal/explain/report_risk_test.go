package explain

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"brainbox/launcher"
)

// TestNoWayOutInAHintToCopy has a program be denied what would let it out: each is told for
// itself, and what is harmless can still be copied.
func TestNoWayOutInAHintToCopy(t *testing.T) {
	trusted := func(path string) string {
		if below(path, "/opt/app/bin") || below("/opt/app/bin", path) {
			return "what the host runs"
		}
		return ""
	}
	r := &Report{Home: "/home/ada", Secret: secretByName, Trusted: trusted}
	for flag, risk := range map[string]string{
		"--rw /home/ada/.bashrc": "change what shells run", "--unix /run/docker.sock": "be root on this host", "--rw /srv/w": "",
	} {
		word, path := splitGrant(flag)
		s := refused(launcher.OpWrite, path, "", path, flag, Proven)
		if word == "" {
			s.Op, s.Path = launcher.OpUnix, "/run/docker.sock"
		}
		s.Judgement.Remedy.Risk = risk
		r.Saw(s)
	}
	for i := range 2 * manyFiles { // their folder holds more than they do
		name := fmt.Sprintf("/opt/app/%d", i)
		r.Saw(refused(launcher.OpWrite, name, "", name, "--rw "+name, Likely))
	}
	var out bytes.Buffer
	if err := r.Text(&out, 0); err != nil {
		t.Fatal(err)
	}
	alone, copied := 0, false
	for line := range strings.Lines(out.String()) {
		switch {
		case strings.Contains(line, "would allow"):
			copied = strings.Contains(line, "--rw /srv/w ")
			if strings.Contains(line, ".bashrc") || strings.Contains(line, "docker") {
				t.Errorf("a way out in a line to copy: %s", line)
			}
		case strings.Contains(line, "hint: ") && strings.Contains(line, "would let the program"):
			alone++
		}
	}
	if alone != 2 || !copied || strings.Contains(out.String(), "--rw /opt/app ") {
		t.Errorf("%d ways out are told of, want 2:\n%s", alone, out.String())
	}
}

// A program that asks for ever other secrets does not push the rest of the report away.
func TestAloneIsBounded(t *testing.T) {
	r := &Report{}
	for i := range 100 {
		name := fmt.Sprintf("/srv/%d", i)
		s := refused(launcher.OpWrite, name, "", name, "--rw "+name, Proven)
		s.Judgement.Remedy.Risk = "change what shells run"
		r.Saw(s)
	}
	for most, want := range map[int]int{Screen: shownFlags, 0: 100} {
		var out bytes.Buffer
		if err := r.Text(&out, most); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(out.String(), "hint: --rw"); got != want || strings.Contains(out.String(), "92 more are like these") != (most > 0) {
			t.Errorf("%d of %d hints:\n%s", got, want, out.String())
		}
	}
}
