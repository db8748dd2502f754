package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brainbox/internal/netask"
	"brainbox/proxy/allow"
)

// told adds events, and returns what the end of a run says of them.
func told(events ...netask.Event) string {
	var r refusals
	for i := range events {
		r.add(&events[i])
	}
	var out bytes.Buffer
	r.tell(&out)
	return out.String()
}

func refused(host string, port uint16, reason string) netask.Event {
	return netask.Event{Path: "connect", Host: host, Port: port, Reason: reason, Rule: -1}
}

func TestRefusalsTell(t *testing.T) {
	for name, c := range map[string]struct {
		events []netask.Event
		want   string
	}{
		"nothing": {},
		"what is allowed, or ends": {
			[]netask.Event{{Path: "connect", Host: "ok.test", Port: 443}, {Path: "connect", Host: "ok.test", Closed: true}, refused("ok.test", 443, "gone")}, "",
		},
		"what is lost": {
			[]netask.Event{{Lost: 3}, refused("ok.test", 443, "unreachable"), {Lost: 4}},
			"brainbox: not reached: ok.test:443: nothing answers there\n" +
				"brainbox: 7 decisions about the network are not known: there were too many at once\n",
		},
		"the most frequent first": {
			[]netask.Event{refused("once.test", 443, "not_listed"), refused("evil.test", 443, "not_listed"), refused("evil.test", 443, "not_listed")},
			"brainbox: refused: evil.test:443: not listed (2 times)\nbrainbox: refused: once.test:443: not listed\n" +
				"brainbox: hint: --allow-host evil.test:443\n",
		},
		"an address": {
			[]netask.Event{refused("::1", 22, "literal")},
			"brainbox: refused: [::1]:22: an address that is not listed\nbrainbox: hint: --allow-host [::1]:22\n",
		},
		"a private one": {
			[]netask.Event{refused("ok.test", 443, "private")},
			"brainbox: refused: ok.test:443: it leads to an address that is not public and not listed\n" +
				"brainbox: hint: the address that ok.test leads to has to be listed too: --allow-host ADDRESS:443\n",
		},
		"what no entry would allow": {
			[]netask.Event{refused("ok.test", 443, "server_name"), refused("ok.test", 443, "unreachable")},
			"brainbox: refused: ok.test:443: what the program sent is no TLS greeting for this name\n" +
				"brainbox: not reached: ok.test:443: nothing answers there\n",
		},
		"a port of the program's own": {
			[]netask.Event{refused("db.test", 5432, "port_taken")},
			"brainbox: not reached: db.test:5432: the program itself listens on port 5432 at every address\n" +
				"brainbox: hint: let the program listen on port 5432 at 127.0.0.1 alone\n",
		},
		"what named no host": {
			[]netask.Event{refused("", 0, "malformed"), refused("", 0, "malformed"), refused("", 0, "busy")},
			"brainbox: refused: a request without a name: it is no proper request (2 times)\n" +
				"brainbox: not reached: a request without a name: too much at once\n",
		},
		"a name that is not one is shown, and not to be typed": {
			[]netask.Event{refused("x\x1b]0;\n$(reboot).test", 443, "not_listed")},
			"brainbox: refused: x\\x1b]0;\\n$(reboot).test:443: not listed\n",
		},
	} {
		if diff := cmp.Diff(c.want, told(c.events...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The program chooses the names: what is kept and what is shown of them is bounded.
func TestRefusalsAreBounded(t *testing.T) {
	var r refusals
	for i := range 3 * keptRefusals {
		e := refused(fmt.Sprintf("h%d.test", i), 443, "not_listed")
		r.add(&e)
	}
	if len(r.order) != keptRefusals || len(r.count) != keptRefusals {
		t.Errorf("%d names are kept", len(r.order))
	}
	var out bytes.Buffer
	r.tell(&out)
	more := fmt.Sprintf("… and %d more\n", 3*keptRefusals-shownRefusals)
	if n := strings.Count(out.String(), "\n"); n != shownRefusals+2 || !strings.Contains(out.String(), more) {
		t.Errorf("%d lines:\n%s", n, &out)
	}
}

// Each reason but that of a program that left has words of its own, and the manual's list is
// the rules' one.
func TestReasonsHaveWords(t *testing.T) {
	listed := make([]string, 0, len(allow.Reasons()))
	seen := map[string]allow.Reason{}
	for _, reason := range allow.Reasons() {
		listed = append(listed, string(reason))
		r := refusal{"ok.test", 443, reason}
		why := r.why()
		if other, ok := seen[why]; ok || reason != allow.Gone && why == string(reason) {
			t.Errorf("%s: %q, as %q", reason, why, other)
		}
		seen[why] = reason
	}
	text, err := os.ReadFile("../../docs/interfaces.md")
	if err != nil {
		t.Fatal(err)
	}
	want := "Reasons: `" + strings.Join(listed, " ") + "`"
	if !strings.Contains(strings.Join(strings.Fields(string(text)), " "), want) {
		t.Errorf("docs/interfaces.md does not have %q", want)
	}
}
