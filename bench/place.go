package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// place holds what the commands work on.
type place struct {
	bin        string // brainbox and its siblings, the starter
	root       string // holds all of it
	work       string // the one writable folder, root/work
	checkout   string // a git checkout, for the default policy
	policy     string // P
	policy100  string // P and 100 more paths
	quiet      string // the writable folder of what runs in namespaces: its names are read
	inside     string // P with that folder
	guarded    string // a folder with 100 folders in it
	open       string // P with that folder
	protect100 string // and its 100 folders protected
	execPolicy string // "" when brainbox-exec can have none
}

// giveUpRoot is irreversible: the process becomes the user, and its /proc files
// become his (PR_SET_DUMPABLE; proc(5)).
func giveUpRoot(uid int) error {
	return errors.Join(syscall.Setgroups(nil), syscall.Setresgid(uid, uid, uid), syscall.Setresuid(uid, uid, uid),
		unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0))
}

// policyText is the policy of the comparison: the system's folders, one folder
// to write, no network.
func policyText(work, more, protect, sandbox string) string {
	return fmt.Sprintf(`version = 1
[filesystem]
exec = ["/usr", "/bin", "/lib", "/lib64"]
read = ["/etc"%s]
write = [%q]
%s[network]
mode = "none"
[sandbox]
%s
`, more, work, protect, sandbox)
}

// fill makes everything. The exec policy is there already when it is named:
// only its owner may choose where it lies.
func (p *place) fill() error {
	var more, names strings.Builder
	p.guarded, p.quiet = filepath.Join(p.root, "guarded"), filepath.Join(p.root, "quiet")
	for i := range 100 {
		dir := filepath.Join(p.root, "paths", fmt.Sprint(i)) // a narrower grant in work would be a protect
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		fmt.Fprintf(&more, ", %q", dir)
		dir = filepath.Join(p.guarded, fmt.Sprint(i))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		fmt.Fprintf(&names, "%q, ", dir)
	}
	tree, small := filepath.Join(p.work, "tree"), filepath.Join(p.work, "small")
	program := filepath.Join(p.work, "program")
	p.checkout = filepath.Join(p.work, "checkout")
	p.policy, p.policy100 = filepath.Join(p.root, "p.toml"), filepath.Join(p.root, "p100.toml")
	p.inside, p.open, p.protect100 = filepath.Join(p.root, "q.toml"), filepath.Join(p.root, "g.toml"), filepath.Join(p.root, "g100.toml")
	const landlock, namespaces = `isolation = "landlock"`, `isolation = "namespaces"`
	return errors.Join(
		write(p.policy, policyText(p.work, "", "", landlock)),
		write(p.policy100, policyText(p.work, more.String(), "", landlock)),
		os.MkdirAll(p.quiet, 0o755),
		write(p.inside, policyText(p.quiet, "", "", namespaces)),
		write(p.open, policyText(p.guarded, "", "", namespaces)),
		write(p.protect100, policyText(p.guarded, "", "protect = ["+names.String()+"]\n", namespaces)),
		files(tree, 200, 100), repository(tree),
		files(small, 60, 100),
		files(p.checkout, 1, 20), repository(p.checkout),
		write(filepath.Join(program, "go.mod"), "module example.org/program\n\ngo 1.26.0\n"),
		write(filepath.Join(program, "main.go"), "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"hello\") }\n"),
	)
}

// files makes folders of small files.
func files(dir string, folders, each int) error {
	for i := range folders {
		for k := range each {
			name := filepath.Join(dir, fmt.Sprintf("d%03d", i), fmt.Sprintf("f%03d.txt", k))
			if err := write(name, strings.Repeat(fmt.Sprintf("line %d of file %d\n", i, k), 20)); err != nil {
				return err
			}
		}
	}
	return nil
}

func write(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o644)
}

// repository commits all of a folder, and lets a second pass, so that git need
// not read files again whose time is that of the index (racy git).
func repository(dir string) error {
	const script = `git -c init.defaultBranch=main init -q . && git config gc.auto 0 &&
git config maintenance.auto false && git add . &&
git -c user.name=bench -c user.email=bench@example.org -c commit.gpgsign=false commit -qm all &&
sleep 1.1 && git update-index -q --really-refresh && git status >/dev/null`
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("repository: %w: %s", err, out)
	}
	return nil
}
