package launcher

import (
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"brainbox/policy"
)

// wants lists every path that a rule will be made of: what is there whatever the
// policy says, then the policy's own entries, in order.
func wants(p *policy.Policy, pl *Place) []Want {
	always := func(path string, r policy.Right, device bool, clause string) Want {
		return Want{
			Grant:  policy.Grant{Path: policy.Path{Text: path, Abs: path, Skip: true, Source: -1}, Right: r},
			Device: device, Always: true, Clause: clause,
		}
	}
	list := make([]Want, 0, len(p.Grants)+10)
	for _, dev := range [...]string{"null", "zero", "full"} {
		// They have no ioctl of their own: the right only lets isatty(3) fail with ENOTTY
		// as it does everywhere, which openssl, for one, insists on.
		list = append(list, always("/dev/"+dev, policy.RightWrite, true, ""))
	}
	for _, dev := range [...]string{"random", "urandom"} {
		list = append(list, always("/dev/"+dev, policy.RightWrite, false, ""))
	}
	if p.Bare == nil { // a worker has no terminal
		list = append(list, always("/dev/tty", policy.RightWrite, true, ""))
		if tty := ownTerminal(); tty != "" {
			list = append(list, always(tty, policy.RightWrite, true, ""))
		}
	}
	list = append(list, always("/proc", policy.RightRead, false, ""))
	if mayBeOpen(p, "shared_memory") {
		list = append(list, always(sharedMemory, policy.RightWrite, false, "shared_memory"))
	}
	for _, g := range p.Grants {
		if g.Right == policy.RightProtect && named(p.Sandbox.AllowProtected, g.Abs) {
			continue
		}
		list = append(list, Want{Grant: g})
	}
	list = append(list, projectPolicies(p, pl)...)
	for _, dir := range worktreeDirs(pl.Git) {
		// As the checkout itself: where that may be written its git data must be, too.
		if src, right := grantOver(p, pl.Git); right != policy.RightNone {
			list = append(list, Want{GitDir: true, Grant: policy.Grant{
				Path: policy.Path{Text: dir, Abs: dir, Skip: true, Source: src}, Right: right,
			}})
		}
	}
	return list
}

// named reports whether one of the entries is exactly this path.
func named(list []policy.Path, abs string) bool {
	return slices.ContainsFunc(list, func(p policy.Path) bool { return p.Abs == abs })
}

// ProjectPolicy is the name of a project's own policy. It is protected wherever a write
// grant holds it: the program could only widen the next run with it.
const ProjectPolicy = ".brainbox.toml"

func projectPolicies(p *policy.Policy, pl *Place) []Want {
	var list []Want
	for _, dir := range slices.Compact([]string{pl.Cwd, pl.Git}) {
		path := dir + "/" + ProjectPolicy
		if src := writeGrantOver(p, path); dir != "" && src >= 0 {
			list = append(list, Want{Grant: policy.Grant{
				Path: policy.Path{Text: path, Abs: path, Optional: true, Source: src}, Right: policy.RightProtect,
			}})
		}
	}
	return list
}

// sharedMemory is where POSIX shared memory lives (shm_overview(7)).
const sharedMemory = "/dev/shm"

// mayBeOpen reports whether a clause may stay open: a built-in profile or the operator
// says so.
func mayBeOpen(p *policy.Policy, clause string) bool {
	is := func(i policy.Item[string]) bool { return i.V == clause }
	return slices.ContainsFunc(p.Optional, is) || slices.ContainsFunc(p.Sandbox.Degraded, is)
}

// grantOver returns the source of the widest grant that holds dir, and whether it lets it be
// read or written; none is RightNone.
func grantOver(p *policy.Policy, dir string) (source int, right policy.Right) {
	if src := writeGrantOver(p, dir); src >= 0 {
		return src, policy.RightWrite
	}
	for _, g := range p.Grants {
		if g.Right.Grants() && policy.Below(dir, g.Abs) {
			return g.Source, policy.RightRead
		}
	}
	return -1, policy.RightNone
}

// writeGrantOver returns the source of a write grant that holds dir, or -1.
func writeGrantOver(p *policy.Policy, dir string) int {
	for _, g := range p.Grants {
		if g.Right.Writes() && policy.Below(dir, g.Abs) {
			return g.Source
		}
	}
	return -1
}

// ownTerminal is the name of the terminal behind a standard descriptor, or "".
func ownTerminal() string {
	for fd := range 3 {
		if _, err := unix.IoctlGetTermios(fd, unix.TCGETS); err != nil {
			continue
		}
		if name, err := pathOf(fd); err == nil && filepath.IsAbs(name) {
			return name
		}
	}
	return ""
}

// homeFolder is what a [Critical] is whose path is the caller's home.
const homeFolder = "the home folder"

// critical lists what no write grant may hold. Every place counts as it is spelled and
// as it resolves.
func critical(p *policy.Policy, pl *Place, exec bool) []Critical {
	var list []Critical
	note := func(path, what string, whole bool) {
		if path == "" {
			return
		}
		list = append(list, Critical{path, what, whole})
		if r := resolved(path); r != path {
			list = append(list, Critical{r, what, whole})
		}
	}
	add := func(path, what string) { note(path, what, false) }
	list = append(list, Critical{Path: "/", What: "the root of the file system"})
	add(pl.Home, homeFolder)
	if home := lookup(pl.environ, "HOME"); filepath.IsAbs(home) {
		add(filepath.Clean(home), homeFolder) // below sudo(8) it is the caller's, not root's
	}
	note(pl.ConfigDir(), "brainbox's configuration", true)
	note(pl.StateDir(), "brainbox's state", true)
	if !exec { // a wrapper's folders are elsewhere, and the caller's TMPDIR may be the program's
		note(runsDir(pl), "the private folders of other runs", true)
	}
	if exe, err := os.Readlink("/proc/self/exe"); err == nil {
		add(exe, "the running brainbox")
		add(filepath.Join(filepath.Dir(exe), "../libexec/brainbox"), "brainbox's helpers")
		for _, name := range [...]string{"brainbox", "brainbox-exec", "brainbox-kill", "brainbox-seccomp", "brainbox-host", "brainbox-mcp"} {
			add(filepath.Dir(exe)+"/"+name, "brainbox's helpers")
		}
	}
	add(lookup(pl.environ, "BRAIN_UI_EXEC_WRAPPER"), "the configured exec wrapper")
	add(lookup(pl.environ, "BRAIN_UI_EXEC_KILLER"), "the configured exec killer")
	for _, name := range p.Files {
		if abs, err := filepath.Abs(name); err == nil {
			add(abs, "a policy file in use")
		}
	}
	if e := p.Bridge.Envelope; e != nil { // it names what the host runs
		add(e.Abs, "the bridge envelope in use")
	}
	return list
}

// ownPrograms lists where programs of brainbox may be, by the rule of openSibling: beside
// the running one, and in ../libexec/brainbox.
func ownPrograms(names ...string) []string {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return nil
	}
	var list []string
	for _, name := range names {
		beside := filepath.Dir(exe) + "/" + name
		if name == "brainbox" {
			beside = exe // whatever it is called
		}
		list = append(list, beside)
		if name != "brainbox" {
			list = append(list, filepath.Join(filepath.Dir(exe), "../libexec/brainbox", name))
		}
	}
	return list
}
