package scratch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"brainbox/dirchain"
	"brainbox/internal/trustpath"

	"golang.org/x/sys/unix"
)

const (
	defaultGit     = "/usr/bin/git"
	defaultTimeout = 10 * time.Second
	maxSaid        = 4 << 10 // bytes of git's standard error that are kept
	// maxMemory bounds git's address space in bytes: before 2.45 it reads an ignore
	// file of any size whole, and a sparse one of terabytes costs its writer nothing.
	maxMemory = 1 << 30
)

// asker asks the host's git.
type asker struct {
	git   string                            // absolute
	tmp   string                            // where the empty repository is made
	limit time.Duration                     // for one call of git
	trust func(path string) (string, error) // verifies a program and returns its real path
}

// ask returns nil only if git said that the area is ignored. The root is looked at
// before and after: git itself goes by its path.
func (a *asker) ask(ctx context.Context, root *dirchain.Root) error {
	real, err := a.trust(a.git)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrGit, err)
	}
	dir, err := root.Dir()
	if err != nil {
		return err
	}
	defer dir.Close()
	where, err := placeOf(dir, root.Path())
	if err != nil {
		return err
	}
	if below(real, where) {
		return fmt.Errorf("%w: %q lies in the root", ErrGit, real)
	}
	answer, text, err := a.both(ctx, dir, where)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrGit, err)
	}
	if _, err = placeOf(dir, where); err != nil {
		return err
	}
	switch answer {
	case ignored:
		return nil
	case notIgnored:
		return ErrNotIgnored
	case notRepository, unanswered:
	}
	return fmt.Errorf("%w: %s", ErrGit, said(text))
}

// both asks the repository that the root lies in, and where there is none an empty
// one with the root as its work tree.
func (a *asker) both(ctx context.Context, dir *os.File, where string) (verdict, string, error) {
	args := question(safeDirectories(where, above(where), ownersOf(dir)))
	answer, text, err := a.run(ctx, dir, args, environment())
	if err != nil || answer != notRepository {
		return answer, text, err
	}
	bare, err := emptyRepository(a.tmp)
	if err != nil {
		return unanswered, "", err
	}
	defer func() { _ = os.RemoveAll(bare) }() // a folder of our own, under a random name
	return a.run(ctx, dir, args, append(environment(), "GIT_DIR="+bare, "GIT_WORK_TREE=."))
}

// run makes one call of git, in a process group of its own that ends with it. The
// working directory is the held one: the child looks its number up before it execs.
func (a *asker) run(ctx context.Context, dir *os.File, args, env []string) (verdict, string, error) {
	ctx, cancel := context.WithTimeout(ctx, a.limit)
	defer cancel()
	text := head{left: maxSaid}
	cmd := exec.CommandContext(ctx, a.git)
	cmd.Args, cmd.Env, cmd.Dir, cmd.Stderr = args, env, procPath(dir), &text
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	cmd.WaitDelay = time.Second // a survivor may hold the pipe
	if err := startLimited(cmd); err != nil {
		return unanswered, "", err
	}
	err := cmd.Wait()
	if ended := ctx.Err(); ended != nil { // not the exit status: it is that of the kill
		return unanswered, "", ended
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return unanswered, "", err
	}
	return judgeAnswer(cmd.ProcessState.ExitCode(), string(text.kept)), string(text.kept), nil
}

// startLimited starts git and limits its memory before it reads anything of the
// repository: it begins with its global configuration (git-config(1)), which here
// is a pipe, and gets its empty end when the limit is set. To open the pipe again by
// its name, as git does later, does not wait for a writer.
func startLimited(cmd *exec.Cmd) error {
	from, to, err := os.Pipe()
	if err != nil {
		return err
	}
	defer from.Close()
	defer to.Close()
	cmd.ExtraFiles = []*os.File{from} // its number 3
	cmd.Env = append(cmd.Env, "GIT_CONFIG_GLOBAL=/proc/self/fd/3")
	if err = cmd.Start(); err != nil {
		return err
	}
	if err = limitMemory(cmd.Process.Pid); err != nil {
		return errors.Join(err, cmd.Cancel(), cmd.Wait())
	}
	return nil
}

// limitMemory lowers the limit of the address space (getrlimit(2), Linux 2.6.36).
func limitMemory(pid int) error {
	var limit unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_AS, nil, &limit); err != nil {
		return os.NewSyscallError("prlimit", err)
	}
	limit.Cur, limit.Max = min(limit.Cur, maxMemory), min(limit.Max, maxMemory)
	return os.NewSyscallError("prlimit", unix.Prlimit(pid, unix.RLIMIT_AS, &limit, nil))
}

// head keeps the start of what is written to it.
type head struct {
	kept []byte
	left int
}

func (h *head) Write(b []byte) (int, error) {
	n := min(h.left, len(b))
	h.kept, h.left = append(h.kept, b[:n]...), h.left-n
	return len(b), nil
}

// placeOf is where a held directory is visible. When want is not empty, it must
// still be there.
func placeOf(dir *os.File, want string) (string, error) {
	where, err := os.Readlink(procPath(dir))
	if err != nil {
		return "", err
	}
	var held, seen unix.Stat_t
	if err = unix.Fstat(int(dir.Fd()), &held); err != nil {
		return "", os.NewSyscallError("fstat", err)
	}
	err = unix.Lstat(where, &seen)
	if err != nil || held.Dev != seen.Dev || held.Ino != seen.Ino || want != "" && want != where {
		return "", fmt.Errorf("%w (the root is no longer where it was)", dirchain.ErrChanged)
	}
	return where, nil
}

func procPath(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }

// ownersOf are the users whose repositories the host's git may trust: the root
// directory's owner, the host's user and uid 0.
func ownersOf(dir *os.File) []uint32 {
	owners := []uint32{0, uint32(os.Geteuid())}
	var st unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &st); err == nil {
		owners = append(owners, st.Uid)
	}
	return owners
}

// above looks at the directories above path that have a .git in them.
func above(path string) []owned {
	var list []owned
	for _, dir := range parents(path) {
		var st, git unix.Stat_t
		if unix.Lstat(filepath.Join(dir, ".git"), &git) == nil && unix.Lstat(dir, &st) == nil {
			list = append(list, owned{dir, st.Uid, git.Uid})
		}
	}
	return list
}

// emptyRepository makes the least that git takes for a repository: no hooks, no
// configuration, no ignore rules of a template.
func emptyRepository(tmp string) (string, error) {
	dir, err := os.MkdirTemp(tmp, "brainbox-git-")
	if err != nil {
		return "", err
	}
	err = errors.Join(
		os.Mkdir(dir+"/objects", 0o700),
		os.Mkdir(dir+"/refs", 0o700),
		os.WriteFile(dir+"/HEAD", []byte("ref: refs/heads/main\n"), 0o600),
	)
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return filepath.Abs(dir)
}

// trusted verifies that nobody but uid 0 and the host's user can change what the
// path names, and returns the real path.
func trusted(path string) (string, error) {
	rule := trustpath.Rule{Owners: []uint32{0, uint32(os.Geteuid())}, AnyGroup: true}
	f, err := trustpath.Open(path, rule)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return "", errors.Join(&fs.PathError{Op: "open", Path: path, Err: fs.ErrInvalid}, err)
	}
	return os.Readlink(procPath(f))
}
