package launcher

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"brainbox/internal/trustpath"
	"brainbox/policy"
)

// ExecPolicyPath is the wrapper's policy, and ExecPolicyEnv the variable by which an
// unprivileged wrapper may be pointed elsewhere.
const (
	ExecPolicyPath = "/etc/brainbox/exec.toml"
	ExecPolicyEnv  = "BRAINBOX_EXEC_POLICY"
)

// maxExecPolicy bounds exec.toml, in bytes.
const maxExecPolicy = 1 << 20

// readExecPolicy reads exec.toml. It and every folder above it must be root's and not
// writable by others: whoever can change it decides what the wrapper holds.
func readExecPolicy(environ []string, uid, euid int) (name string, text []byte, err error) {
	name, rule := ExecPolicyPath, trustpath.Rule{Owners: []uint32{0}, AnyGroup: true}
	if other := lookup(environ, ExecPolicyEnv); other != "" {
		if euid == 0 || uid != euid {
			return "", nil, notHonoured()
		}
		name, rule.Owners = other, []uint32{0, uint32(uid)}
	}
	text, err = trustpath.ReadFile(name, rule, maxExecPolicy)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = &Refusal{
			Status: StatusNotRun, Message: "there is no policy " + quotePath(name),
			Hint: "brainbox.toml(5), EXEC POLICY, has one to start from",
		}
	case err != nil:
		r := &Refusal{Status: StatusNotRun, Message: err.Error()}
		if !errors.Is(err, unix.EMFILE) && !errors.Is(err, unix.ENFILE) { // the limit says enough
			r.Hint = "it and its folders must be root's and not writable by others"
		}
		err = r
	}
	return name, text, err
}

func notHonoured() error {
	return &Refusal{
		Status: StatusNotRun, Message: ExecPolicyEnv + " is not honoured for root or a set-uid wrapper",
		Hint: "put the policy into " + ExecPolicyPath,
	}
}

// ExecPlan decides what brainbox-exec would do for argv, whose first word is the
// absolute path of the program. The caller closes the facts, unless the process becomes
// the program.
func ExecPlan(environ, argv []string) (*Facts, *Plan, error) {
	place, err := Look(environ)
	if err != nil {
		return nil, nil, err
	}
	name, text, err := readExecPolicy(environ, place.UID, place.EUID)
	if err != nil {
		return nil, nil, err
	}
	layer, err := policy.Parse(policy.KindExec, name, text)
	if err != nil {
		return nil, nil, err
	}
	if err := place.become(layer); err != nil {
		return nil, nil, err
	}
	return execPlan(place, layer, argv)
}

// execPlan looks at what the policy names, and decides.
func execPlan(place *Place, layer *policy.Layer, argv []string) (*Facts, *Plan, error) {
	read := func(file string) ([]byte, error) {
		return trustpath.ReadFile(file, trustpath.Rule{Owners: []uint32{0, uint32(place.UID)}, AnyGroup: true}, maxExecPolicy)
	}
	pol, err := policy.Resolve(policy.Input{Vars: place.Vars(), Read: read, Inside: Inside}, layer)
	if err != nil {
		return nil, nil, err
	}
	f, err := Observe(pol, place, Request{Command: argv, Exec: true})
	if err != nil {
		return nil, nil, err
	}
	return f, NewPlan(pol, f), nil
}

// become makes ~ the home of the identity that the program will have.
func (pl *Place) become(l *policy.Layer) error {
	if !l.Policy.Sandbox.Identity.Set {
		return nil
	}
	f := &Facts{Place: pl}
	if err := f.observeIdentity(&l.Policy); err != nil {
		return err
	}
	pl.Home, pl.User, pl.Git = f.Identity.Home, f.Identity.User, ""
	pl.xdg = [5]string{}
	for i, x := range xdgNames {
		if x[1] != "" && pl.Home != "" {
			pl.xdg[i] = pl.Home + "/" + x[1]
		}
	}
	return nil
}

// observeExec finds the folders of a wrapper's program. They stay between calls, one set
// for each user: there is no supervisor that could remove them.
func (f *Facts) observeExec(p *policy.Policy) {
	f.Exec = true
	uid := f.Place.EUID
	if f.Identity != nil {
		uid = int(f.Identity.UID)
	}
	f.RunDir = "/tmp/brainbox-exec-" + itoa(uid)
	if p.Sandbox.TmpRoot != nil {
		f.RunDir = p.Sandbox.TmpRoot.Abs + "/" + itoa(uid)
	}
	dir := lookup(f.Environ, "TMPDIR")
	if dir == "" || dir[0] != '/' {
		return
	}
	tmp := openPath(dir)
	var st unix.Stat_t
	// The caller's own folder is used if nobody but the program can enter it, and if it
	// could be a write grant: a TMPDIR that is the home folder would be one of all of it.
	private := func() bool {
		return unix.Fstat(tmp.fd, &st) == nil && tmp.Dir && int(st.Uid) == uid && st.Mode&0o077 == 0 &&
			!slices.ContainsFunc(f.Critical, func(c Critical) bool { return policy.Below(c.Path, tmp.Target) })
	}
	// A link on the way may be the work of an earlier program of the same user, who owns
	// other folders that are closed to others: his keys.
	if tmp.Err == nil && tmp.Target == filepath.Clean(dir) && private() {
		f.CallerTmp = tmp
		return
	}
	tmp.close()
}

