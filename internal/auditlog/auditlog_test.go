package auditlog

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brainbox/internal/explain"
	"brainbox/launcher"
)

// recorded gives the records of a session, of three sandboxes, as the kernel wrote them.
func recorded(t testing.TB, each func(kind uint16, text []byte)) {
	t.Helper()
	text, err := os.ReadFile("testdata/session.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		kind, rest, _ := bytes.Cut(line, []byte(" "))
		n, err := strconv.ParseUint(string(kind), 10, 16)
		if err != nil {
			t.Fatal(err)
		}
		each(uint16(n), rest)
	}
}

func TestCollectTellsRunsApart(t *testing.T) {
	var c collector
	recorded(t, c.add)
	if list, open := c.of(20601, "/usr/bin/none"); len(list) != 0 || open {
		t.Errorf("another program's: %+v, %t", list, open)
	}
	if list, open := c.of(1, "/usr/bin/brainbox"); len(list) != 0 || open {
		t.Errorf("another process's: %+v, %t", list, open)
	}
	got, open := c.of(20601, "/usr/bin/brainbox")
	if open || c.broken != 0 {
		t.Errorf("open %t, %d broken", open, c.broken)
	}
	const id = 0x12f245466
	want := []Event{
		{Accesses: []Access{{id, []string{"fs.read_file"}, "/etc/hostname", "vda", 611, 0}}, PID: 20602, Program: "cat", Count: 2},
		{Accesses: []Access{{id, []string{"fs.make_reg"}, "/tmp/a b ä", "vda", 246947, 0}}, PID: 20601, Program: "a b c", Count: 1},
		{Accesses: []Access{
			{id, []string{"fs.remove_file", "fs.refer"}, "/tmp/wt", "vda", 9977919, 0},
			{id, []string{"fs.make_reg", "fs.refer"}, "/tmp", "vda", 246947, 0},
		}, PID: 20603, Program: "mv", Count: 1},
		{Accesses: []Access{{id, []string{"scope.signal"}, "", "", 0, 0}}, PID: 20601, Program: "sh", Count: 1},
		{Accesses: []Access{{id, []string{"net.connect_tcp"}, "", "", 0, 443}}, Count: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestCollectIsBounded(t *testing.T) {
	var c collector
	for i := range keptEvents + 50 {
		c.add(typeAccess, []byte("audit(1.000:"+strconv.Itoa(i+1)+`): domain=1 blockers=fs.read_file path="/x/`+strconv.Itoa(i)+`" dev="a" ino=1`))
		c.add(typeDomain, []byte("audit(1.000:"+strconv.Itoa(i+1)+"): domain="+strconv.FormatInt(int64(i), 16)+` status=allocated mode=enforcing pid=7 uid=0 exe="/b" comm="b"`))
	}
	c.flush()
	if c.kept != keptEvents || c.unkept != 50 || len(c.domains) != keptEvents {
		t.Errorf("kept %d, not %d; %d domains", c.kept, c.unkept, len(c.domains))
	}
}

func TestParseRefusesWhatTheKernelDoesNotWrite(t *testing.T) {
	const stamp = "audit(1.000:1): "
	if _, _, err := parse([]byte(stamp + `a=1 b="x y" c=`)); err != nil {
		t.Fatalf("a proper record: %v", err)
	}
	for _, text := range []string{
		"", "audit", "audit(1.000:1):a=1", "audit(1:1): a=1", "audit(.1:1): a=1", "audit(1.000:-1): a=1",
		"audit(1.000:99999999999999999999): a=1", stamp + "a", stamp + "=1", stamp + `a="x`, stamp + `a="x"y=1`,
		stamp + "a=1  b=2", stamp + "a=1 a=2", stamp + "a\x1b=1", stamp + "a=\x1b", stamp + "a=\"\x01\"", stamp + "a b=1",
	} {
		if _, fields, err := parse([]byte(text)); !errors.Is(err, errForm) {
			t.Errorf("parse(%q) = %v, %v", text, fields, err)
		}
	}
	for _, text := range []string{
		"blockers=fs.read_file", "domain=1", "domain=x blockers=fs.read_file", `domain="1" blockers=fs.read_file`,
		"domain=1 blockers=", "domain=1 blockers=fs", "domain=1 blockers=fs.", "domain=1 blockers=fs.A", "domain=1 blockers=fs.read_file,",
		"domain=1 blockers=fs.read_file path=2", "domain=1 blockers=fs.read_file path=2F00", "domain=1 blockers=fs.read_file path=/etc",
		"domain=1 blockers=fs.read_file path=", "domain=1 blockers=net.bind_tcp src=65536", "domain=1 blockers=fs.read_file ino=-1",
	} {
		_, fields, err := parse([]byte(stamp + text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if a, err := parseAccess(fields); !errors.Is(err, errField) {
			t.Errorf("parseAccess(%q) = %+v, %v", text, a, err)
		}
	}
	for _, text := range []string{"domain=1", "domain=1 status=x", "domain=1 status=allocated pid=1", "domain=1 status=deallocated"} {
		if _, fields, _ := parse([]byte(stamp + text)); fields != nil {
			if d, err := parseDomain(fields); !errors.Is(err, errField) {
				t.Errorf("parseDomain(%q) = %+v, %v", text, d, err)
			}
		}
	}
}

// seen is what the observer has told of before.
func seen(op launcher.Op, name, right, place string) *explain.Seen {
	return &explain.Seen{
		Operation: launcher.Operation{Op: op, Path: name}, Certainty: explain.Likely,
		Judgement: launcher.Judgement{Verdict: launcher.Refused, Right: right, Place: place, Errno: syscall.EACCES},
	}
}

func TestMerge(t *testing.T) {
	var c collector
	recorded(t, c.add)
	list, _ := c.of(20601, "/usr/bin/brainbox")
	r := &explain.Report{}
	for _, s := range []*explain.Seen{
		seen(launcher.OpRead, "/etc/hostname", "read_file", "/etc/hostname"),
		seen(launcher.OpCreate, "/tmp/a b ä/f", "make_reg", "/tmp/a b ä"),
		seen(launcher.OpRename, "/tmp/wt/x", "refer", "/tmp"),
		seen(launcher.OpRead, "/etc/nested", "read_file", "/etc/nested"),
		seen(launcher.OpWrite, "/etc/hostname", "write_file", "/etc/hostname"),
	} {
		r.Saw(s)
	}
	asked := map[string]bool{}
	Merge(r, list, func(o launcher.Operation) launcher.Judgement {
		asked[o.Path] = true
		return launcher.Judgement{
			Verdict: launcher.Refused, Right: "connect_tcp", Errno: syscall.EACCES,
			Remedy: launcher.Remedy{Flag: "--connect-tcp " + strconv.Itoa(int(o.Port))},
		}
	})
	type line struct {
		word, path, right string
		certainty         explain.Certainty
		flag              string
	}
	var got []line
	for _, d := range r.Denials() {
		got = append(got, line{d.Word(), d.Path, d.Judgement.Right, d.Certainty, d.Judgement.Remedy.Flag})
	}
	want := []line{
		{"connect", "", "connect_tcp", explain.Proven, "--connect-tcp 443"},
		{"read", "/etc/hostname", "read_file", explain.Proven, ""},
		{"create", "/tmp/a b ä/f", "make_reg", explain.Proven, ""},
		{"rename", "/tmp/wt/x", "refer", explain.Proven, ""},
		{"syscall", "", "signal", explain.Proven, ""},
		{"read", "/etc/nested", "read_file", explain.Likely, ""},
		{"write", "/etc/hostname", "write_file", explain.Likely, ""},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(line{})); diff != "" {
		t.Errorf("denials (-want +got):\n%s", diff)
	}
	if len(asked) != 1 {
		t.Errorf("the plan was asked of %v, want the port alone", asked)
	}
}

// TestMergeNamesTheFolder is for what nobody else has seen: the kernel names no file then.
func TestMergeNamesTheFolder(t *testing.T) {
	r := &explain.Report{}
	list := []Event{{Accesses: []Access{{Domain: 1, Blockers: []string{"fs.make_reg"}, Path: "/srv"}}, Count: 3, PID: 7, Program: "cp"}}
	Merge(r, list, func(o launcher.Operation) launcher.Judgement {
		if o.Op != launcher.OpCreate || o.Path != "/srv/new" || o.Kind != launcher.KindRegular {
			t.Errorf("asked of %+v", o)
		}
		return launcher.Judgement{Verdict: launcher.Refused, Right: "make_reg", Place: "/srv", Errno: syscall.EACCES, Remedy: launcher.Remedy{Flag: "--rw /srv"}}
	})
	var out strings.Builder
	if err := r.Text(&out, 0); err != nil {
		t.Fatal(err)
	}
	want := "brainbox:   create something in \"/srv\"  make_reg  EACCES  3 times, first by \"cp\" (7)  → --rw /srv\n"
	if !strings.Contains(out.String(), want) {
		t.Errorf("got\n%swant the line\n%s", out.String(), want)
	}
}

// TestMergeSaysWhereThePlanDisagrees has the kernel refuse what the plan allows.
func TestMergeSaysWhereThePlanDisagrees(t *testing.T) {
	r := &explain.Report{}
	list := []Event{{Accesses: []Access{{Domain: 1, Blockers: []string{"fs.later_word"}, Path: "/x"}}, Count: 1}, {
		Accesses: []Access{{Domain: 1, Blockers: []string{"fs.read_file"}, Path: "/y"}}, Count: 1,
	}}
	Merge(r, list, func(launcher.Operation) launcher.Judgement { return launcher.Judgement{Verdict: launcher.Allowed} })
	got := r.Denials()
	if len(got) != 2 || got[0].Word() != "syscall" || got[0].Judgement.Right != "later_word" || got[1].Judgement.Reason != disagrees {
		t.Errorf("denials: %+v", got)
	}
}

func FuzzParse(f *testing.F) {
	recorded(f, func(kind uint16, text []byte) { f.Add(kind, bytes.TrimSpace(text)) })
	f.Fuzz(func(t *testing.T, kind uint16, text []byte) {
		var c collector
		c.add(kind, text)
		c.add(kind, text)
		c.flush()
		for id, list := range c.events {
			for i := range list {
				for _, a := range list[i].Accesses {
					if a.Domain != id || a.Path != "" && a.Path[0] != '/' || strings.Contains(a.Path, "\x00") || len(a.Blockers) == 0 {
						t.Errorf("%q: %+v", text, a)
					}
				}
				r := &explain.Report{}
				Merge(r, list, nil)
				if r.Tally().Operations == 0 && len(r.Denials()) == 0 {
					t.Errorf("%q: no denial of %+v", text, list[i])
				}
			}
		}
	})
}
