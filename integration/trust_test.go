package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brainbox/internal/needs"
)

// plantHook makes a folder for hooks, and in it one that leaves a mark.
const plantHook = `mkdir -p .git/hooks; printf '#!/bin/sh\ntouch "%s"\n' "$1" >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; echo planted`

// TestHooksThatWereNotThere is esc/TH-02: a checkout without a folder for hooks has none after
// the run either, whatever the program made; git on the host runs nothing of it, and no
// placeholder is left.
func TestHooksThatWereNotThere(t *testing.T) {
	kernel(t)
	needs.Program(t, "git")
	commit := gitIdentity + `git commit -q --allow-empty -m x`
	for _, confine := range []bool{false, true} {
		w := newWorld(t)
		mark := filepath.Join(w.dir("O"), "mark")
		outside(t, w.dir("W"), `git init -q -b main .; rm -rf .git/hooks`)
		before := tree(t, w.dir("W"))
		if confine {
			if r := confined(t, w, nil, "/bin/sh", "-euc", plantHook, "sh", mark); r.out != "planted\n" {
				t.Fatalf("inside: status %d, %q, %s", r.status, r.out, r.err)
			}
			outside(t, w.dir("W"), `rm -rf .brainbox`)
			if diff := cmp.Diff(withoutTimes(before), withoutTimes(tree(t, w.dir("W")))); diff != "" {
				t.Errorf("the checkout changed (-before +after):\n%s", diff)
			}
			if _, err := os.Lstat(filepath.Join(w.dir("W"), ".git/hooks")); err == nil {
				t.Error(".git/hooks is there")
			}
		} else {
			outside(t, w.dir("W"), `set -- '`+mark+`'; `+plantHook)
		}
		outside(t, w.dir("W"), commit)
		if _, err := os.Lstat(mark); (err == nil) == confine {
			t.Errorf("confined %v: the hook ran: %v", confine, err == nil)
		}
	}
}

// startFiles is what the next login, or the next start of a desktop, runs or trusts.
var startFiles = []string{
	".bashrc", ".profile", ".zshrc", ".config/fish/config.fish", ".config/autostart/x.desktop",
	".config/systemd/user/x.service", ".local/bin/ls", ".ssh/config", ".ssh/authorized_keys", ".ssh/rc", ".gitconfig",
}

// TestStartFilesOfTheHome is esc/TH-17: what the next login runs is not granted, by the name
// of the caller's home, by ~ (which is the private one), or by way of a link in the checkout.
func TestStartFilesOfTheHome(t *testing.T) {
	kernel(t)
	w := newWorld(t)
	home, checkout := w.dir("O"), w.dir("W")
	for _, name := range startFiles {
		must(t, os.MkdirAll(filepath.Join(home, filepath.Dir(name)), 0o700))
		must(t, os.WriteFile(filepath.Join(home, name), []byte("mine"), 0o600))
	}
	must(t, os.Symlink(home, filepath.Join(checkout, "home")))
	before := tree(t, home)
	inside, bare := w.box(t), bare(t, checkout)
	for _, name := range startFiles {
		for _, path := range []string{filepath.Join(home, name), filepath.Join(checkout, "home", name)} {
			for _, attempt := range []string{"write " + path + " 0 x", "write " + path + ".new 0x40 x"} {
				if got := inside.ask(t, attempt); !hit(got, hidden("EACCES", "EROFS")) {
					t.Errorf("%s: %q", attempt, got)
				}
			}
		}
	}
	if diff := cmp.Diff(before, tree(t, home)); diff != "" {
		t.Errorf("the home changed (-before +after):\n%s", diff)
	}
	if got := bare.ask(t, "write "+filepath.Join(checkout, "home", startFiles[0])+" 0 x"); !strings.HasPrefix(got, "ok") {
		t.Errorf("control: %q", got)
	}
}
