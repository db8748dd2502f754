package launcher

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"brainbox/landlock"
	"brainbox/policy"

	"github.com/google/go-cmp/cmp"
)

func planOf(t *testing.T, h host, text string) *Plan {
	t.Helper()
	p := resolve(t, text)
	return NewPlan(p, h.facts(p))
}

// The table of entries inside each other (design §7), as isolation landlock decides it.
func TestNestedEntriesThroughNewPlan(t *testing.T) {
	rights := []string{"read", "exec", "write", "write_exec", "deny"}
	want := map[string][]string{ // outer → for each inner: the clause that refuses, or "" and a note
		"read":       {"", "", "", "", "deny"},
		"exec":       {"add up", "", "add up", "", "deny"},
		"write":      {"protect", "protect", "", "", "deny"},
		"write_exec": {"protect", "protect", "add up", "", "deny"},
		"deny":       {"files", "files", "files", "files", ""},
	}
	for _, outer := range rights {
		for i, inner := range rights {
			t.Run(inner+" inside "+outer, func(t *testing.T) {
				lists := map[string]string{outer: `"/srv/a"`}
				lists[inner] = strings.TrimPrefix(lists[inner]+`, "/srv/a/b"`, ", ")
				text := "[filesystem]\n"
				for right, list := range lists {
					text += right + " = [" + list + "]\n"
				}
				p := planOf(t, host{abi: 7, uid: 1000}, text)
				got := ""
				if p.Refusal != nil {
					got = p.Refusal.Clause
				} else if strings.Contains(show(p), "add up") {
					got = "add up"
				}
				if got != want[outer][i] {
					t.Errorf("got %q, want %q in\n%s", got, want[outer][i], show(p))
				}
			})
		}
	}
}

