package launcher

import (
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"brainbox/internal/sys"
	"brainbox/policy"
)

// Place is who calls, from where, with which folders. Policies expand their paths
// from it, never from the raw environment.
type Place struct {
	UID, EUID, GID int
	User           string // "" if /etc/passwd does not know the uid
	Shell          string
	Home           string // "" if there is none
	Cwd            string // absolute, as the kernel spells it
	Git            string // top level of the checkout around Cwd, "" outside
	TmpBase        string // where per-run folders go
	xdg            [5]string
	shell          string // Shell, links resolved
	environ        []string
	raised         *raisedStart // a set-uid start: the identity is the process's already
}

// xdgNames are the variables a policy may name; their defaults below the home
// (XDG base directory specification). XDG_RUNTIME_DIR has none.
var xdgNames = [5][2]string{
	{"XDG_CONFIG_HOME", ".config"},
	{"XDG_CACHE_HOME", ".cache"},
	{"XDG_DATA_HOME", ".local/share"},
	{"XDG_STATE_HOME", ".local/state"},
	{"XDG_RUNTIME_DIR", ""},
}

// Look finds out where the caller stands. Values of the environment are used only
// where they are absolute and what they name is the caller's own.
func Look(environ []string) (*Place, error) {
	pl := &Place{UID: unix.Getuid(), EUID: unix.Geteuid(), GID: unix.Getgid(), environ: environ}
	cwd, err := unix.Getwd()
	if err != nil {
		return nil, &Refusal{
			Status: StatusRefused, Clause: "files", Message: "the current directory cannot be named: " + err.Error(),
			Hint: "change to an existing directory first",
		}
	}
	pl.Cwd = cwd
	who := passwdEntry(readSmall("/etc/passwd"), pl.UID)
	pl.User, pl.Shell, pl.shell = who.name, who.shell, resolved(who.shell)
	pl.Home = pl.pickHome(lookup(environ, "HOME"), who.home)
	for i, x := range xdgNames {
		if v := lookup(environ, x[0]); filepath.IsAbs(v) && pl.owned(v) {
			pl.xdg[i] = filepath.Clean(v)
		} else if x[1] != "" && pl.Home != "" {
			pl.xdg[i] = pl.Home + "/" + x[1]
		}
	}
	// A home folder that is itself a checkout is no reason to open the whole home.
	if top := gitTop(cwd); top != "" && (pl.Home == "" || !policy.Below(pl.Home, top)) {
		pl.Git = top
	}
	pl.TmpBase = tmpBase(lookup(environ, "TMPDIR"), pl.EUID)
	return pl, nil
}

// Vars is the table that policies expand from.
func (pl *Place) Vars() policy.Vars {
	return policy.Vars{
		Home: pl.Home, Pwd: pl.Cwd, TmpDir: pl.TmpBase, User: pl.User, Git: pl.Git, Cwd: pl.Cwd,
		XDGConfig: pl.xdg[0], XDGCache: pl.xdg[1], XDGData: pl.xdg[2], XDGState: pl.xdg[3], XDGRuntime: pl.xdg[4],
	}
}

// StateDir is where brainbox keeps homes, keys and the audit file; "" without a home.
func (pl *Place) StateDir() string {
	if pl.xdg[3] == "" {
		return ""
	}
	return pl.xdg[3] + "/brainbox"
}

// ConfigDir is where the caller's own policy lies; "" without a home.
func (pl *Place) ConfigDir() string {
	if pl.xdg[0] == "" {
		return ""
	}
	return pl.xdg[0] + "/brainbox"
}

// pickHome prefers $HOME if it is the caller's own folder. A root start and a set-uid
// one believe /etc/passwd only: their $HOME is often somebody else's.
func (pl *Place) pickHome(env, passwd string) string {
	if pl.EUID != 0 && pl.UID == pl.EUID && filepath.IsAbs(env) {
		if env = filepath.Clean(env); env != "/" && pl.owned(env) {
			return env
		}
	}
	if filepath.IsAbs(passwd) && passwd != "/" {
		return filepath.Clean(passwd)
	}
	return ""
}

// owned reports whether dir is an existing folder of the caller.
func (pl *Place) owned(dir string) bool {
	var st unix.Stat_t
	return unix.Stat(dir, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR && int(st.Uid) == pl.EUID
}

// tmpBase is TMPDIR if it is ours, or root's with the sticky bit, below no folder
// that others may write; else /tmp.
func tmpBase(dir string, uid int) string {
	if !filepath.IsAbs(dir) {
		return "/tmp"
	}
	dir = filepath.Clean(dir)
	if policy.Below(dir, sharedMemory) {
		return "/tmp" // every program may be granted that folder: runs would see each other
	}
	var st unix.Stat_t
	if unix.Lstat(dir, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return "/tmp"
	}
	mine := int(st.Uid) == uid && st.Mode&0o022 == 0
	if !mine && (st.Uid != 0 || st.Mode&unix.S_ISVTX == 0) {
		return "/tmp"
	}
	for up := filepath.Dir(dir); ; up = filepath.Dir(up) {
		if unix.Lstat(up, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
			return "/tmp"
		}
		// Its owner can rename what is below it, whatever the mode says.
		if st.Uid != 0 && int(st.Uid) != uid || st.Mode&0o022 != 0 && st.Mode&unix.S_ISVTX == 0 {
			return "/tmp"
		}
		if up == "/" {
			return dir
		}
	}
}

// gitTop walks up from dir to the first folder with a .git in it.
func gitTop(dir string) string {
	var st unix.Stat_t
	for ; ; dir = filepath.Dir(dir) {
		if unix.Lstat(strings.TrimSuffix(dir, "/")+"/.git", &st) == nil {
			return dir
		}
		if dir == "/" {
			return ""
		}
	}
}

type passwdUser struct{ name, home, shell string }

// passwdEntry finds a uid in the text of /etc/passwd (passwd(5)).
func passwdEntry(text string, uid int) passwdUser {
	want := strconv.Itoa(uid)
	for len(text) > 0 {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		f := strings.Split(line, ":")
		if len(f) == 7 && f[2] == want {
			return passwdUser{name: f[0], home: f[5], shell: f[6]}
		}
	}
	return passwdUser{}
}

// lookup returns the last value of a name in an environment block, as exec does.
func lookup(environ []string, name string) string {
	for i := len(environ) - 1; i >= 0; i-- {
		if n, v, ok := strings.Cut(environ[i], "="); ok && n == name {
			return v
		}
	}
	return ""
}

// maxSmall bounds what readSmall reads, in bytes.
const maxSmall = 8 << 20

// readSmall reads a small file; "" if it cannot, or if it is too large or no regular
// file: in a hostile checkout a name may lead to a FIFO.
func readSmall(path string) string {
	text, err := readSmallErr(path)
	if err != nil {
		return ""
	}
	return text
}

func readSmallErr(path string) (string, error) {
	b, err := sys.ReadFile(path, maxSmall)
	return string(b), err
}
