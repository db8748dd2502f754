package launcher

import (
	"errors"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"brainbox/internal/namescan"
)

// modulesBelow finds the git directories of submodules: their names may have slashes. What
// is inside one is not looked at. The program may put any number of names there: stopped is
// the folder in which the search ended, "" if it saw all.
func modulesBelow(at string) (list []string, stopped string) {
	s := moduleSearch{left: maxModuleNames}
	s.below(at, 0)
	return s.list, s.stopped
}

type moduleSearch struct {
	list    []string
	left    int // names that may still be read
	stopped string
}

func (s *moduleSearch) below(at string, depth int) {
	if s.left <= 0 {
		s.stopped = firstOf(s.stopped, at)
		return
	}
	res, fd, err := flat(at, s.left)
	if err != nil {
		if !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR) && !errors.Is(err, unix.ELOOP) {
			s.stopped = firstOf(s.stopped, at)
		}
		return
	}
	unix.Close(fd)
	if s.left -= res.Count; res.Partial {
		s.stopped = firstOf(s.stopped, at)
	}
	for _, n := range res.Names {
		path := filepath.Join(at, n.Path)
		switch {
		case n.Kind != namescan.Folder:
		case isGitDir(path):
			s.list = append(s.list, path)
		case depth < maxModuleDepth:
			s.below(path, depth+1)
		}
	}
}

// maxModuleNames bounds how many names are read in one search for submodules.
const maxModuleNames = 10_000

// maxModuleDepth bounds the slashes in the name of a submodule.
const maxModuleDepth = 16

// isGitDir reports whether a folder below modules is a git directory, or is meant to be.
func isGitDir(dir string) bool {
	return slices.ContainsFunc([]string{"HEAD", "config", "objects"}, func(name string) bool {
		return unix.Access(dir+"/"+name, unix.F_OK) == nil
	})
}
