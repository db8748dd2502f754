package dispatch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"brainbox/internal/trustpath"

	"golang.org/x/sys/unix"
)

// errNoProgram: there is no such program. It is no reason to refuse the launch.
var errNoProgram = errors.New("no such program")

// maxScripts is how many scripts may be each other's interpreter (execve(2)).
const maxScripts = 4

// program is what was found at launch.
type program struct {
	file   *os.File // O_PATH
	path   string
	id     trustpath.ID
	script bool
}

// findProgram looks for name, in path when it has no slash, and holds what it finds. An error
// that is not errNoProgram says why what is there may not be run.
func findProgram(name, path string, rule trustpath.Rule) (*program, error) {
	switch {
	case filepath.IsAbs(name):
		if filepath.Clean(name) != name {
			return nil, errors.New("the path is not clean")
		}
		return openProgram(name, rule)
	case strings.Contains(name, "/"):
		return nil, errors.New("a path that is not absolute")
	}
	for _, dir := range trustedDirs(path, rule) {
		p, err := openProgram(filepath.Join(dir, name), rule)
		if !errors.Is(err, errNoProgram) {
			return p, err
		}
	}
	return nil, errNoProgram
}

// trustedDirs are the folders of a PATH that are absolute, there, and not for a sandbox to write
// to, in their order.
func trustedDirs(path string, rule trustpath.Rule) []string {
	var dirs []string
	for dir := range strings.SplitSeq(path, ":") {
		if !filepath.IsAbs(dir) || filepath.Clean(dir) != dir {
			continue
		}
		f, err := trustpath.Open(dir, rule)
		if err != nil {
			continue
		}
		f.Close()
		dirs = append(dirs, dir)
	}
	return dirs
}

// openProgram holds the file at path.
func openProgram(path string, rule trustpath.Rule) (*program, error) {
	f, err := trustpath.Open(path, rule)
	var refusal *trustpath.Error
	switch {
	case errors.As(err, &refusal):
		return nil, err
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR), errors.Is(err, fs.ErrPermission):
		return nil, errNoProgram
	case err != nil:
		return nil, err
	}
	p := &program{file: f, path: path}
	if p.id, err = trustpath.IdentifyFile(f); err == nil {
		err = p.judge(rule)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return p, nil
}

// judge looks whether it can be executed, and by what.
func (p *program) judge(rule trustpath.Rule) error {
	info, err := p.file.Stat()
	if err != nil {
		return err
	}
	held := procPath(p.file)
	if !info.Mode().IsRegular() || unix.Faccessat(unix.AT_FDCWD, held, unix.X_OK, unix.AT_EACCESS) != nil {
		return errNoProgram
	}
	interpreter, err := interpreterOf(held)
	if err != nil || interpreter == "" {
		return err
	}
	p.script = true
	return judgeInterpreter(interpreter, rule, maxScripts)
}

// judgeInterpreter judges what executes a script, and so may do anything.
func judgeInterpreter(path string, rule trustpath.Rule, depth int) error {
	if depth == 0 || !filepath.IsAbs(path) {
		return fmt.Errorf("its interpreter %q", path)
	}
	f, err := trustpath.Open(path, rule)
	if err != nil {
		return fmt.Errorf("its interpreter: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return fmt.Errorf("its interpreter %q is no file", path)
	}
	next, err := interpreterOf(procPath(f))
	if err != nil || next == "" {
		return err
	}
	return judgeInterpreter(next, rule, depth-1)
}

// interpreterOf returns the interpreter that the first line of a script names (execve(2)), and
// "" for a program. One that cannot be read is a program.
func interpreterOf(path string) (string, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrPermission) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, 256))
	if err != nil {
		return "", err
	}
	return scriptInterpreter(head), nil
}

// scriptInterpreter reads the head of a file. A script that names nothing has the interpreter
// "?", which is no path.
func scriptInterpreter(head []byte) string {
	line, ok := bytes.CutPrefix(head, []byte("#!"))
	if !ok {
		return ""
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	if words := bytes.FieldsFunc(line, func(c rune) bool { return c == ' ' || c == '\t' || c == 0 }); len(words) > 0 {
		return string(words[0])
	}
	return "?"
}

// same looks again, before a call: the name must still lead to the file that was found, by a
// way that no sandbox can change.
func (p *program) same(rule trustpath.Rule) error {
	now, err := openProgram(p.path, rule)
	if err != nil {
		return err
	}
	defer now.file.Close()
	if now.id != p.id {
		return errors.New("it is another file now")
	}
	return nil
}

func procPath(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }
