package launcher

import (
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// worktreeDirs returns the git directory and the common directory of a linked
// worktree, which lie outside it; none for an ordinary checkout.
//
// The checkout may be hostile: its .git file could name any folder. So the answer
// counts only if the folder it names points back at this very .git file, which only
// somebody who could write there anyway can have arranged (gitrepository-layout(5),
// gitdir and commondir). brainbox never runs git on the host inside the checkout.
func worktreeDirs(top string) []string {
	if top == "" {
		return nil
	}
	dotGit := top + "/.git"
	var st unix.Stat_t
	if unix.Lstat(dotGit, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Size > 4096 {
		return nil
	}
	dir, ok := strings.CutPrefix(firstLine(readSmall(dotGit)), "gitdir: ")
	if !ok {
		return nil
	}
	dir = resolved(absolute(top, dir))
	back := absolute(dir, firstLine(readSmall(dir+"/gitdir")))
	if resolved(back) != resolved(dotGit) {
		return nil
	}
	common := resolved(absolute(dir, firstLine(readSmall(dir+"/commondir"))))
	if filepath.Dir(filepath.Dir(dir)) != common || filepath.Base(filepath.Dir(dir)) != "worktrees" {
		return nil
	}
	return []string{common} // dir lies in it
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return strings.TrimRight(line, "\r")
}

func absolute(base, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(base, path)
}
