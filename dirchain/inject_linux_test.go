package dirchain

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// injection is one interference: before the Nth call or point of this name, from
// 1; an empty name counts them all. With On set it is repeated at every later one.
type injection struct {
	Call  string
	N     int
	On    bool
	Lax   bool   // what is to be interfered with may be gone, or aside for a moment
	Do    string // see act
	A, B  string // paths
	Errno int
}

// injector counts the calls of one root, and interferes.
type injector struct {
	todo  []injection
	root  string
	trace []string
	count map[string]int
	fired int
}

func (in *injector) hook(call string) error {
	if in.count == nil {
		in.count = map[string]int{}
	}
	in.trace = append(in.trace, call)
	in.count[call]++
	in.count[""]++
	for _, i := range in.todo {
		n := in.count[i.Call]
		if i.Call != "" && i.Call != call || n < i.N || n > i.N && !i.On {
			continue
		}
		in.fired++
		if err := i.act(in.root); err != nil {
			return err
		}
	}
	return nil
}

// act interferes. Only "errno" gives an error to the operation; that another one
// cannot be done ends the test.
func (i injection) act(root string) error {
	var err error
	switch i.Do {
	case "errno":
		return unix.Errno(i.Errno)
	case "kill":
		_ = unix.Kill(os.Getpid(), unix.SIGKILL)
		select {} // the signal may end another thread first
	case "panic":
		panic("injected")
	case "swap": // A goes away, and a link to B takes its place
		err = errors.Join(away(i.A), os.Symlink(i.B, i.A))
	case "move": // A goes to B
		err = os.Rename(i.A, i.B)
	case "exchange": // A and B
		err = unix.Renameat2(unix.AT_FDCWD, i.A, unix.AT_FDCWD, i.B, unix.RENAME_EXCHANGE)
	case "file": // A goes away, and a file with the text B takes its place
		err = errors.Join(away(i.A), os.WriteFile(i.A, []byte(i.B), 0o644))
	case "overwrite": // A is written to in place
		err = os.WriteFile(i.A, []byte(i.B), 0o644)
	case "chmod":
		err = os.Chmod(i.A, 0o600)
	case "dir": // A goes away, and a directory takes its place
		err = errors.Join(away(i.A), os.Mkdir(i.A, 0o755))
	case "link": // A gets another name B
		err = os.Link(i.A, i.B)
	case "remove":
		err = os.RemoveAll(i.A)
	case "temp-link": // the new file goes away, and a link to B takes its place
		err = eachTemp(root, func(tmp string) error { return errors.Join(away(tmp), os.Symlink(i.B, tmp)) })
	case "temp-file":
		err = eachTemp(root, func(tmp string) error {
			return errors.Join(away(tmp), os.WriteFile(tmp, []byte(i.B), 0o644))
		})
	case "temp-overwrite":
		err = eachTemp(root, func(tmp string) error { return os.WriteFile(tmp, []byte(i.B), 0o600) })
	case "temp-gone":
		err = eachTemp(root, os.Remove)
	case "temp-name": // a file of the same name in the directory B
		err = eachTemp(root, func(tmp string) error {
			return os.WriteFile(filepath.Join(i.B, filepath.Base(tmp)), []byte("attacker"), 0o644)
		})
	case "bind": // A is mounted on B
		err = unix.Mount(i.A, i.B, "", unix.MS_BIND, "")
	default:
		err = errors.New("no such injection")
	}
	if errors.Is(err, os.ErrNotExist) && i.Lax {
		return nil
	}
	if err != nil {
		panic(fmt.Sprintf("injection %+v: %v", i, err))
	}
	return nil
}

const awaySuffix = ".away"

// away moves what is there out of the way, within its directory.
func away(path string) error {
	err := os.Rename(path, path+awaySuffix)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// eachTemp does something to every new file beneath root.
func eachTemp(root string, do func(string) error) error {
	return filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if err == nil && isTemp(filepath.Base(path)) {
			err = do(path)
		}
		return err
	})
}

func isTemp(name string) bool {
	return strings.HasPrefix(name, ".brainbox-") && strings.HasSuffix(name, ".tmp")
}
