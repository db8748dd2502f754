package launcher

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// makeHome finds or makes the private home and puts into it what the toolchains look for.
func (s *session) makeHome() error {
	s.home = s.dir.home
	switch s.facts.Home.Kind {
	case "keep":
		if err := os.MkdirAll(s.facts.Home.Dir, 0o700); err != nil {
			return err
		}
		fallthrough
	case "dir":
		fd, err := openFolder(unix.AT_FDCWD, s.facts.Home.Dir, s.facts.Home.Dir)
		if err != nil {
			return err
		}
		s.home = fd
		if err := s.facts.privateFolder(fd, s.facts.Home.Dir); err != nil {
			return &Refusal{Status: StatusRefused, Clause: "files", Message: "home: " + err.Error(), Hint: "--home run uses a fresh folder"}
		}
	}
	if err := s.writeGitConfig(); err != nil {
		return err
	}
	return s.linkCargo()
}

// writeGitConfig writes the filtered identity beside the home, where the program can
// read it and not change it.
func (s *session) writeGitConfig() error {
	if len(s.plan.GitConfig) == 0 {
		return nil
	}
	fd, err := unix.Openat(s.dir.fd, "gitconfig", unix.O_CREAT|unix.O_EXCL|unix.O_RDWR|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return os.NewSyscallError("openat", err)
	}
	s.dir.gitConfig = fd
	n, err := unix.Write(fd, s.plan.GitConfig)
	if err == nil && n != len(s.plan.GitConfig) {
		err = unix.EIO
	}
	if err != nil {
		return os.NewSyscallError("write", err)
	}
	return nil
}

// linkCargo makes CARGO_HOME: private, with links to the granted registry and sources.
func (s *session) linkCargo() error {
	f := s.facts
	for _, name := range [...]string{"registry", "git"} {
		from := f.Place.Home + "/.cargo/" + name
		if !f.granted(from) {
			continue
		}
		if err := s.linkInto(".cargo", from, name); err != nil {
			return err
		}
	}
	return nil
}

// linkInto makes a link in a folder of the home. A kept home holds what earlier programs
// left: the folder is opened without following a link, or this would write wherever one
// of them points, with the rights of whoever runs brainbox.
func (s *session) linkInto(folder, from, name string) error {
	if err := unix.Mkdirat(s.home, folder, 0o700); err != nil && !errors.Is(err, unix.EEXIST) {
		return os.NewSyscallError("mkdirat", err)
	}
	dir, err := openFolder(s.home, folder, folder)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
		return &Refusal{
			Status: StatusRefused, Message: "the kept home has a link or a file in place of " + folder,
			Hint: "look at it, remove it, or use --home run",
		}
	}
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	if id := s.plan.Identity; id != nil {
		if err := unix.Fchown(dir, int(id.UID), int(id.GID)); err != nil {
			return os.NewSyscallError("fchown", err)
		}
	}
	if err := unix.Symlinkat(from, dir, name); err != nil && !errors.Is(err, unix.EEXIST) {
		return os.NewSyscallError("symlinkat", err)
	}
	return nil
}
