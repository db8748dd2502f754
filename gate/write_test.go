package gate

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brainbox/dirchain"
	"brainbox/gate/prompt"
	"brainbox/gate/protect"
	"brainbox/gate/rule"
)

// written is a mediated write of a file.
func written(dir, path string) Call {
	c := file("write_file", path)
	c.Cwd, c.Source = dir, prompt.MediatedWrite
	return c
}

// Protected places: bg/C72, bg/C73, bg/C74, bg/C76, bg/C77, bg/C78.
func TestWriteProtection(t *testing.T) {
	dir, judge, places := tree(t)
	open := compiled(t, allowAll, rooted(dir))
	d := newDesk(t, Config{Policy: open, Judge: judge, Resolver: places}, prompt.Options{PerSecond: 1000})
	d.want(written(dir, ".git/config"), "deny confirmation_unavailable")
	d.want(written(dir, "src/a"), "allow policy_allow") // positive control

	strict := newDesk(t, Config{
		Policy: compiled(t, `{"*":"allow","path_write":{"*.git/*":"deny"}}`, rooted(dir)), Judge: judge, Resolver: places,
	}, prompt.Options{})
	strict.want(written(dir, ".git/config"), "deny policy_deny")

	yolo := newDesk(t, Config{Policy: open, Judge: judge, Resolver: places, OnAskAllow: true}, prompt.Options{})
	yolo.want(written(dir, ".git/config"), "allow auto_approved")

	d.person(says(approveRun))
	got := d.want(written(dir, ".git/config"), "allow user_approved_for_session")
	if got.Asks[0].Reason == "" || !strings.Contains(got.Asks[0].Reason, ".git") || strings.Contains(got.Asks[0].Reason, "config") {
		t.Errorf("the message is %q", got.Asks[0].Reason)
	}
	all := d.g.Grants()
	if len(all) != 1 || !all[0].Grant.Exact || all[0].Grant.Row != ".git" || all[0].Grant.Pattern != filepath.Join(dir, ".git/config") {
		t.Fatalf("grants %+v", all)
	}
	asked := d.asked.Load()
	d.want(written(dir, ".git/config"), "allow session_approved")
	if d.asked.Load() != asked {
		t.Error("asked again")
	}
	d.want(written(dir, ".git/hooks/pre-commit"), "allow user_approved_for_session")
	if d.asked.Load() != asked+1 {
		t.Error("another file of the row was not asked about")
	}
}

// stuck is a file system that never answers.
type stuck struct{ until chan struct{} }

func (s stuck) Dir() string { return "/w/p" }
func (s stuck) Resolve(context.Context, string, bool) (protect.Place, error) {
	<-s.until
	return protect.Place{Path: "/w/p/x"}, nil
}

