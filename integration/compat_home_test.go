package integration

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"brainbox/internal/needs"

	"golang.org/x/sys/unix"
)

// homeScript runs what writes to a home folder by habit.
const homeScript = `
	touch ~/mine; mkdir -p ~/.config ~/.ssh; echo x >~/.config/x
	bash -ic 'HISTFILE=~/.bash_history; history -s x; history -w' || :
	npm config set fund=false; npm init -y; npm ls; npm cache verify
	ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519
	git config --global alias.x status; git gc -q; git stash list
	python3 -c 'import pathlib; (pathlib.Path.home() / "p").write_text("x")'
	python3 -m pip cache dir; python3 -m pip config set global.x y
	vim -es -u NONE -i ~/.viminfo -c 'wviminfo' -c q; cargo init --vcs none --name demo rs;
			(cd rs && cargo build --offline)
	printf 'module demo\n' >go.mod; go list -m; go env -w GOPRIVATE=x
	for f in "$REAL_HOME"/*  "$REAL_HOME"/.[a-z]*; do (echo x >>"$f"); mv "$f" "$f-moved"; ln "$f" link;
			cp README "$f"; done
	echo x >"$REAL_HOME/brainbox-test"; ln -s x "$REAL_HOME/brainbox-test"; mkdir "$REAL_HOME/brainbox-test"
	ls -A ~ | wc -l; `

// TestCompatHome has programs that write to a home folder by habit, and nothing of it
// arrives in the caller's own.
func TestCompatHome(t *testing.T) {
	kernel(t)
	h := newHomeView(t)
	h.run(t, h.dir, "/bin/sh", "-c", `cd && echo x >brainbox-control`)
	if len(h.changes(t)) == 0 {
		t.Fatal("control: a new file in the home folder is not seen")
	}
	h = newHomeView(t)
	dir := newPlace(t)
	dir.fresh(t, "")
	got := h.run(t, dir.work, program("brainbox"), "run", "--env", "REAL_HOME="+h.home, "--",
		"/bin/sh", "-c", homeScript)
	if got.status != 0 || got.out == "0\n" {
		t.Fatalf("status %d\n%s%s", got.status, got.out, got.err)
	}
	for path, how := range h.changes(t) {
		t.Errorf("%s: %s", path, how)
	}
}

// homeView shows every change in a home folder that a program makes, and none that
// others make there meanwhile. For root it is an overlay over the real home folder in a
// mount namespace: what is written, a mode or a time included, ends up in its upper
// folder. Others have a home folder of their own, which is compared.
type homeView struct {
	home   string
	dir    string // upper, work
	wrap   []string
	before map[string]fingerprint
}

const overHome = `mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$1"; shift 2;
			exec "$@"`

func newHomeView(t *testing.T) *homeView {
	t.Helper()
	if os.Geteuid() != 0 {
		_, home, _ := plantedHome(t)
		return &homeView{home: home, dir: t.TempDir(), before: homeState(t, home)}
	}
	needs.Overlay(t)
	home, err := os.UserHomeDir()
	must(t, err)
	h := &homeView{home: home, dir: t.TempDir()}
	for _, name := range []string{"upper", "work"} {
		must(t, os.Mkdir(filepath.Join(h.dir, name), 0o700))
	}
	h.wrap = []string{"unshare", "--mount", "/bin/sh", "-euc", overHome, "sh", home, h.dir}
	return h
}

func (h *homeView) run(t *testing.T, dir string, argv ...string) result {
	t.Helper()
	argv = append(h.wrap[:len(h.wrap):len(h.wrap)], argv...)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "HOME="+h.home)
	return run(t, dir, cmd)
}

// changes lists what a program did to the home folder.
func (h *homeView) changes(t *testing.T) map[string]string {
	t.Helper()
	if h.wrap == nil {
		return changed(h.before, homeState(t, h.home))
	}
	upper := filepath.Join(h.dir, "upper")
	diff := changed(nil, homeState(t, upper))
	delete(diff, upper)
	return diff
}

// fingerprint is what must not change of a name: size, mtime and mode.
type fingerprint struct {
	size, sec, nsec int64
	mode            uint32
}

func homeState(t *testing.T, home string) map[string]fingerprint {
	t.Helper()
	seen := map[string]fingerprint{}
	must(t, filepath.WalkDir(home, func(path string, _ fs.DirEntry, err error) error {
		var st unix.Stat_t
		if err != nil || unix.Lstat(path, &st) != nil {
			return nil // it went away, which the comparison shows
		}
		seen[path] = fingerprint{st.Size, st.Mtim.Sec, st.Mtim.Nsec, st.Mode}
		return nil
	}))
	return seen
}

// changed returns what is not the same in both.
func changed(before, after map[string]fingerprint) map[string]string {
	diff := map[string]string{}
	for path, was := range before {
		if is, ok := after[path]; !ok {
			diff[path] = "gone"
		} else if is != was {
			diff[path] = fmt.Sprintf("was %v, is %v", was, is)
		}
	}
	for path := range after {
		if _, ok := before[path]; !ok {
			diff[path] = "new"
		}
	}
	return diff
}

// asOther lets a command run as an ordinary user, who owns the folders.
func asOther(t *testing.T, cmd *exec.Cmd, owned ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	for _, dir := range owned {
		must(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Lchown(path, otherUser, otherUser)
		}))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: otherUser, Gid: otherUser}}
}
