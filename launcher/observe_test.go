package launcher

import (
	"errors"
	"io/fs"
	"testing"

	"golang.org/x/sys/unix"
)

func TestFindCommandAsExecvp(t *testing.T) {
	top := resolved(t.TempDir())
	for _, dir := range []string{"a", "b", "cwd/sub", "a/folder"} {
		mkdir(t, top+"/"+dir, 0o755, -1)
	}
	put := func(name string, mode uint32) string {
		write(t, top+"/"+name, "#!/bin/sh\n")
		if err := unix.Chmod(top+"/"+name, mode); err != nil {
			t.Fatal(err)
		}
		return top + "/" + name
	}
	put("a/plain", 0o644)
	put("a/both", 0o644)
	both := put("b/both", 0o755)
	prog := put("a/prog", 0o755)
	put("b/prog", 0o755)
	local := put("cwd/local", 0o755)
	path := top + "/missing:" + top + "/a/prog:" + top + "/a:" + top + "/b"
	for _, c := range []struct {
		name, want string
		err        error
	}{
		{"", "", unix.ENOENT},
		{"nowhere", "", unix.ENOENT},
		{"local", "", unix.ENOENT}, // the current directory is not searched
		{"plain", "", unix.EACCES},
		{"folder", "", unix.EISDIR},
		{"./nowhere", top + "/cwd/./nowhere", unix.ENOENT},
		{"local/", top + "/cwd/local/", unix.ENOTDIR},
		{"sub/", top + "/cwd/sub/", unix.EISDIR},
		{top + "/a/plain", top + "/a/plain", unix.EACCES},
		{top + "/a/prog/x", top + "/a/prog/x", unix.ENOTDIR},
		{"prog", prog, nil},
		{"both", both, nil}, // one that may not be executed does not end the search
		{"./local", top + "/cwd/./local", nil},
		{local, local, nil},
	} {
		got, err := findCommand(c.name, path, top+"/cwd")
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("findCommand(%q) = %q, %v; want %q, %v", c.name, got, err, c.want, c.err)
		}
		if wantNotFound := errors.Is(c.err, unix.ENOENT); c.err != nil && errors.Is(err, fs.ErrNotExist) != wantNotFound {
			t.Errorf("findCommand(%q): %v answers to ErrNotExist: %v", c.name, err, !wantNotFound)
		}
	}
}
