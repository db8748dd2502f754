package launcher

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"brainbox/policy"
)

// runsDir is the folder of all per-run folders of the caller.
func runsDir(pl *Place) string { return pl.TmpBase + "/brainbox-" + itoa(pl.EUID) }

// observeHome says which private home the program gets. "keep" is made by Run; a named
// folder must exist, be the caller's, be closed to others and not be his home.
func (f *Facts) observeHome(p *policy.Policy) {
	if p.Bare != nil {
		f.Home.Kind, f.Home.Dir = homeScratch, p.Bare.Scratch
		return
	}
	h := p.Sandbox.Home.V
	f.Home.Kind = h.Kind
	switch h.Kind {
	case "keep":
		top := f.Place.Git
		if top == "" {
			top = f.Place.Cwd
		}
		if f.Place.StateDir() == "" {
			f.Home.Err = fmt.Errorf("there is no home folder to keep it below")
			return
		}
		sum := sha256.Sum256([]byte(resolved(top)))
		f.Home.Dir = f.Place.StateDir() + "/home/" + hex.EncodeToString(sum[:8])
	case "dir":
		f.Home.Dir = h.Dir.Abs
		dir := openPath(h.Dir.Abs)
		f.Home.fd, f.Home.Err, f.Home.Target = dir.fd, dir.Err, dir.Target
		if f.Home.Err == nil {
			f.Home.Err = f.privateFolder(dir.fd, dir.Target)
		}
	default:
		f.Home.Kind = "run"
	}
}

// homeScratch is the kind of home that is no folder of the host's: a worker's tmpfs.
const homeScratch = "scratch"

// privateFolder refuses what cannot be a program's private home.
func (f *Facts) privateFolder(fd int, target string) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return os.NewSyscallError("fstat", err)
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFDIR:
		return fmt.Errorf("%q is not a folder", target)
	case int(st.Uid) != f.Place.EUID:
		return fmt.Errorf("%q is not yours", target)
	case st.Mode&0o077 != 0:
		return fmt.Errorf("%q may be entered by others: its mode must be 0700", target)
	case target == resolved(f.Place.Home):
		return fmt.Errorf("%q is your own home folder", target)
	}
	return nil
}
