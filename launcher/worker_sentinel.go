package launcher

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/sys"
)

// sentinel is a folder in the repository with one file, which nobody inside may change.
type sentinel struct {
	repo, dir *os.File
	at        string // of the repository
	name      string // of the folder
	text      string
	ino       uint64 // of the file
}

const (
	sentinelPrefix = ".brainbox-probe-"
	sentinelFile   = "sentinel"
)

func sentinelText(id string) string { return "a probe's sentinel: " + id + "\n" }

// makeSentinel makes it, by descriptors: no link is followed below the repository.
func makeSentinel(repo, id string) (*sentinel, error) {
	s := &sentinel{at: repo, name: sentinelPrefix + id, text: sentinelText(id)}
	at, err := openFolder(unix.AT_FDCWD, repo, repo)
	if err != nil {
		return nil, err
	}
	s.repo = os.NewFile(uintptr(at), repo)
	s.sweep()
	if err := unix.Mkdirat(at, s.name, 0o700); err != nil {
		_ = s.repo.Close()
		return nil, &fs.PathError{Op: "mkdirat", Path: repo + "/" + s.name, Err: err}
	}
	if err := s.fill(); err != nil {
		return nil, errors.Join(err, s.remove())
	}
	return s, nil
}

func (s *sentinel) fill() error {
	dir, err := openFolder(int(s.repo.Fd()), s.name, s.at+"/"+s.name)
	if err != nil {
		return err
	}
	s.dir = os.NewFile(uintptr(dir), s.name)
	if err := unix.Flock(dir, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return &fs.PathError{Op: "flock", Path: s.at + "/" + s.name, Err: err}
	}
	fd, err := unix.Openat(dir, sentinelFile, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return &fs.PathError{Op: "openat", Path: s.path(), Err: err}
	}
	f := os.NewFile(uintptr(fd), s.path())
	_, err = f.WriteString(s.text)
	var st unix.Stat_t
	err = errors.Join(err, unix.Fstat(fd, &st), f.Close())
	s.ino = st.Ino
	return err
}

func (s *sentinel) path() string { return s.at + "/" + s.name + "/" + sentinelFile }

// unchanged looks at what is there now: the one file, and its bytes.
func (s *sentinel) unchanged() error {
	names, err := sys.Names(int(s.dir.Fd()), s.path())
	if err != nil {
		return err
	}
	fd, err := unix.Openat(int(s.dir.Fd()), sentinelFile, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &fs.PathError{Op: "openat", Path: s.path(), Err: err}
	}
	f := os.NewFile(uintptr(fd), s.path())
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, int64(len(s.text))+1))
	var st unix.Stat_t
	if err = errors.Join(err, unix.Fstat(fd, &st)); err != nil {
		return err
	}
	if len(names) != 1 || string(text) != s.text || st.Ino != s.ino || st.Nlink != 1 {
		return errors.New("read-only repository failed: the sentinel was changed")
	}
	return nil
}

// remove takes it away in all outcomes, with what somebody else may have put there.
func (s *sentinel) remove() error {
	if s.dir != nil {
		_ = unix.Unlinkat(int(s.dir.Fd()), sentinelFile, 0)
		_ = s.dir.Close()
	}
	err := unix.Unlinkat(int(s.repo.Fd()), s.name, unix.AT_REMOVEDIR)
	if errors.Is(err, unix.ENOTEMPTY) {
		removeTree(s.at, s.name)
		err = nil
		if unix.Faccessat(int(s.repo.Fd()), s.name, unix.F_OK, unix.AT_SYMLINK_NOFOLLOW) == nil {
			err = unix.ENOTEMPTY
		}
	}
	_ = s.repo.Close()
	if err != nil {
		return &fs.PathError{Op: "the probe's sentinel cannot be removed: rmdir", Path: s.at + "/" + s.name, Err: err}
	}
	return nil
}

// sentinelAge is how old what is swept has to be: a probe that has made its folder and not
// locked it yet is younger.
const sentinelAge = time.Minute

// sweep takes away what a host that was killed in the middle of a probe has left: a folder
// of the caller's by its name, which nobody holds, with nothing in it but a sentinel.
func (s *sentinel) sweep() {
	names, err := sys.Names(int(s.repo.Fd()), s.at)
	if err != nil {
		return
	}
	for _, name := range names {
		if strings.HasPrefix(name, sentinelPrefix) {
			s.sweepOne(name)
		}
	}
}

func (s *sentinel) sweepOne(name string) {
	dir, err := openFolder(int(s.repo.Fd()), name, s.at+"/"+name)
	if err != nil {
		return
	}
	defer unix.Close(dir)
	var st unix.Stat_t
	if unix.Fstat(dir, &st) != nil || int(st.Uid) != os.Geteuid() || time.Since(time.Unix(st.Mtim.Unix())) < sentinelAge {
		return
	}
	if unix.Flock(dir, unix.LOCK_EX|unix.LOCK_NB) != nil {
		return
	}
	names, err := sys.Names(dir, s.at+"/"+name)
	if err != nil || len(names) > 1 || len(names) == 1 && !isSentinel(dir, strings.TrimPrefix(name, sentinelPrefix)) {
		return
	}
	_ = unix.Unlinkat(dir, sentinelFile, 0)
	_ = unix.Unlinkat(int(s.repo.Fd()), name, unix.AT_REMOVEDIR) // not if there is more in it
}

// isSentinel reports whether the file in a folder is what a probe wrote there, or a part.
func isSentinel(dir int, id string) bool {
	fd, err := unix.Openat(dir, sentinelFile, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	f := os.NewFile(uintptr(fd), sentinelFile)
	defer f.Close()
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return false
	}
	want := sentinelText(id)
	text, err := io.ReadAll(io.LimitReader(f, int64(len(want))+1))
	return err == nil && strings.HasPrefix(want, string(text))
}