// A grant that another one replaces on the same resolved place gives no rule: Landlock
// would add both up.
func TestReplacedGrantsGiveNoRule(t *testing.T) {
	file, err := policy.Parse(policy.KindFile, "/p.toml", []byte("version = 1\n[filesystem]\nwrite = [\"/link\"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	flags := policy.NewFlagLayer()
	if err := flags.AddGrant("--ro /real", "/real", policy.RightRead); err != nil {
		t.Fatal(err)
	}
	p, err := policy.Resolve(policy.Input{}, file, flags)
	if err != nil {
		t.Fatal(err)
	}
	h := host{abi: 7, uid: 1000, links: map[string]string{"/link": "/real"}}
	f := h.facts(p)
	plan := NewPlan(p, f)
	var got []string
	for _, r := range plan.Rules {
		if strings.HasPrefix(f.Wants[r.Path].Abs, "/dev") || f.Wants[r.Path].Abs == "/proc" {
			continue
		}
		got = append(got, f.Wants[r.Path].Abs+" "+r.Right.String())
	}
	if diff := cmp.Diff([]string{"/real " + landlock.Read.String()}, got); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	if ok, e := plan.Allows(policy.RightWrite, "/real/x"); ok {
		t.Errorf("writing is allowed by %+v", e)
	}
	if !strings.Contains(show(plan), "replaced by read") {
		t.Errorf("nothing says that the grant was replaced:\n%s", show(plan))
	}
}

func TestCriticalWriteGrants(t *testing.T) {
	for _, right := range []string{"write", "write_exec"} {
		for path, what := range map[string]string{
			"/":                             "the root of the file system",
			"/home/u":                       "the home folder",
			"/home":                         "the home folder",
			"/data/home/u":                  "the home folder",
			"/home/u/.config":               "brainbox's configuration",
			"/home/u/.config/brainbox":      "brainbox's configuration",
			"/home/u/.local/state/brainbox": "brainbox's state",
			"/tmp":                          "the private folders of other runs",
			"/tmp/brainbox-1000/another":    "inside the private folders of other runs",
			"/home/u/.config/brainbox/p":    "inside brainbox's configuration",
			"/link-to-a-kept-home":          "inside brainbox's state",
			"/opt/bb/bin":                   "the running brainbox",
			"/opt/bb/bin/brainbox":          "the running brainbox",
			"/opt/wrap":                     "the configured exec wrapper",
			"/opt/kill":                     "the configured exec killer",
			"/srv/policies":                 "a policy file in use",
			"/link-to-home":                 "the home folder",
		} {
			t.Run(right+" "+path, func(t *testing.T) {
				h := host{abi: 7, uid: 1000, links: map[string]string{
					"/link-to-home": testHome, "/link-to-a-kept-home": testHome + "/.local/state/brainbox/home/1",
				}}
				// Accepting the clause as open must not accept the mistake.
				text := fmt.Sprintf("[filesystem]\n%s = [%q]\n[sandbox]\ndegraded = [\"files\"]\n", right, path)
				p := planOf(t, h, text)
				if p.Refusal == nil || p.Refusal.Status != StatusRefused || p.Refusal.Clause != "files" ||
					!strings.Contains(p.Refusal.Message, what) || p.Refusal.Hint == "" {
					t.Errorf("refusal %+v, want one that names %q", p.Refusal, what)
				}
				for _, r := range p.Rules {
					if r.Right == landlock.Write && r.Path > 1 {
						t.Errorf("rule %+v", r)
					}
				}
				insist := planOf(t, h, text+fmt.Sprintf("allow_protected = [%q]\n", path))
				if insist.Refusal != nil && insist.Refusal.Clause == "files" {
					t.Errorf("with --no-protect: %+v", insist.Refusal)
				}
			})
		}
	}
	// Positive control: beside those places, and reading them.
	for _, text := range []string{
		"[filesystem]\nwrite = [\"/home/u/co\"]\n", "[filesystem]\nread = [\"/\"]\n", "[filesystem]\nexec = [\"/opt/bb/bin\"]\n",
	} {
		if p := planOf(t, host{abi: 7, uid: 1000}, text); p.Refusal != nil {
			t.Errorf("%q: %+v", text, p.Refusal)
		}
	}
}

// What the kernel lacks can be accepted as open; what was written wrongly cannot.
func TestMistakesCannotBeAccepted(t *testing.T) {
	all := "[sandbox]\ndegraded = [\"files\", \"env\", \"seccomp\", \"capabilities\", \"hosts\", \"unix\", \"network\"]\n"
	for name, c := range map[string]struct {
		text string
		host host
		want string
	}{
		"a missing path":               {"[filesystem]\nread = [\"/nowhere\"]\n", host{abi: 7, uid: 1000, absent: []string{"/nowhere"}}, "files"},
		"a grant inside a denied tree": {"[filesystem]\ndeny = [\"/srv\"]\nread = [\"/srv/a\"]\n", host{abi: 7, uid: 1000}, "files"},
		"a bad environment file": {"", host{abi: 7, uid: 1000, change: func(f *Facts) {
			f.EnvFiles = []EnvFile{{Name: "x", Text: []byte("no assignment")}}
		}}, "env"},
		"a bad seccomp profile": {"[process]\nseccomp = \"/p.json\"\n", host{abi: 7, uid: 1000, change: func(f *Facts) {
			f.SeccompErr = errNotLooked
		}}, "seccomp"},
		"an identity without root": {"", host{abi: 7, uid: 1000, change: func(f *Facts) {
			f.Identity = &IdentityFact{UID: 7, GID: 7, User: "x"}
		}}, "capabilities"},
		"a host by name":             {"[network]\nmode = \"proxy\"\nallow_hosts = [\"a.example:443\"]\n", host{abi: 7, uid: 1000}, "hosts"},
		"a published port":           {"[network]\npublish = [80]\n", host{abi: 7, uid: 1000}, "hosts"},
		"a socket that is not there": {"[network]\nunix = [\"/run/x.sock\"]\n", host{abi: 7, uid: 1000, absent: []string{"/run/x.sock"}}, "unix"},
		"no landlock at all":         {"", host{uid: 1000, change: func(f *Facts) { f.LandlockErr = errNotLooked }}, "files"},
	} {
		p := planOf(t, c.host, c.text+all)
		if p.Refusal == nil || p.Refusal.Clause != c.want || p.Refusal.Status != StatusRefused {
			t.Errorf("%s: refusal %+v, want clause %q", name, p.Refusal, c.want)
		}
	}
	if p := planOf(t, host{abi: 2, uid: 1000}, "[sandbox]\ndegraded = [\"files\", \"ipc\"]\n"); p.Refusal != nil { // positive control
		t.Errorf("abi 2 with files and ipc accepted: %+v", p.Refusal)
	}
}

// A name in the checkout that leads out of it is told at the start: the checkout chose it.
func TestWriteGrantsThatLeadOutAreTold(t *testing.T) {
	for target, want := range map[string]bool{
		"/home/u/documents": true, "/home/u/co-beside": true, testCwd + "/elsewhere": false, testCwd + "/target": false,
	} {
		for right, writes := range map[string]bool{"write": true, "write_exec": true, "read": false} {
			h := host{abi: 7, uid: 1000, links: map[string]string{testCwd + "/target": target}}
			p := planOf(t, h, fmt.Sprintf("[filesystem]\n%s = [\"./target\"]\n", right))
			got := slices.ContainsFunc(p.Notes, func(n string) bool { return strings.Contains(n, "opens "+quotePath(target)) })
			if got != (want && writes) {
				t.Errorf("%s leads to %s: told %v\n%q", right, target, got, p.Notes)
			}
		}
	}
}

// ptrace is open only with seccomp = "debug" and only where there is a Landlock domain to
// keep it inside; that cannot be accepted as open.
func TestDebugFilterNeedsLandlock(t *testing.T) {
	const open = "[process]\nseccomp = \"debug\"\n"
	const accepted = "[sandbox]\ndegraded = [\"files\", \"ipc\", \"seccomp\"]\n"
	without := func(f *Facts) { f.LandlockErr = errNotLooked }
	for name, c := range map[string]struct {
		text  string
		host  host
		debug bool
		state State
	}{
		"asked for":              {open, host{abi: 7, uid: 1000}, true, StateEnforced},
		"at the first ABI":       {open + accepted, host{abi: 1, uid: 1000}, true, StateEnforced},
		"without Landlock":       {open + accepted, host{uid: 1000, change: without}, true, StateRefused},
		"not asked for":          {"", host{abi: 7, uid: 1000}, false, StateEnforced},
		"not asked for, without": {accepted, host{uid: 1000, change: without}, false, StateEnforced},
	} {
		p := planOf(t, c.host, c.text)
		i := slices.IndexFunc(p.Clauses, func(c Clause) bool { return c.Name == "seccomp" })
		if i < 0 || p.Clauses[i].State != c.state || p.Seccomp.Debug != c.debug {
			t.Errorf("%s: ptrace open: %v\n%s", name, p.Seccomp.Debug, show(p))
		}
		told := i >= 0 && strings.Contains(p.Clauses[i].Entries[0].Note, "ptrace is open inside the domain")
		if told != c.debug {
			t.Errorf("%s: the entry says that ptrace is open: %v", name, told)
		}
	}
}

// A profile that lets the working directory be read does not let the home folder be read
// with it; who writes the grant himself does.
func TestProfilesDoNotImplyTheHomeFolder(t *testing.T) {
	const readonly = "version = 1\nextends = [\"readonly\"]\n"
	for name, c := range map[string]struct {
		target, text string
		refused      bool
	}{
		"a checkout":       {testCwd, readonly, false},
		"the home folder":  {testHome, readonly, true},
		"what holds it":    {"/home", readonly, true},
		"the root":         {"/", readonly, true},
		"beside it":        {testHome + "-2", readonly, false},
		"it was written":   {testHome, readonly + "[filesystem]\nread = [\".\"]\n", false},
		"accepted as open": {testHome, readonly + "[sandbox]\ndegraded = [\"files\"]\n", true},
	} {
		file, err := policy.Parse(policy.KindFile, testCwd+"/p.toml", []byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		p, err := policy.Resolve(policy.Input{Vars: policy.Vars{Home: testHome, Cwd: testCwd, Pwd: testCwd, Git: testCwd}}, file)
		if err != nil {
			t.Fatal(err)
		}
		plan := NewPlan(p, host{abi: 7, uid: 1000, links: map[string]string{testCwd: c.target}}.facts(p))
		if refused := plan.Refusal != nil && strings.Contains(plan.Refusal.Message, homeFolder); refused != c.refused {
			t.Errorf("%s: refusal %+v", name, plan.Refusal)
		}
	}
}
