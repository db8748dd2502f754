package launcher

import (
	"path/filepath"
	"strconv"
	"strings"

	"brainbox/landlock"
	"brainbox/policy"
)

// The bounds of what the program keeps in memory: it is the host's memory, and without a
// memory limit nothing else bounds it. TMPDIR is on the disk.
const (
	tmpOptions = "mode=1777 size=512m nr_inodes=131072"
	shmOptions = "mode=1777 size=256m nr_inodes=16384"
)

// ownPlaces makes what every run has: /proc, /dev, /tmp, /run.
func (m *mounter) ownPlaces() {
	m.fs("/proc", ownForeign, Mount{FSType: "proc"})
	m.right("/proc", landlock.Read, false)
	m.at("/dev").own = ownFolder
	m.devices()
	m.fs("/dev/pts", ownForeign, Mount{
		FSType: "devpts", Options: []string{"newinstance", "ptmxmode=0666", "mode=0620"}, Writable: true, Devices: true,
	})
	m.right("/dev/pts", landlock.Write, true)
	m.fs(sharedMemory, ownFolder, Mount{FSType: "tmpfs", Options: strings.Fields(shmOptions), Writable: true})
	m.fs("/tmp", ownFolder, Mount{FSType: "tmpfs", Options: strings.Fields(tmpOptions), Writable: true, Exec: true})
	m.at("/run").own = ownFolder
	m.scratch()
	m.grants = append(m.grants, Mount{Kind: MountGrant, Path: "/", List: true, Origin: -1})
	for i := range m.f.Wants {
		if at := m.f.Paths[i].Target; m.d.counts(i) && (at == "/" || at == "/dev") {
			m.right("/", rightOf(m.f.Wants[i].Right), false) // only parts of it are mounted
		}
	}
}

// scratch is a worker's own tmpfs. A place that does not belong to the run is refused when
// the steps are written down: nothing is made below a tree of the host's.
func (m *mounter) scratch() {
	bare := m.d.pol.Bare
	if bare == nil {
		return
	}
	m.fs(bare.Scratch, ownFolder, Mount{
		FSType: "tmpfs", Writable: true, Exec: true, Clause: "files", Value: "scratch",
		Options: []string{
			"mode=0700", "uid=" + strconv.Itoa(m.f.Place.EUID), "gid=" + strconv.Itoa(m.f.Place.GID),
			"size=" + strconv.FormatInt(bare.Size, 10), "nr_inodes=" + strconv.FormatInt(bare.Inodes, 10),
		},
	})
}

func (m *mounter) isScratch(path string) bool {
	return m.d.pol.Bare != nil && m.d.pol.Bare.Scratch == path
}

// fs mounts a file system of the run's own.
func (m *mounter) fs(path string, own ownKind, fs Mount) {
	fs.Kind, fs.Path, fs.Origin = MountFS, path, -1
	s := m.at(path)
	s.own, s.make = own, []Mount{fs}
}

// right grants what is made for the run: no ruleset that was made before can hold it.
func (m *mounter) right(path string, r landlock.Right, device bool) {
	m.grants = append(m.grants, Mount{Kind: MountGrant, Path: path, Right: r, Device: device, Origin: -1})
}

// devices fills /dev: the host's few harmless ones, and the names that lead to a program's
// own descriptors. A device can be written to through a read-only mount, and nothing else
// can be done to it: root's program would take the host's /dev/null from everybody else by
// one chmod(2). The run's terminal is /dev/console: the number that it has on the host
// is another terminal's here (ttyname(3)).
func (m *mounter) devices() {
	for i := range m.f.Wants {
		w, p := &m.f.Wants[i], &m.f.Paths[i]
		if !w.Always || p.Err != nil || w.Clause != "" || !policy.Below(w.Abs, "/dev") {
			continue
		}
		path := w.Abs
		if policy.Below(p.Target, "/dev/pts") {
			path = "/dev/console"
		} else if filepath.Dir(path) != "/dev" {
			continue
		}
		s := m.at(path)
		s.own = ownFile
		s.make = []Mount{
			{Kind: MountFile, Path: path, Mode: 0o444, Origin: -1},
			{
				Kind: MountBind, Path: path, Source: p.Target, Held: Held{HeldPath, i}, Devices: true,
				Value: w.Text, Origin: -1,
			},
		}
	}
	for name, text := range map[string]string{
		"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
		"ptmx": "pts/ptmx",
	} {
		m.at("/dev/" + name).link = text
	}
}

