package lock

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// openLock is a lock file, and the same file as another program has it open.
func openLock(t *testing.T) (l *FileLock, other *os.File) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "repo-git.lock")
	var files [2]*os.File
	for i := range files {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		files[i] = f
	}
	l, err := NewFileLock(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return l, files[1]
}

func flock(t *testing.T, f *os.File, how int) error {
	t.Helper()
	return unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
}

// TestFileLock: the other program is kept out, keeps us out, and a set without a file does
// not care.
func TestFileLock(t *testing.T) {
	l, other := openLock(t)
	var s Set
	s.UseFile(RepoGit, l)
	err := s.WithLocks(t.Context(), []string{RepoGit}, func() error {
		if err := flock(t, other, unix.LOCK_EX); !errors.Is(err, unix.EWOULDBLOCK) {
			t.Errorf("the other program got it: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := flock(t, other, unix.LOCK_EX); err != nil {
		t.Fatalf("it was not released: %v", err)
	}
	never := func() error { t.Error("ran without the file"); return nil }
	var b *BusyError
	if err := s.With(t.Context(), []string{RepoGit}, Options{Wait: 30 * time.Millisecond}, never); !errors.As(err, &b) || b.Waited < 30*time.Millisecond {
		t.Errorf("bounded: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if err := s.WithLocks(ctx, []string{RepoGit}, never); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("cancelled: %v", err)
	}
	if held := s.Held(); len(held) != 0 {
		t.Errorf("held: %q", held)
	}
	ran := 0
	count := func() error { ran++; return nil }
	if err := errors.Join(s.WithLocks(t.Context(), []string{BrainDocs}, count), new(Set).WithLocks(t.Context(), []string{RepoGit}, count)); err != nil || ran != 2 {
		t.Errorf("off by default: %v, ran %d", err, ran)
	}
	fd := int(other.Fd())
	time.AfterFunc(20*time.Millisecond, func() { _ = unix.Flock(fd, unix.LOCK_UN) })
	if err := s.WithLocks(t.Context(), []string{RepoGit}, count); err != nil || ran != 3 {
		t.Errorf("after the other program: %v, ran %d", err, ran)
	}
}

// TestFileLockTwice: a second release does not take the file from the next holder.
func TestFileLockTwice(t *testing.T) {
	l, other := openLock(t)
	var s Set
	s.UseFile(RepoGit, l)
	first, err := s.Acquire(t.Context(), RepoGit, Options{})
	if err != nil {
		t.Fatal(err)
	}
	first()
	second, err := s.Acquire(t.Context(), RepoGit, Options{})
	if err != nil {
		t.Fatal(err)
	}
	first()
	if err := flock(t, other, unix.LOCK_EX); !errors.Is(err, unix.EWOULDBLOCK) || !s.Locked(RepoGit) {
		t.Errorf("the second holder lost the file: %v", err)
	}
	second()
	if err := flock(t, other, unix.LOCK_EX); err != nil {
		t.Error(err)
	}
}

// TestFileLockRefused: what somebody else could hold for ever is no lock file.
func TestFileLockRefused(t *testing.T) {
	dir := t.TempDir()
	open := func(name string, mode os.FileMode) *os.File {
		path := filepath.Join(dir, name)
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return f
	}
	linked := open("linked", 0o600)
	if err := os.Link(filepath.Join(dir, "linked"), filepath.Join(dir, "second")); err != nil {
		t.Fatal(err)
	}
	folder, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	for name, f := range map[string]*os.File{
		"written by all": open("all", 0o602), "written by the group": open("group", 0o620), "two names": linked, "a folder": folder,
	} {
		if l, err := NewFileLock(f); !errors.Is(err, fs.ErrPermission) || l != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := NewFileLock(nil); !errors.Is(err, ErrConfig) {
		t.Errorf("no file: %v", err)
	}
	if _, err := NewFileLock(open("good", 0o644)); err != nil {
		t.Errorf("the control: %v", err)
	}
	closed := open("closed", 0o600)
	l, err := NewFileLock(closed)
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	var s Set
	s.UseFile(RepoGit, l)
	if err := s.WithLocks(t.Context(), []string{RepoGit}, func() error { t.Error("ran"); return nil }); err == nil || s.Locked(RepoGit) {
		t.Errorf("a closed file: %v", err)
	}
}
