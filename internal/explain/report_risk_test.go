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
