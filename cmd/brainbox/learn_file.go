package main

import (
	"errors"
	"io"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"brainbox/launcher"
	"brainbox/policy"
)

// draftFile is where a policy is written when the run is over. Its folder is held from
// before, so that the program cannot have it written elsewhere.
type draftFile struct {
	name  string // absolute, of the folder as it resolves; "": standard output
	base  string
	dir   int
	force bool
	w     io.Writer
}

func newDraftFile(name string, force bool, w io.Writer) (*draftFile, error) {
	if name == "-" {
		return &draftFile{dir: -1, w: w}, nil
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	f := &draftFile{base: filepath.Base(abs), force: force}
	if f.base == "/" {
		return nil, refuse(quote(name)+" is a folder", "-o names a file")
	}
	if f.dir, err = unix.Open(filepath.Dir(abs), unix.O_DIRECTORY|unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		return nil, refuse(quote(filepath.Dir(abs))+": "+err.Error(), "-o names a file in a folder that is there and may be read")
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if err != nil {
		f.close()
		return nil, err
	}
	f.name = filepath.Join(dir, f.base)
	if err := f.free(); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

// free reports whether the name can be taken: it is nobody's, or a file that may be replaced.
func (f *draftFile) free() error {
	var st unix.Stat_t
	err := unix.Fstatat(f.dir, f.base, &st, unix.AT_SYMLINK_NOFOLLOW)
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil
	case err != nil:
		return refuse(quote(f.name)+": "+err.Error(), "")
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return refuse(quote(f.name)+" is there and no regular file", "-o names another one")
	case !f.force:
		return refuse(quote(f.name)+" is there", "--force replaces it")
	}
	return nil
}

func (f *draftFile) close() {
	if f.dir >= 0 {
		unix.Close(f.dir)
		f.dir = -1
	}
}

// write makes the file as a whole, under its name at once. Who has made one of that name
// meanwhile keeps it.
func (f *draftFile) write(text []byte) error {
	if f.name == "" {
		_, err := f.w.Write(text)
		return err
	}
	temp := "." + f.base + "." + strconv.Itoa(unix.Getpid()) + ".tmp"
	if len(temp) > unix.NAME_MAX {
		temp = ".brainbox." + strconv.Itoa(unix.Getpid()) + ".tmp"
	}
	err := f.fill(temp, text)
	if err == nil {
		flags := uint(unix.RENAME_NOREPLACE)
		if f.force {
			if err = f.free(); err == nil {
				flags = 0
			}
		}
		if err == nil {
			err = unix.Renameat2(f.dir, temp, f.dir, f.base, flags)
		}
	}
	if err == nil {
		return nil
	}
	_ = unix.Unlinkat(f.dir, temp, 0)
	if errors.Is(err, unix.EEXIST) {
		return refuse(quote(f.name)+" was made while the program ran", "look who made it; --force replaces it")
	}
	return refuse(quote(f.name)+": "+err.Error(), "-o names a file in a folder that may be written")
}

func (f *draftFile) fill(temp string, text []byte) error {
	fd, err := unix.Openat(f.dir, temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	for len(text) > 0 && err == nil {
		var n int
		if n, err = unix.Write(fd, text); errors.Is(err, unix.EINTR) {
			err = nil
		}
		text = text[max(n, 0):]
	}
	if err == nil {
		err = unix.Fsync(fd)
	}
	return errors.Join(err, unix.Close(fd))
}

// outside refuses a file that the program could write: nobody could say then whose it is, and
// no run takes a policy from there.
func (f *draftFile) outside(facts *launcher.Facts) error {
	if f.name == "" {
		return nil
	}
	for i := range facts.Wants {
		w, p := &facts.Wants[i], &facts.Paths[i]
		if p.Err == nil && w.Right.Writes() && policy.Below(f.name, p.Target) {
			return refuse(quote(f.name)+" lies where the program may write ("+quote(w.Text)+"): the policy would be its own",
				"-o names a file elsewhere, such as ~/.config/brainbox/NAME.toml")
		}
	}
	return nil
}
