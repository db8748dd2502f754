package integration

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestProfileReadonly: git looks at the checkout as it does outside, programs in it run,
// and the private folders can be written.
func TestProfileReadonly(t *testing.T) {
	const changed = `echo second >>README; echo new >new; printf '#!/bin/sh\necho ran\n' >tool; chmod +x tool
`
	withProfile(t, "readonly", []compatCase{
		{name: "git looks", setup: changed, needs: []string{"git"}, script: `git status --short; git log --oneline; git diff; git blame -s README`},
		{name: "a tool of the checkout runs", setup: changed, script: `./tool; cat README | sort`},
		{name: "private folders", script: `echo x >"$TMPDIR/f"; cat "$TMPDIR/f"; mkdir "${XDG_CACHE_HOME:=$TMPDIR/c}/sub" 2>/dev/null ||
			mkdir -p "$XDG_CACHE_HOME/sub"; echo made`, noisy: true},
		{
			name: "nothing in the checkout is written", setup: changed, needs: []string{"git"}, noisy: true,
			script: `try() { "$@" 2>/dev/null || echo refused; }
			try sh -c 'echo x >>README'; try sh -c 'echo x >made'; try rm new; try mv new gone; try mkdir d; try ln README l
			try git commit -qam x; try chmod 600 new; try touch -d 2001-01-01 new; try sh -c ': >README'; rm -f README 2>/dev/null || :
			test -f README || echo gone`,
			refused: `(?:refused\n){7}(?:refused\n){0,2}refused\n`, ns: `(?:refused\n){10}`,
		},
	})
}

// TestProfileReadonlyBridge: what the program cannot write itself the host writes for it,
// where the gate lets it; the control is the same program without the bridge.
func TestProfileReadonlyBridge(t *testing.T) {
	w := newBridgeWorld(t)
	must(t, os.WriteFile(w.dir+"/kept", []byte("kept\n"), 0o644))
	r := w.run(t, []string{"--profile", "readonly"}, `
echo by hand >direct; echo direct $?
echo by hand >kept; echo over $?
echo mediated | $B write written; echo write $?
echo no | $B write denied.txt; echo denied $?
echo no | $B write .git/hooks/pre-commit; echo hook $?
cat written`)
	for _, want := range []string{"write 0\n", "denied 1\n", "hook 1\n", "mediated\n"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("without %q: %d\n%s\n%s", want, r.status, r.out, r.err)
		}
	}
	if strings.Contains(r.out, "direct 0") || strings.Contains(r.out, "over 0") {
		t.Errorf("the program wrote by itself:\n%s", r.out)
	}
	if got, err := os.ReadFile(w.dir + "/written"); err != nil || string(got) != "mediated\n" {
		t.Errorf("written: %q, %v", got, err)
	}
	if got, err := os.ReadFile(w.dir + "/kept"); err != nil || string(got) != "kept\n" {
		t.Errorf("kept: %q, %v", got, err)
	}
	for _, name := range []string{"/direct", "/denied.txt", "/.git/hooks/pre-commit"} {
		if _, err := os.Lstat(w.dir + name); err == nil {
			t.Errorf("%s was made", name)
		}
	}
}

// TestProfileReadonlyIsNoHome: who starts it in his home folder shows none of it; in a
// folder below it that folder is shown.
func TestProfileReadonlyIsNoHome(t *testing.T) {
	kernel(t)
	root, home, _ := plantedHome(t)
	must(t, os.Mkdir(home+"/project", 0o700))
	must(t, os.WriteFile(home+"/project/file", []byte("of the project\n"), 0o600))
	must(t, os.Mkdir(root+"/tmp", 0o700))
	start := func(dir, script string) result {
		cmd := exec.Command(program("brainbox"), "run", "--isolation", isolation, "--profile", "readonly", "--", "/bin/sh", "-c", script)
		cmd.Env = []string{"HOME=" + home, "PATH=/usr/local/bin:/usr/bin:/bin", "TMPDIR=" + root + "/tmp"}
		asOther(t, cmd, home, root+"/tmp")
		return run(t, dir, cmd)
	}
	if r := start(home, "cat .netrc; echo started"); r.status == 0 || r.out != "" || !strings.Contains(r.err, "the home folder") {
		t.Errorf("in the home folder: %d %q\n%s", r.status, r.out, r.err)
	}
	if r := start(home+"/project", "cat file; cat ../.netrc 2>/dev/null; exit 0"); r.status != 0 || r.out != "of the project\n" {
		t.Errorf("control: below it: %d %q\n%s", r.status, r.out, r.err)
	}
}
