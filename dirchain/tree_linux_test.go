package dirchain

import (
	"io/fs"
	"maps"
	"os"
	"strings"
	"syscall"
	"testing"
)

// plant makes a tree from a text: "d/" is a directory, "f" a file that holds its
// own path, "l -> target" a link, "p|" a FIFO. Directories on the way are made.
func plant(t *testing.T, dir, tree string) {
	t.Helper()
	for line := range strings.FieldsSeq(strings.ReplaceAll(tree, " -> ", "->")) {
		name, target, isLink := strings.Cut(line, "->")
		path := dir + "/" + strings.TrimRight(name, "/|")
		err := os.MkdirAll(path[:strings.LastIndexByte(path, '/')], 0o755)
		switch {
		case err != nil:
		case isLink:
			err = os.Symlink(target, path)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o755)
		case strings.HasSuffix(name, "|"):
			err = syscall.Mkfifo(path, 0o644)
		default:
			err = os.WriteFile(path, []byte(name), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// tree lists everything beneath dir in the terms of plant, links not followed.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var all []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		all = append(all, path+mark(d.Type()))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, " ")
}

func mark(kind fs.FileMode) string {
	switch kind {
	case fs.ModeDir:
		return "/"
	case fs.ModeSymlink:
		return "@"
	case fs.ModeNamedPipe:
		return "|"
	default:
		return ""
	}
}

// descriptors are those of this process that name something beneath dir.
func descriptors(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range list {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.HasPrefix(to, dir) {
			all = append(all, to)
		}
	}
	return all
}

// noLeak fails the test when a descriptor beneath dir outlives what is done in it.
// It is called before the root is opened, and judges after that is closed.
func noLeak(t *testing.T, dir string) {
	t.Helper()
	t.Cleanup(func() {
		if left := descriptors(t, dir); len(left) != 0 {
			t.Errorf("descriptors left: %q", left)
		}
	})
}

// snapshot is what is beneath a directory: the content of files, the target of
// links, the kind of the rest.
type snapshot map[string]string

func snap(t *testing.T, dir string) snapshot {
	t.Helper()
	all := snapshot{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		switch d.Type() {
		case 0:
			all[path] = read(t, dir+"/"+path)
		case fs.ModeSymlink:
			to, err := os.Readlink(dir + "/" + path)
			all[path] = "->" + to
			return err
		default:
			all[path] = mark(d.Type())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// without is the snapshot less an entry and what is in it.
func (s snapshot) without(path string) snapshot {
	s = maps.Clone(s)
	maps.DeleteFunc(s, func(p, _ string) bool { return p == path || strings.HasPrefix(p, path+"/") })
	return s
}

// with is the snapshot and directories.
func (s snapshot) with(dirs ...string) snapshot {
	s = maps.Clone(s)
	for _, d := range dirs {
		s[d] = "/"
	}
	return s
}

// moved is the snapshot with an entry under another name.
func (s snapshot) moved(from, to string) snapshot {
	after := s.without(from).without(to)
	for p, what := range s {
		if p == from || strings.HasPrefix(p, from+"/") {
			after[to+strings.TrimPrefix(p, from)] = what
		}
	}
	return after
}
