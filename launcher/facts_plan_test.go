package launcher

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"brainbox/internal/broker"
	"brainbox/landlock"
	"brainbox/policy"
	"brainbox/seccomp"

	"golang.org/x/sys/unix"
)

// host is a machine made by hand: everything that NewPlan may depend on.
type host struct {
	abi     int
	uid     int
	absent  []string          // paths that do not exist
	links   map[string]string // path → where it leads
	command []string
	change  func(*Facts)
}

const (
	testHome = "/home/u"
	testCwd  = "/home/u/co"
	testRun  = "/tmp/brainbox-1000/0123456789abcdef"
)

// resolve reads a policy text; an empty one is the built-in profile default.
func resolve(t *testing.T, text string) *policy.Policy {
	t.Helper()
	var file *policy.Layer
	var err error
	if text != "" {
		if file, err = policy.Parse(policy.KindFile, testHome+"/policy.toml", []byte("version = 1\n"+text)); err != nil {
			t.Fatalf("parse: %v", err)
		}
	}
	layers, err := policy.Layers("", file, policy.NewFlagLayer())
	if err != nil {
		t.Fatal(err)
	}
	vars := policy.Vars{
		Home: testHome, Pwd: testCwd, TmpDir: "/tmp", User: "u", Git: testCwd, Cwd: testCwd,
		XDGConfig: testHome + "/.config", XDGState: testHome + "/.local/state",
	}
	p, err := policy.Resolve(policy.Input{Vars: vars}, layers...)
	if err != nil {
		t.Fatalf("resolve: %v", err)
	}
	return p
}

// facts looks at the host as Observe looks at the machine, without a system call.
func (h host) facts(p *policy.Policy) *Facts {
	place := &Place{UID: h.uid, EUID: h.uid, GID: h.uid, User: "u", Shell: "/bin/sh", Home: testHome, Cwd: testCwd, Git: testCwd, TmpBase: "/tmp"}
	f := &Facts{
		Place: place, Landlock: landlock.Support{ABI: h.abi, Errata: 7}, RunDir: testRun, Path: "/usr/bin:/bin",
		Command: h.command, NoFile: [2]uint64{1024, 524288}, Umask: 0o022,
		Environ: []string{"HOME=" + testHome, "LANG=C.UTF-8", "AWS_SECRET_ACCESS_KEY=x", "PATH=/usr/bin"},
		Cgroup:  CgroupFact{Reason: "no cgroup v2 tree is mounted"},
	}
	f.Home.Kind = firstOf(p.Sandbox.Home.V.Kind, "run")
	if f.Home.Kind != "run" {
		f.Home.Dir = testHome + "/.local/state/brainbox/home/0011223344556677"
	}
	for _, path := range []string{"/dev/null", "/proc"} {
		f.Wants = append(f.Wants, Want{
			Grant:  policy.Grant{Path: policy.Path{Text: path, Abs: path, Skip: true, Source: -1}, Right: policy.RightRead},
			Always: true,
		})
	}
	f.Wants[0].Right = policy.RightWrite
	if mayBeOpen(p, "shared_memory") {
		f.Wants = append(f.Wants, Want{
			Grant:  policy.Grant{Path: policy.Path{Text: "/dev/shm", Abs: "/dev/shm", Skip: true, Source: -1}, Right: policy.RightWrite},
			Always: true, Clause: "shared_memory",
		})
	}
	for _, g := range p.Grants {
		f.Wants = append(f.Wants, Want{Grant: g})
	}
	for _, w := range f.Wants {
		f.Paths = append(f.Paths, h.look(w.Abs))
	}
	f.Cwd = h.look(testCwd)
	if p.Sandbox.Cwd != nil {
		f.Cwd = h.look(p.Sandbox.Cwd.Abs)
	}
	f.Critical = []Critical{
		{Path: "/", What: "the root of the file system"},
		{Path: testHome, What: "the home folder"},
		{Path: "/data/home/u", What: "the home folder"}, // the same, as it resolves
		{Path: testHome + "/.config/brainbox", What: "brainbox's configuration", Whole: true},
		{Path: testHome + "/.local/state/brainbox", What: "brainbox's state", Whole: true},
		{Path: "/tmp/brainbox-1000", What: "the private folders of other runs", Whole: true},
		{Path: "/opt/bb/bin/brainbox", What: "the running brainbox"},
		{Path: "/opt/wrap/brainbox-exec", What: "the configured exec wrapper"},
		{Path: "/opt/kill/brainbox-kill", What: "the configured exec killer"},
		{Path: "/srv/policies/p.toml", What: "a policy file in use"},
	}
	for _, s := range p.Network.Unix {
		one := SocketFact{PathFact: h.look(s.Abs), UID: 1000}
		one.Dir, one.Socket = false, one.Err == nil
		f.Sockets, f.Broker = append(f.Sockets, one), &broker.Offer{}
	}
	if len(h.command) > 0 {
		f.File = "/usr/bin/" + h.command[0]
	}
	if h.change != nil {
		h.change(f)
	}
	return f
}

