package explain

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brainbox/internal/strictjson"
	"brainbox/launcher"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// refused is one operation that a plan refuses.
func refused(op launcher.Op, name, right, place, remedy string, c Certainty) *Seen {
	word, _, _ := strings.Cut(remedy, " ")
	j := launcher.Judgement{
		Verdict: launcher.Refused, Right: right, Place: place, Errno: syscall.EACCES, Clause: "files",
		Reason: "nothing grants it", Remedy: launcher.Remedy{Flag: remedy},
	}
	if _, granted := splitGrant(remedy); granted != "" {
		j.Remedy.Line = grantLine(word, granted)
	}
	return &Seen{Operation: launcher.Operation{Op: op, Path: name}, Judgement: j, Certainty: c, Call: "openat"}
}

func read(name string, c Certainty) *Seen {
	return refused(launcher.OpRead, name, "read_file", name, "--ro "+shellWord(name), c)
}

// secretByName stands for launcher.Facts.Secret.
func secretByName(name string) string {
	for _, word := range []string{"/.ssh", "/.env", "/.netrc", "/.config"} {
		if strings.Contains(name, word) {
			return "keys"
		}
	}
	return ""
}

func saw(r *Report, n int, s *Seen) {
	for range n {
		r.Saw(s)
	}
}

// sample has one of each kind.
func sample() *Report {
	r := &Report{Home: "/home/ada", Secret: secretByName}
	allowed := read("/usr/lib/x", Proven)
	allowed.Judgement.Verdict = launcher.Allowed
	moot := read("/etc/none", Proven)
	moot.Moot = true
	undecided := read("/etc/maybe", Unknown)
	undecided.Judgement = launcher.Judgement{}
	saw(r, 3, allowed)
	saw(r, 3, moot)
	saw(r, 2, undecided)
	saw(r, 2, read("/etc/foo", Proven))
	saw(r, 12, refused(launcher.OpCreate, "/srv/data/out.txt", "make_reg", "/srv/data", "--rw /srv/data", Proven))
	saw(r, 1, refused(launcher.OpRemove, "/srv/data/old\x1b[31m", "remove_file", "/srv/data", "--rw /srv/data", Proven))
	for i := range 5 {
		saw(r, i+1, read(fmt.Sprintf("/opt/app/conf.d/%d.conf", i), Likely))
	}
	saw(r, 1, read("/home/ada/.ssh/id_ed25519", Proven))
	saw(r, 1, read("/home/ada/a\u202eb", Proven))
	saw(r, 40, refused(launcher.OpConnect, "", "connect_tcp", "", "--connect-tcp 443", Unknown))
	call := refused(launcher.OpSyscall, "", "", "", "", Proven)
	call.Operation.Call, call.Judgement.Errno, call.Judgement.Reason = "io_uring_setup", syscall.EPERM, "the filter refuses it"
	saw(r, 1, call)
	rename := refused(launcher.OpRename, "/src/a", "refer", "/srv", "--rw /srv", Likely)
	rename.Dest, rename.Judgement.Errno = "/srv/a", syscall.EXDEV
	saw(r, 1, rename)
	r.Add(&Denial{Count: 3, Host: "example.org", Seen: Seen{
		Operation: launcher.Operation{Port: 443}, Certainty: Proven,
		Judgement: launcher.Judgement{Verdict: launcher.Refused, Clause: "hosts", Remedy: launcher.Remedy{Flag: "--allow-host example.org:443"}},
	}})
	r.Reach(Limit{Name: "nofile", Text: "a process had all of its 64 descriptors open", Flag: "--nofile 128", Certainty: Likely})
	r.Reach(Limit{Name: "nofile", Text: "again"})
	return r
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := "testdata/" + name
	if *update {
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func TestReportText(t *testing.T) {
	for name, most := range map[string]int{"report.golden": 4, "report-all.golden": 0} {
		var out bytes.Buffer
		if err := sample().Text(&out, most); err != nil {
			t.Fatal(err)
		}
		golden(t, name, out.Bytes())
		for _, bad := range []string{"\x1b", "\u202e", "/etc/none", "/usr/lib/x", "/etc/maybe"} {
			if strings.Contains(out.String(), bad) {
				t.Errorf("%s shows %q", name, bad)
			}
		}
	}
}

func TestReportJSON(t *testing.T) {
	var out []byte
	for _, v := range sample().JSON() {
		out = strictjson.AppendLine(out, &v)
	}
	golden(t, "report.json.golden", out)
}

func TestReportOfNothing(t *testing.T) {
	var out bytes.Buffer
	if err := new(Report).Text(&out, Screen); err != nil || out.String() != "brainbox: nothing was denied\n" {
		t.Errorf("Text = %q, %v", out.String(), err)
	}
}

// TestReportIsBounded has a program that names ever other files.
func TestReportIsBounded(t *testing.T) {
	r := &Report{}
	const more = 50
	for i := range keptDenials + more {
		r.Saw(read(fmt.Sprintf("/x/%d/f", i), Likely))
	}
	r.Saw(read("/x/0/f", Proven)) // what is known is counted on
	got := r.Tally()
	want := Tally{Operations: keptDenials, Proven: 1, Likely: keptDenials - 1, Unkept: more}
	if got != want {
		t.Errorf("Tally = %+v, want %+v", got, want)
	}
	if list := r.Denials(); len(list) != keptDenials || list[0].Path != "/x/0/f" || list[0].Count != 2 {
		t.Errorf("Denials: %d, the first %q, %d times", len(list), list[0].Path, list[0].Count)
	}
	var out bytes.Buffer
	if err := r.Text(&out, Screen); err != nil {
		t.Fatal(err)
	}
	for _, left := range []string{fmt.Sprintf("and %d more; -v shows them", keptDenials-Screen), fmt.Sprintf("and %d more that were not told apart", more)} {
		if !strings.Contains(out.String(), left) {
			t.Errorf("nothing says %q", left)
		}
	}
	if lines := strings.Count(out.String(), "\n"); lines > Screen+4 {
		t.Errorf("%d lines are more than a screen", lines)
	}
}

func TestReportNamesTheFirstProgram(t *testing.T) {
	r := &Report{}
	s := read("/x/f", Proven)
	s.TID = os.Getpid()
	r.Saw(s)
	comm, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	d := r.Denials()[0]
	if d.PID != os.Getpid() || d.Program != strings.TrimSuffix(string(comm), "\n") {
		t.Errorf("first by %q (%d), want %q (%d)", d.Program, d.PID, comm, os.Getpid())
	}
}

func TestReportFromManyThreads(t *testing.T) {
	r := &Report{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 400 {
				r.Saw(read(fmt.Sprintf("/x/%d", i%100), Likely))
				r.Tally()
			}
		})
	}
	wg.Wait()
	var sum int64
	for _, d := range r.Denials() {
		sum += d.Count
	}
	if got := r.Tally().Operations; got != 100 || sum != 8*400 {
		t.Errorf("%d operations, %d times, want 100 and %d", got, sum, 8*400)
	}
}