// BecomeProgram turns the process into the planned program. Irreversible: it returns
// only an error, and the caller may then do nothing but report it and exit.
func (p *Plan) BecomeProgram(f *Facts) error {
	if p.Refusal != nil {
		return p.Refusal
	}
	own := [3]int{0, 1, 2}
	if err := p.checkHanded(f, own, nil); err != nil {
		return err
	}
	s := &session{plan: p, facts: f}
	if err := s.prepareExec(); err != nil {
		return err
	}
	filter, err := p.FilterProgram()
	if err != nil {
		return err
	}
	r := s.request(Options{Stdio: own}, filter)
	r.Session, r.DieWithParent = false, false
	return p.startError(becomeRequest(&r))
}

// prepareExec makes the folders of the user and the ruleset.
func (s *session) prepareExec() (err error) {
	if t := s.facts.Place.raised; t != nil {
		s.dir = t.dir
	} else if s.dir, err = openExecDir(s.facts.RunDir, s.plan.Identity); err != nil {
		return err
	}
	s.home = s.dir.home
	if s.facts.Home.Kind == "dir" {
		s.home = s.facts.Home.fd
	}
	if s.facts.CallerTmp.fd > 0 {
		s.dir.tmp = s.facts.CallerTmp.fd
	} else {
		prune(s.facts.RunDir + "/tmp")
	}
	s.ruleset, err = s.buildRuleset()
	return err
}

// openExecDir opens <root>/<uid> with its home, tmp and canary, made where missing.
func openExecDir(path string, id *IdentityFact) (*runDir, error) {
	uid, gid := os.Geteuid(), os.Getegid()
	if id != nil {
		uid, gid = int(id.UID), int(id.GID)
	}
	fd, err := openBase(path)
	if err != nil {
		return nil, err
	}
	r := &runDir{path: path, fd: fd}
	return r, r.fillExec(uid, gid, id != nil)
}

// fillExec makes what is missing of home, tmp and canary. other says that they are for
// another user than the one who makes them.
func (r *runDir) fillExec(uid, gid int, other bool) (err error) {
	for _, d := range []struct {
		name string
		fd   *int
	}{{"home", &r.home}, {"tmp", &r.tmp}} {
		path := r.path + "/" + d.name
		if err := unix.Mkdirat(r.fd, d.name, 0o700); err != nil && !errors.Is(err, unix.EEXIST) {
			return &fs.PathError{Op: "mkdirat", Path: path, Err: err}
		}
		if *d.fd, err = openFolder(r.fd, d.name, path); err != nil {
			return err
		}
		if err := handOver(*d.fd, path, owner{uid, gid, 0o700}); err != nil {
			return err
		}
	}
	if other {
		return errors.Join(r.makeCanary(gid), r.makeOwned("pruned", owner{uid, gid, 0o600}))
	}
	// The self-test tries to make the canary itself. One that is there, from another
	// version or from a start that failed, would answer for the kernel.
	for _, flags := range []int{0, unix.AT_REMOVEDIR} {
		if err := unix.Unlinkat(r.fd, "canary", flags); err == nil || errors.Is(err, unix.ENOENT) {
			break
		}
	}
	return nil
}

// owner is whose a file or folder is, and what its mode says of it.
type owner struct {
	uid, gid int
	mode     uint32 // permission bits, as stat(2)
}

// handOver gives what a descriptor is of, opened with O_PATH or not, to its owner. What a start
// made that was ended before this is root's still, and what the user owns he may have opened to
// others (chmod(2) is nothing that Landlock refuses). It is looked at first: a change would
// change its times as well.
func handOver(fd int, path string, to owner) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return &fs.PathError{Op: "fstat", Path: path, Err: err}
	}
	if os.Geteuid() != 0 {
		return nil
	}
	if int(st.Uid) != to.uid || int(st.Gid) != to.gid && to.uid == 0 {
		if err := unix.Fchownat(fd, "", to.uid, to.gid, unix.AT_EMPTY_PATH); err != nil {
			return &fs.PathError{Op: "fchownat", Path: path, Err: err}
		}
	}
	if st.Mode&0o777 == to.mode {
		return nil
	}
	// fchmod(2) takes no O_PATH descriptor, and fchmodat2(2) is of Linux 6.6.
	if err := unix.Chmod("/proc/self/fd/"+itoa(fd), to.mode); err != nil {
		return &fs.PathError{Op: "chmod", Path: path, Err: err}
	}
	return nil
}

// makeCanary makes the file that the self-test must not be able to write. It is root's, and
// the program's to write by its group: an owner could change the mode, and what refused the
// canary at a later start would not be the kernel's rules.
func (r *runDir) makeCanary(gid int) error { return r.makeOwned("canary", owner{0, gid, 0o620}) }

// makeOwned makes an empty file, and keeps one that is there. That one is not opened: its
// owner can hold a lease, for which root would wait (fcntl(2), F_SETLEASE).
func (r *runDir) makeOwned(name string, to owner) error {
	const flags = unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat(r.fd, name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|flags, 0o600)
	if errors.Is(err, unix.EEXIST) {
		fd, err = unix.Openat(r.fd, name, unix.O_PATH|flags, 0)
	}
	if err != nil {
		return &fs.PathError{Op: "openat", Path: r.path + "/" + name, Err: err}
	}
	return errors.Join(handOver(fd, r.path+"/"+name, to), unix.Close(fd))
}
