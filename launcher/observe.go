package launcher

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"brainbox/internal/nofile"
	"brainbox/landlock"
	"brainbox/policy"
)

// Request is what the caller asks to run.
type Request struct {
	Command []string // argv; empty for a check without a command
	Exec    bool     // brainbox-exec: no supervisor, Command[0] is an absolute path

	// Untried leaves finding out whether namespaces are offered to the start. The plan that
	// follows says "namespaces" then, and the run may be one in isolation landlock all the
	// same, which it says ([Result.Plan]).
	Untried bool

	Bridge *Bridge // nil: the program calls nobody
	Proxy  *Proxy  // nil: nobody serves hosts by name, nor published ports
}

// Observe looks at everything that p names, once, and holds what it found. It creates
// nothing, and changes nothing but the process's umask for a moment (to 077 and back:
// umask(2) cannot be read otherwise). It starts nothing but a process that makes the
// namespaces and ends, where the policy's isolation is not landlock ([Facts.Try]).
//
// An error means that the caller's own surroundings cannot be read; what is wrong with
// an entry of the policy is in the facts and decided by [NewPlan].
func Observe(p *policy.Policy, pl *Place, req Request) (*Facts, error) {
	f := &Facts{Place: pl, Command: req.Command, Environ: pl.environ, Proxy: req.Proxy}
	if !req.Exec {
		name, err := newRunName()
		if err != nil {
			return nil, err
		}
		f.RunDir = runsDir(pl) + "/" + name
	}
	f.Landlock, f.LandlockErr = landlock.Probe()
	f.observeProcess()
	if p.Bare != nil {
		f.Terminal, f.ReadBack = false, [3]bool{}
	}
	f.Wants = append(wants(p, pl), bridgePrograms(req.Bridge)...)
	f.Paths = make([]PathFact, len(f.Wants))
	for i := range f.Wants {
		f.Paths[i] = look(&f.Wants[i])
	}
	f.observeCwd(p)
	f.observeHome(p)
	mountinfo := readSmall("/proc/self/mountinfo")
	f.Mounts = mountPoints(mountinfo)
	f.observeOtherNames(mountinfo)
	f.Critical = critical(p, pl, req.Exec)
	for _, look := range [...]func() error{
		func() error { return f.observeEnv(p) },
		func() error { return f.observeIdentity(p) },
		func() error { return f.observeBridge(req.Bridge) },
	} {
		if err := look(); err != nil {
			f.Close()
			return nil, err
		}
	}
	if req.Exec {
		f.observeExec(p)
	}
	f.observeSeccomp(p)
	f.Path = searchPath(lookup(pl.environ, "PATH"), f)
	f.observeCommand(req)
	if !req.Exec {
		if p.Bare == nil {
			f.GitConfig = gitIdentity(pl)
		}
		f.Cgroup = cgroupFact(p, mountinfo)
		if wantsInside(p) {
			f.observeInside(p)
			if f.Untried = req.Untried; !f.Untried {
				f.Try(p)
			}
		} else {
			f.observeTop(p)
			f.observeSockets(p, mountinfo)
		}
	}
	return f, nil
}

// observeCommand finds the program. A wrapper takes none by a search, or by another spelling.
func (f *Facts) observeCommand(req Request) {
	if len(req.Command) == 0 {
		return
	}
	name := req.Command[0]
	if req.Exec && (!filepath.IsAbs(name) || filepath.Clean(name) != name) {
		f.FileErr = &os.PathError{Op: "exec", Path: name, Err: unix.EINVAL}
		return
	}
	f.File, f.FileErr = findCommand(name, f.Path, f.Cwd.Target)
}

// errNotLooked marks a path that isolation landlock has no use for: an optional
// protect entry is declared open by its name alone.
var errNotLooked = errors.New("not looked at")

