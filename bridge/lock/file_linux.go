package lock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// FileLock joins a key to a lock file of the host's (flock(2)), so that other programs that
// take the same file are kept out as well. No key has one unless the host says so with
// [Set.UseFile]. It is for one key of one Set: flock does not keep two holders of the same open
// file apart.
type FileLock struct{ f *os.File }

// NewFileLock takes a file that is open: a regular file with one name, which belongs to the
// caller or to root and which nobody else may write. Anything else is fs.ErrPermission: who
// may write the file, or has a name for it, could hold the lock for ever. The file stays
// open as long as the lock is in use, and is closed by the caller.
func NewFileLock(f *os.File) (*FileLock, error) {
	if f == nil {
		return nil, fmt.Errorf("%w: no file", ErrConfig)
	}
	var st unix.Stat_t
	if err := control(f, func(fd int) error { return unix.Fstat(fd, &st) }); err != nil {
		return nil, fmt.Errorf("lock: %w", os.NewSyscallError("fstat", err))
	}
	owned := st.Uid == 0 || int(st.Uid) == os.Geteuid()
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink != 1 || !owned || st.Mode&0o022 != 0 {
		return nil, fmt.Errorf("lock: %w: a lock file must be a regular file with one name that only the host may write", fs.ErrPermission)
	}
	return &FileLock{f: f}, nil
}

// UseFile makes every holder of key hold the lock file too. It is called before the key is
// taken for the first time; nil takes the file away again.
func (s *Set) UseFile(key string, l *FileLock) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files == nil {
		s.files = map[string]*FileLock{}
	}
	s.files[s.keyOf(key)] = l
}

func (s *Set) file(key string) *FileLock {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.files[key]
}

// How often another program's lock is looked at. A call that blocks could not be cancelled.
const (
	firstLook = time.Millisecond
	lastLook  = 50 * time.Millisecond
)

// lock waits for the file as Acquire waits for the key.
func (l *FileLock) lock(ctx context.Context, key string, limit time.Duration, start time.Time) error {
	t := time.NewTimer(firstLook)
	defer t.Stop()
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		err := control(l.f, func(fd int) error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) })
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
			continue
		case !errors.Is(err, unix.EWOULDBLOCK):
			return fmt.Errorf("lock: %w", os.NewSyscallError("flock", err))
		}
		if limit > 0 {
			left := limit - time.Since(start)
			if left <= 0 {
				return &BusyError{Key: key, Waited: time.Since(start)}
			}
			pause = min(pause, left)
		}
		t.Reset(pause)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
		}
	}
}

// unlock cannot fail on a file that is open; closing it unlocks it as well.
func (l *FileLock) unlock() {
	_ = control(l.f, func(fd int) error { return unix.Flock(fd, unix.LOCK_UN) })
}

// control calls do with the descriptor, which stays what it is meanwhile.
func control(f *os.File, do func(fd int) error) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := c.Control(func(fd uintptr) { inner = do(int(fd)) }); err != nil {
		return err
	}
	return inner
}