func flags(list []Suggestion) []string {
	var out []string
	for _, s := range list {
		out = append(out, s.Flag)
	}
	return out
}

func TestSuggestionsNeverOpenTooMuch(t *testing.T) {
	many := func(dir string) []*Seen {
		var out []*Seen
		for i := range 2 * manyFiles {
			out = append(out, read(path.Join(dir, fmt.Sprint("f", i)), Proven))
		}
		return out
	}
	for name, c := range map[string]struct {
		seen []*Seen
		want int
	}{
		"the root":               {many("/"), 2 * manyFiles},
		"a folder at the top":    {many("/etc"), 2 * manyFiles},
		"the home":               {many("/home/ada"), 2 * manyFiles},
		"a folder above it":      {many("/home"), 2 * manyFiles},
		"another's home":         {many("/home/bob"), 2 * manyFiles},
		"configurations":         {many("/home/ada/.config"), 2 * manyFiles},
		"keys":                   {many("/home/ada/.ssh"), 2 * manyFiles},
		"the kernel's":           {many("/proc/sys/kernel"), 2 * manyFiles},
		"the root itself":        {[]*Seen{refused(launcher.OpCreate, "/x", "make_reg", "/", "--rw /", Proven)}, 0},
		"the home itself":        {[]*Seen{refused(launcher.OpCreate, "/home/ada/x", "make_reg", "/home/ada", "--rw /home/ada", Proven)}, 0},
		"many of one folder":     {many("/srv/data"), 1},
		"few of one folder":      {many("/srv/data")[:manyFiles-1], manyFiles - 1},
		"a folder and its files": {append(many("/srv/data")[:2], refused(launcher.OpCreate, "/srv/data/n", "make_reg", "/srv/data", "--rw /srv/data", Proven)), 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Report{Home: "/home/ada", Secret: secretByName}
			for _, s := range c.seen {
				r.Saw(s)
			}
			list := r.Suggestions()
			if len(list) != c.want {
				t.Errorf("%d suggestions, want %d: %q", len(list), c.want, flags(list))
			}
			if len(list) == 1 && list[0].Operations != len(c.seen) {
				t.Errorf("%q lets %d through, want %d", list[0].Flag, list[0].Operations, len(c.seen))
			}
		})
	}
}

// TestNoSecretInAHintToCopy has a secret among many files, and one alone.
func TestNoSecretInAHintToCopy(t *testing.T) {
	r := &Report{Home: "/home/ada", Secret: secretByName}
	for _, name := range []string{"/srv/app/.env", "/srv/app/a", "/srv/app/b", "/srv/app/c", "/srv/app/d", "/home/ada/.netrc"} {
		r.Saw(read(name, Proven))
	}
	var out bytes.Buffer
	if err := r.Text(&out, Screen); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if strings.Contains(line, "would allow") && (strings.Contains(line, ".env") || strings.Contains(line, ".netrc")) {
			t.Errorf("a secret in a line to copy: %s", line)
		}
	}
	if got := strings.Count(out.String(), "would show the program"); got != 2 {
		t.Errorf("%d secrets are told of, want 2:\n%s", got, out.String())
	}
}

func TestShellWordIsOneWord(t *testing.T) {
	for _, name := range []string{"/a", "/a b", "/it's", "/$(x)", "/a\nb", "/-x", "/ä"} {
		word := shellWord(name)
		if got, path := splitGrant("--rw " + word); got != "--rw" || path != name {
			t.Errorf("splitGrant(%q) = %q, %q", word, got, path)
		}
		if strings.ContainsAny(name, " '$\n") && word[0] != '\'' {
			t.Errorf("shellWord(%q) = %q", name, word)
		}
	}
	for _, flag := range []string{"--rw", "--rw a", "--rw /a/../b", "--rw /a b", "--unix /a", "--rw '/a", ""} {
		if word, name := splitGrant(flag); word != "" {
			t.Errorf("splitGrant(%q) = %q, %q", flag, word, name)
		}
	}
}