// look opens what a rule will be made of. An operator's protect and deny entries are
// opened too: whether they lie inside a write grant is judged on the resolved path.
func look(w *Want) PathFact {
	if w.Right == policy.RightProtect && w.Optional {
		return PathFact{Err: errNotLooked}
	}
	p := openPath(w.Abs)
	if p.Err != nil && (w.Right == policy.RightProtect || w.Right == policy.RightDeny) {
		// Absent now, but the program could make it: where would it be?
		p.Target = resolvedPrefix(w.Abs)
	}
	return p
}

func (f *Facts) observeProcess() {
	f.Umask = unix.Umask(0o077)
	unix.Umask(f.Umask)
	for fd := range f.Handed {
		f.Handed[fd] = handed(fd)
	}
	for _, fd := range []int{1, 2} {
		var st unix.Stat_t
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if err == nil && flags&unix.O_ACCMODE == unix.O_RDWR && unix.Fstat(fd, &st) == nil {
			f.ReadBack[fd] = st.Mode&unix.S_IFMT == unix.S_IFREG
		}
	}
	if fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY, 0); err == nil {
		f.Terminal = true
		unix.Close(fd)
	}
	if soft, hard, ok := nofile.Original(); ok {
		f.NoFile = [2]uint64{soft, hard}
	}
	f.SetPCap = hasCapability(unix.CAP_SETPCAP)
	f.Core = observeCore()
}

func observeCore() CoreFact {
	f := CoreFact{Handler: coreHandler(readSmall("/proc/sys/kernel/core_pattern"))}
	var now unix.Rlimit
	if f.None = unix.Getrlimit(unix.RLIMIT_CORE, &now) == nil && now.Max == 0; f.None {
		f.Raise = hasCapability(unix.CAP_SYS_RESOURCE)
	}
	return f
}

// coreHandler reads core_pattern, which ends with a line feed even if it is empty.
func coreHandler(pattern string) CoreHandler {
	if pattern == "" {
		return CoreUnknown
	}
	switch pattern[0] {
	case '|':
		return CoreProgram
	case '@':
		return CoreSocket
	}
	return CoreFile
}

// hasCapability reports whether the calling thread has c in its effective set
// (capget(2)).
func hasCapability(c uint) bool {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return unix.Capget(&hdr, &data[0]) == nil && data[c/32].Effective&(1<<(c%32)) != 0
}

func (f *Facts) observeCwd(p *policy.Policy) {
	dir := f.Place.Cwd
	if p.Sandbox.Cwd != nil {
		dir = p.Sandbox.Cwd.Abs
	}
	f.Cwd = openPath(dir)
	if f.Cwd.Err == nil && !f.Cwd.Dir {
		f.Cwd.close()
		f.Cwd.Err = &os.PathError{Op: "chdir", Path: dir, Err: unix.ENOTDIR}
	}
}

// findCommand looks a program up as execvp(3) would, on the given PATH.
func findCommand(name, path, cwd string) (string, error) {
	if name == "" {
		return "", &os.PathError{Op: "exec", Path: name, Err: unix.ENOENT}
	}
	if filepath.IsAbs(name) || filepath.Base(name) != name {
		if !filepath.IsAbs(name) {
			name = cwd + "/" + name
		}
		return name, executable(name)
	}
	found := error(unix.ENOENT)
	for _, dir := range filepath.SplitList(path) {
		file := dir + "/" + name
		err := executable(file)
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR) {
			found = err
		}
	}
	if errors.Is(found, unix.ENOENT) {
		return "", &os.PathError{Op: "exec", Path: name, Err: unix.ENOENT}
	}
	return "", found
}

// executable says why a file cannot be executed by the caller: nil, or a PathError.
func executable(file string) error {
	var st unix.Stat_t
	err := unix.Stat(file, &st)
	switch {
	case err != nil:
	case st.Mode&unix.S_IFMT == unix.S_IFDIR:
		err = unix.EISDIR
	default:
		err = unix.Faccessat(unix.AT_FDCWD, file, unix.X_OK, unix.AT_EACCESS)
	}
	if err != nil {
		return &os.PathError{Op: "exec", Path: file, Err: err}
	}
	return nil
}
