package launcher

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/policy"
)

// small is the file system that random policies and operations are about: the same at each
// building, but for what single operations need of their own.
type small struct {
	root    string
	hot     []string // folders that a policy grants, or that hold what it grants
	entries []string // paths that a policy names
}

// folders of a small world, the outer ones first. They hold the same names each.
var smallFolders = []string{"a", "a/b", "a/b/c", "a/d e", "x", "x/y", "x/y/z", "q"}

// smallNames are in every folder; smallLinks too, and where they lead.
var (
	smallNames = []string{"f", "prog", "sp ace", "fifo", "sock", "dir"}
	smallLinks = map[string]string{
		"out": "/q/f", "up": "../f", "tree": "/x/y", "none": "nowhere", "chain": "tree",
	}
)

// build makes the world anew. What was there before goes.
func (w small) build(t testing.TB) {
	t.Helper()
	all := []error{os.RemoveAll(w.root), os.Mkdir(w.root, 0o755)}
	for _, dir := range smallFolders {
		dir = w.root + "/" + dir
		all = append(all, os.Mkdir(dir, 0o755))
		for _, name := range smallNames {
			if kindOfName(name) == KindSocket {
				all = append(all, awaited(t, dir+"/"+name))
				continue
			}
			all = append(all, w.make(dir+"/"+name, kindOfName(name)))
		}
		for name, to := range smallLinks {
			if strings.HasPrefix(to, "/") {
				to = w.root + to
			}
			all = append(all, os.Symlink(to, dir+"/"+name))
		}
	}
	// One file with names in two trees.
	all = append(all, os.Link(w.root+"/a/f", w.root+"/x/hard"), os.Link(w.root+"/x/f", w.root+"/a/b/hard"))
	if err := errors.Join(all...); err != nil {
		t.Fatal(err)
	}
}

// lay makes, or makes again, what the operations work on.
func (w small) lay(t testing.TB, cases []agreeCase) {
	t.Helper()
	var all []error
	for i := range cases {
		c := &cases[i]
		if !c.own {
			continue
		}
		all = append(all, os.RemoveAll(c.op.Path))
		if c.op.Op != OpCreate {
			all = append(all, w.make(c.op.Path, c.op.Kind))
		}
		if c.op.Dest != "" {
			all = append(all, os.RemoveAll(c.op.Dest), w.make(c.op.Dest, c.op.Over))
		}
	}
	if err := errors.Join(all...); err != nil {
		t.Fatal(err)
	}
}

// clear takes that away again.
func (small) clear(cases []agreeCase) {
	for i := range cases {
		if c := &cases[i]; c.own {
			_, _ = os.RemoveAll(c.op.Path), os.RemoveAll(c.op.Dest)
		}
	}
}

func kindOfName(name string) FileKind {
	switch name {
	case "fifo":
		return KindFIFO
	case "sock":
		return KindSocket
	case "dir":
		return KindFolder
	}
	return KindRegular
}

// awaited makes a socket that somebody listens at, until the test ends: of another one the
// kernel does not ask Landlock.
func awaited(t testing.TB, path string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		return err
	}
	return unix.Listen(fd, unix.SOMAXCONN)
}

// make puts something of a kind at a path. A socket is bound, and nobody listens.
func (small) make(path string, kind FileKind) error {
	switch kind {
	case KindRegular:
		mode := os.FileMode(0o644)
		if filepath.Base(path) == "prog" {
			mode = 0o755
		}
		return os.WriteFile(path, []byte("#!/bin/sh\n"), mode)
	case KindFolder:
		return os.Mkdir(path, 0o755)
	case KindLink:
		return os.Symlink("nowhere", path)
	case KindFIFO:
		return unix.Mkfifo(path, 0o644)
	case KindSocket:
		return unix.Mknod(path, unix.S_IFSOCK|0o755, 0)
	case KindAbsent, KindChar, KindBlock:
	}
	return nil
}

// folder is one of the world's.
func (w small) folder(r *rand.Rand) string {
	if len(w.hot) > 0 && r.IntN(10) < 7 {
		return w.hot[r.IntN(len(w.hot))]
	}
	return w.root + "/" + smallFolders[r.IntN(len(smallFolders))]
}

// any is a name in the world, no link.
func (w small) any(r *rand.Rand) string {
	if r.IntN(3) == 0 {
		return w.folder(r)
	}
	return w.folder(r) + "/" + smallNames[r.IntN(len(smallNames))]
}

// link is the name of a link.
func (w small) link(r *rand.Rand) string {
	names := []string{"out", "up", "tree", "none", "chain"}
	return w.folder(r) + "/" + names[r.IntN(len(names))]
}

// heat is those folders of the world that are granted with a path, and the one around it.
func (w small) heat(path string) (hot []string) {
	for _, dir := range smallFolders {
		dir = w.root + "/" + dir
		if policy.Below(dir, path) || dir == filepath.Dir(path) {
			hot = append(hot, dir)
		}
	}
	return hot
}