// bg/C44, bg/C75: what could not be judged is denied, whatever else allows it.
func TestUnresolvable(t *testing.T) {
	s := stuck{make(chan struct{})}
	defer close(s.until)
	judge, _, err := protect.Compile(protect.Seat{}, protect.Options{Env: s, Wait: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	d := newDesk(t, Config{Policy: compiled(t, allowAll), Judge: judge, OnAskAllow: true}, prompt.Options{})
	d.want(file("write_file", "x"), "deny write_protected")
	d.want(file("read_file", "x"), "allow policy_allow") // positive control: not the judge's
	none, err := New(Config{Policy: compiled(t, allowAll), Hub: d.hub, OnAskAllow: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := none.Decide(t.Context(), file("write_file", "x")); got.Allowed {
		t.Error("without a judge, and nobody said so, something is written")
	}
}

// What was judged is what is written: the place is held, handed on once, and refused when
// it is another by then.
func TestHeld(t *testing.T) {
	dir, judge, places := tree(t)
	d := newDesk(t, Config{Policy: compiled(t, allowAll, rooted(dir)), Judge: judge, Resolver: places}, prompt.Options{PerSecond: 1000})
	write := func(got Decision) error {
		_, err := places.Roots[0].Root.Write(t.Context(), got.Held[0].Rel(), dirchain.WriteRequest{
			Held: got.Held[0].Target(), Content: bytes.NewReader([]byte("x")),
		})
		return err
	}
	moved := d.want(written(dir, "src/a"), "allow policy_allow")
	if err := os.Rename(dir+"/src", dir+"/old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(".git", dir+"/src"); err != nil {
		t.Fatal(err)
	}
	if err := write(moved); err == nil {
		t.Error("the write went through an exchanged parent")
	}
	for _, name := range []string{dir + "/.git/a", dir + "/old/a"} {
		if _, err := os.Lstat(name); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	got := d.want(written(dir, "old/a"), "allow policy_allow") // positive control
	if err := write(got); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(dir + "/old/a"); err != nil || string(text) != "x" {
		t.Errorf("%q, %v", text, err)
	}
	got.Close()
	got.Close()
	d.want(written(dir, "src/a"), "deny confirmation_unavailable") // a link to .git now
}

// Through links: bg/D23 and the resolver's own readings.
func TestPlaces(t *testing.T) {
	dir, judge, places := tree(t)
	outside := t.TempDir()
	for link, to := range map[string]string{
		"env": ".env", "out": outside, "dangling": outside + "/none", "up": "src/..", "loop": "loop",
	} {
		if err := os.Symlink(to, dir+"/"+link); err != nil {
			t.Fatal(err)
		}
	}
	p := compiled(t, `{"*":"allow","path":{"*.env":"deny"},"external_directory":"deny"}`, rooted(dir))
	d := newDesk(t, Config{Policy: p, Judge: judge, Resolver: places}, prompt.Options{PerSecond: 1000})
	read := func(path string) Call {
		c := file("read_file", path)
		c.Cwd = dir
		return c
	}
	for path, want := range map[string]string{
		"env": "deny policy_deny", "out/x": "deny policy_deny", "dangling": "deny policy_deny", "loop": "deny policy_deny",
		"out/../x": "deny policy_deny", "out/../" + filepath.Base(dir): "allow policy_allow", "src/../../x": "deny policy_deny", outside: "deny policy_deny",
		"src/a": "allow policy_allow", "up/src/a": "allow policy_allow", "src/../src": "allow policy_allow",
	} {
		d.want(read(path), want)
	}
	if err := os.Symlink("x.env", dir+"/src/env"); err != nil {
		t.Fatal(err)
	}
	d.want(read("out/../src/env"), "deny policy_deny")         // as text it is a link to what is denied
	d.want(written(dir, "out/../src/env"), "deny policy_deny") // by the kernel it is outside
	d.want(written(dir, "src/../src/env"), "deny policy_deny")
	for path, want := range map[string]string{
		dir + "/dangling": outside + "/none", dir + "/out/a/b": outside + "/a/b", dir + "/src/..": dir, dir + "/nothing/x": dir + "/nothing/x",
	} {
		if real, _, err := places.Resolve(path); err != nil || real != want {
			t.Errorf("Resolve(%q) = %q, %v, want %q", path, real, err, want)
		}
	}
}

// liar resolves every path to one that is allowed: as a link would be that is exchanged
// between two looks.
type liar struct{ path string }

func (l liar) Resolve(string) (string, bool, error) { return l.path, true, nil }

// The rules judge the place that is held, not one that was seen at another moment.
func TestRulesJudgeWhatIsHeld(t *testing.T) {
	dir, judge, _ := tree(t)
	if err := os.Symlink("x.env", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	p := compiled(t, `{"*":"allow","path":{"*.env":"deny"}}`, rooted(dir))
	for name, r := range map[string]rule.Resolver{"a resolver that saw another link": liar{dir + "/src/a"}, "no resolver": nil} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, Config{Policy: p, Judge: judge, Resolver: r}, prompt.Options{PerSecond: 1000})
			d.want(written(dir, "link"), "deny policy_deny")
			d.want(written(dir, dir+"/link"), "deny policy_deny")
			based := written("/", "link")
			based.Targets[0].Base = dir
			d.want(based, "deny policy_deny")
			read := file("read_file", "link")
			read.Cwd = dir
			d.want(read, "deny policy_deny")
			d.want(written(dir, "src/a"), "allow policy_allow") // positive control
			read = file("read_file", "src/../src/a")
			read.Cwd = dir
			if got := d.want(read, "allow policy_allow"); len(got.Held) != 1 || got.Held[0].Rel() != "src/a" {
				t.Errorf("held %v", got.Held)
			}
		})
	}
}
