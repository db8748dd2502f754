package export

import (
	"io/fs"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/landlock"
	"brainbox/launcher"
	"brainbox/policy"
)

const (
	home     = "/home/u"
	checkout = "/home/u/co"
)

// machine is one made by hand: what is there, and what is known of the names in it.
type machine struct {
	uid     int
	abi     int
	there   []string          // paths that exist
	links   map[string]string // path → where it leads
	devices []string
	names   []launcher.NameFact
	folders []string
	change  func(*launcher.Facts)
}

// input plans a policy text for a container, without a system call.
func (m machine) input(t *testing.T, text string) Input {
	t.Helper()
	file, err := policy.Parse(policy.KindFile, home+"/policy.toml", []byte("version = 1\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	layers, err := policy.Layers("", file, policy.NewFlagLayer())
	if err != nil {
		t.Fatal(err)
	}
	vars := policy.Vars{Home: home, Pwd: checkout, TmpDir: "/tmp", User: "u", Git: checkout, Cwd: checkout}
	p, err := policy.Resolve(policy.Input{Vars: vars, Inside: launcher.Inside}, layers...)
	if err != nil {
		t.Fatal(err)
	}
	f := m.facts(p)
	Target(f)
	return Input{Policy: p, Plan: launcher.NewPlan(p, f), Facts: f, Rootfs: "/srv/root", Command: []string{"make", "all"}, Arch: "amd64"}
}

func (m machine) facts(p *policy.Policy) *launcher.Facts {
	place := &launcher.Place{UID: m.uid, EUID: m.uid, GID: m.uid, User: "u", Shell: "/bin/sh", Home: home, Cwd: checkout, Git: checkout, TmpBase: "/tmp"}
	f := &launcher.Facts{
		Place: place, Landlock: landlock.Support{ABI: m.abi}, RunDir: "/tmp/brainbox-1000/0123456789abcdef", Path: "/usr/bin:/bin",
		NoFile: [2]uint64{1024, 4096}, Umask: 0o022, Environ: []string{"HOME=" + home, "LANG=C.UTF-8"}, Terminal: true,
		Inside: &launcher.InsideFact{Names: m.names, Hide: []string{"keys"}},
	}
	f.Home.Kind = "run"
	if k := p.Sandbox.Home.V.Kind; k != "" && k != "run" {
		f.Home = launcher.HomeFact{Kind: k, Dir: "/srv/home", Target: "/srv/home"}
	}
	for _, dir := range m.folders {
		f.Inside.Folders = append(f.Inside.Folders, launcher.NameFact{Path: dir, Kind: launcher.NameFolder})
	}
	if m.uid == 0 {
		f.Inside.UIDs = []launcher.IDRange{{First: 0, Count: 65536}}
		f.Inside.GIDs = f.Inside.UIDs
	}
	f.Wants = []launcher.Want{{
		Grant:  policy.Grant{Path: policy.Path{Text: "/dev/null", Abs: "/dev/null", Skip: true, Source: -1}, Right: policy.RightWrite},
		Always: true,
	}}
	for _, g := range p.Grants {
		f.Wants = append(f.Wants, launcher.Want{Grant: g})
	}
	for _, w := range f.Wants {
		f.Paths = append(f.Paths, m.look(w.Abs))
	}
	for _, u := range p.Network.Unix {
		one := m.look(u.Abs)
		one.Dir, one.Socket = false, one.Err == nil
		f.Inside.Unix = append(f.Inside.Unix, one)
	}
	f.Cwd = m.look(checkout)
	if m.change != nil {
		m.change(f)
	}
	return f
}

func (m machine) look(path string) launcher.PathFact {
	target := path
	if to, ok := m.links[path]; ok {
		target = to
	}
	if path == "/dev/null" || slices.Contains(m.devices, path) {
		return launcher.PathFact{Target: target, Device: true}
	}
	if !slices.Contains(m.there, target) {
		return launcher.PathFact{Err: &fs.PathError{Op: "open", Path: path, Err: unix.ENOENT}, Target: target}
	}
	return launcher.PathFact{Target: target, Dir: true}
}

// guarded is a name that an entry of the policy holds.
func guarded(path string, kind launcher.NameKind, guard launcher.Guard, entry policy.Grant) launcher.NameFact {
	return launcher.NameFact{Path: path, Kind: kind, Guard: guard, Entry: entry}
}

// grant is an entry as the policy has it.
func grant(text, abs string, right policy.Right) policy.Grant {
	return policy.Grant{Path: policy.Path{Text: text, Abs: abs}, Right: right}
}