func (h host) look(path string) PathFact {
	if slices.Contains(h.absent, path) {
		return PathFact{Err: &fs.PathError{Op: "open", Path: path, Err: unix.ENOENT}, Target: h.links[path]}
	}
	return PathFact{Target: firstOf(h.links[path], path), Dir: true}
}

// show writes a whole plan as text: what the golden files hold.
func show(p *Plan) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	if r := p.Refusal; r != nil {
		line("refused %d %s\n  %s\n  hint: %s", r.Status, r.Clause, r.Message, r.Hint)
	}
	line("isolation %s asked %s command %q file %q cwd %q home %s", p.Isolation, p.Asked, p.Command, p.File, p.Cwd, p.HomeKind)
	for i, s := range p.Sources {
		line("source %d %s %s:%d", i, s.Kind, s.Name, s.Line)
	}
	for _, n := range p.Notes {
		line("note %s", n)
	}
	for _, c := range p.Clauses {
		line("%s %s %q degraded=%v\n  needs %q route %q", c.Name, c.State, c.Mechanism, c.Degraded, c.Requirement, c.Route)
		for _, e := range c.Entries {
			line("  - %s %s %q = %q optional=%v source=%d %q", e.State, e.Right, e.Value, e.Target, e.Optional, e.Source, e.Note)
		}
	}
	for _, r := range p.Rules {
		line("rule path %d %s device=%v unix=%v", r.Path, r.Right, r.Device, r.Unix)
	}
	l := p.Landlock
	line("landlock open_tcp=%v connect=%v bind=%v unix_elsewhere=%v degraded=%s", l.OpenTCP, l.ConnectTCP, l.BindTCP, l.ResolveUnixElsewhere, l.Degraded)
	line("seccomp %s own=%v none=%v", strings.Replace(fmt.Sprintf("%+v", p.Seccomp), " UnixBroker:false", "", 1), len(p.Filter) > 0, p.NoFilter)
	if b := p.Broker; b != nil {
		line("broker %+v", *b)
	}
	for _, x := range p.Limits {
		line("limit %d %d %d", x.Resource, x.Cur, x.Max)
	}
	line("umask %04o timeout %v kill_after %v output %d", p.Umask, p.Timeout, p.KillAfter, p.OutputLimit)
	line("cgroup %v use=%v", p.Cgroup, p.UseCgroup)
	if id := p.Identity; id != nil {
		line("identity %+v", *id)
	}
	line("bounding %v terminal %v relay %v", p.Bounding, p.Terminal, p.Relay)
	for _, e := range slices.Sorted(slices.Values(p.Env)) {
		line("env %s", e)
	}
	return b.String()
}

func ownFilter() seccomp.Program {
	p, err := seccomp.Default(seccomp.Options{})
	if err != nil {
		panic(err)
	}
	return p
}