// synthesise makes the files that the profile names and that are made for each run, whether
// or not the host has them. What an operator grants is the file itself.
func (m *mounter) synthesise() {
	for i := range m.f.Wants {
		if m.d.synthesised(i) {
			m.file(i)
		}
	}
}

// synthesised reports whether an entry names such a file.
func (d *planner) synthesised(i int) bool {
	w := &d.facts.Wants[i]
	return d.made(w.Abs) && w.Right.Grants() && d.fromProfile(w) && !d.operatorGrants(w.Abs)
}

func (d *planner) made(path string) bool {
	switch path {
	case "/etc/passwd", "/etc/group", resolvConf:
		return true
	case nsswitchConf, hostsFile:
		return d.pol.Network.Mode.V == policy.NetProxy
	}
	return false
}

func (m *mounter) file(i int) {
	w := &m.f.Wants[i]
	var text string
	switch w.Abs {
	case "/etc/passwd":
		text = m.passwd()
	case "/etc/group":
		text = m.group()
	case resolvConf:
		text = m.resolv()
	case nsswitchConf:
		text = nsswitchText
	case hostsFile:
		text = m.hosts()
	}
	s := m.at(w.Abs)
	s.own = ownFile
	s.make = []Mount{{
		Kind: MountFile, Path: w.Abs, Mode: 0o444, Data: []byte(text), Clause: "files", Value: w.Text, Origin: w.Source,
	}}
	m.grants = append(m.grants, Mount{Kind: MountGrant, Path: w.Abs, Right: landlock.Read, File: true, Origin: -1})
}

func (d *planner) operatorGrants(path string) bool {
	for i := range d.facts.Wants {
		w, p := &d.facts.Wants[i], &d.facts.Paths[i]
		if p.Err != nil || w.Always || !w.Right.Grants() || d.fromProfile(w) {
			continue
		}
		if policy.Below(path, w.Abs) || policy.Below(path, p.Target) {
			return true
		}
	}
	return false
}

// who is the user that the program runs as.
func (m *mounter) who() (name string, uid, gid int) {
	if id := m.f.Identity; id != nil {
		return id.User, int(id.UID), int(id.GID)
	}
	return m.f.Place.User, m.f.Place.EUID, m.f.Place.GID
}

// passwd has the program's user, root and nobody (passwd(5)): the others are nobody's
// business.
func (m *mounter) passwd() string {
	name, uid, gid := m.who()
	shell := "/bin/sh"
	if m.f.shellGranted() && m.f.Place.Shell != "" {
		shell = m.f.Place.Shell
	}
	line := func(name string, uid, gid int, home, shell string) string {
		return strings.Join([]string{name, "x", strconv.Itoa(uid), strconv.Itoa(gid), "", home, shell}, ":") + "\n"
	}
	text := ""
	if uid != 0 {
		text = line("root", 0, 0, "/root", "/usr/sbin/nologin")
	}
	text += line(plainName(name, "user"), uid, gid, m.f.homeDir(), shell)
	return text + line("nobody", nobody, nobody, "/", "/usr/sbin/nologin")
}

// group has the groups of the same users (group(5)).
func (m *mounter) group() string {
	name, _, gid := m.who()
	text := "root:x:0:\n"
	if gid != 0 {
		if m.f.Identity == nil {
			name = firstOf(m.in.Group, name)
		}
		text += plainName(name, "users") + ":x:" + strconv.Itoa(gid) + ":\n"
	}
	return text + "nogroup:x:" + strconv.Itoa(nobody) + ":\n"
}

// nobody is the user and the group that ids show as which do not exist inside
// (user_namespaces(7)).
const nobody = 65534

// plainName is a name that cannot end its field.
func plainName(name, instead string) string {
	if name == "" || strings.ContainsAny(name, ":\n,") {
		return instead
	}
	return name
}
