package launcher

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
	"brainbox/policy"
)

// checkout makes a checkout below a folder of its own; names as in namescan's tests: "a/"
// a folder, "a -> b" a link, "a =" a socket, "a: text" a file with a text.
func checkout(t *testing.T, names ...string) string {
	t.Helper()
	dir := resolved(t.TempDir()) + "/co"
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	plant(t, dir, names...)
	return dir
}

func plant(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, n := range names {
		name, text, isFile := strings.Cut(n, ": ")
		name, target, isLink := strings.Cut(name, " -> ")
		name, isSocket := strings.CutSuffix(name, " =")
		path := dir + "/" + name
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			switch {
			case isLink:
				err = os.Symlink(target, path)
			case isSocket:
				listenAt(t, path)
			case strings.HasSuffix(name, "/"):
				err = os.MkdirAll(path, 0o755)
			default:
				err = os.WriteFile(path, []byte(strings.ReplaceAll(text, "DIR", dir)), 0o644)
			}
		}
		if err != nil {
			t.Fatalf("%q (file %v): %v", n, isFile, err)
		}
	}
}

// listenAt serves a socket whose path may be longer than unix(7) takes.
func listenAt(t *testing.T, path string) {
	t.Helper()
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), filepath.Base(path)), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	t.Cleanup(func() { _ = l.Close() })
}

// lookInside looks at a checkout with the default profile and a policy file.
func lookInside(t testing.TB, dir, text string) (*policy.Policy, *Facts) {
	t.Helper()
	home := filepath.Dir(dir) + "/home"
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	pl := &Place{
		UID: os.Getuid(), EUID: os.Geteuid(), GID: os.Getgid(), User: "u", Home: home, Cwd: dir, TmpBase: filepath.Dir(dir),
		xdg: [5]string{home + "/.config", "", "", home + "/.local/state"}, environ: []string{"PATH=/usr/bin:/bin"},
	}
	pl.Git = gitTop(dir)
	if pl.Git != "" && !strings.HasPrefix(dir+"/", pl.Git+"/") {
		pl.Git = ""
	}
	file, err := policy.Parse(policy.KindFile, home+"/policy.toml", []byte("version = 1\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	if text == "" {
		file = nil
	}
	layers, err := policy.Layers("", file, policy.NewFlagLayer())
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.Resolve(policy.Input{Vars: pl.Vars()}, layers...)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Observe(p, pl, Request{Command: []string{"true"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	f.observeInside(p)
	return p, f
}

// listNames shows names relative to the checkout's parent, the table's absent ones left out.
func listNames(f *Facts, dir string) []string {
	var list []string
	base := filepath.Dir(dir) + "/"
	for _, n := range f.Inside.Names {
		word := [...]string{"protect", "name", "deny"}[n.Guard]
		if n.Kind == NameAbsent {
			word = "watch"
		}
		if n.Whole {
			word += " whole"
		}
		if n.Err != nil {
			word = "unread"
		}
		if n.Kind == NameAbsent && isTable(&n.Entry) && n.Entry.Abs == n.Path && !n.Whole {
			continue
		}
		if n.Kind != NameAbsent && n.Err == nil && n.fd <= 0 {
			word += " not held"
		}
		list = append(list, fmt.Sprintf("%s %s %s", word, n.Kind, strings.TrimPrefix(n.Path, base)))
	}
	slices.Sort(list)
	return list
}

func gitRun(t *testing.T, git, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command(git, append([]string{
		"-C", dir, "-c", "user.name=a", "-c", "user.email=b", "-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main",
	}, args...)...)
	cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

func TestNamesOfAnOrdinaryRepository(t *testing.T) {
	dir := checkout(t, ".git/HEAD: ref: refs/heads/main\n", ".git/config: [core]\n", ".git/hooks/pre-commit: x", ".git/objects/", ".git/info/exclude: x",
		".envrc: x", ".vscode/tasks.json: x", "src/a.go: x", ".npmrc -> other", "other: x")
	_, f := lookInside(t, dir, "")
	want := []string{
		"name folder co/.git",
		"name link co/.npmrc",
		"protect file co/.envrc",
		"protect file co/.git/config",
		"protect file co/other",
		"protect folder co/.git/hooks",
		"protect folder co/.vscode",
		"watch absent co/.git/commondir",
		"watch absent co/.git/config.worktree",
		"watch absent co/.git/info/attributes",
	}
	if diff := cmp.Diff(want, listNames(f, dir)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	var absent int
	for _, n := range f.Inside.Names {
		if n.Kind == NameAbsent && isTable(&n.Entry) && filepath.Dir(n.Path) == dir {
			absent++
		}
	}
	// .git, .vscode, .envrc and .npmrc exist, .config/git is deeper; .brainbox.toml is one more.
	if want := len(policy.ProtectedNames()) - 5 + 1; absent != want {
		t.Errorf("%d names of the table are watched at the top, want %d", absent, want)
	}
}

// esc/TH-06, esc/TH-08: nested repositories, .git files and links, wherever they are.
func TestNamesOfNestedRepositories(t *testing.T) {
	dir := checkout(t, ".git/HEAD: x", ".git/config: x",
		"vendor/a/.git/HEAD: x", "vendor/a/.git/config: x", "vendor/a/.git/hooks/",
		"file/.git: gitdir: ../real\n", "real/HEAD: x", "real/config: x", "real/commondir: ../shared\n", "shared/HEAD: x", "shared/config: x",
		"link/.git -> ../target", "target/HEAD: x", "target/hooks/x: x",
		"out/.git: gitdir: /nowhere/else\n", "soon/.git: gitdir: ../not-yet\n", "odd/.git: no git file\n")
	_, f := lookInside(t, dir, "")
	got := listNames(f, dir)
	for _, want := range []string{
		"name folder co/vendor/a/.git", "protect file co/vendor/a/.git/config", "protect folder co/vendor/a/.git/hooks",
		"protect file co/file/.git", "protect file co/real/config", "protect file co/real/commondir", "watch absent co/real/hooks",
		"protect file co/shared/config", "name link co/link/.git", "protect folder co/target/hooks", "watch absent co/target/config",
		"protect file co/out/.git", "protect file co/soon/.git", "watch whole absent co/not-yet", "protect file co/odd/.git",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("missing: %s", want)
		}
	}
	if t.Failed() {
		t.Logf("%s", strings.Join(got, "\n"))
	}
	if slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "nowhere") }) {
		t.Error("a name outside of every write grant")
	}
	var folders []string
	for _, n := range f.Inside.Folders {
		folders = append(folders, strings.TrimPrefix(n.Path, dir+"/"))
		if n.fd <= 0 || n.Kind != NameFolder {
			t.Errorf("folder %+v", n)
		}
	}
	slices.Sort(folders)
	want := []string{".git", "file", "link", "odd", "out", "real", "shared", "soon", "target", "vendor", "vendor/a", "vendor/a/.git"}
	if diff := cmp.Diff(want, folders); diff != "" {
		t.Errorf("folders on the way (-want +got):\n%s", diff)
	}
}

func TestNamesOfRealWorktreesAndSubmodules(t *testing.T) {
	git := needs.Tool(t, "git")
	dir := checkout(t)
	base := filepath.Dir(dir)
	plant(t, base, "lib/")
	gitRun(t, git, base+"/lib", "init", "-q")
	gitRun(t, git, base+"/lib", "commit", "-q", "--allow-empty", "-m", "x")
	gitRun(t, git, dir, "init", "-q")
	gitRun(t, git, dir, "commit", "-q", "--allow-empty", "-m", "x")
	gitRun(t, git, dir, "submodule", "add", "-q", "--name", "deep/lib", base+"/lib", "sub")
	gitRun(t, git, dir, "commit", "-q", "-m", "y")
	gitRun(t, git, dir, "worktree", "add", "-q", base+"/wt")
	gitRun(t, git, dir, "worktree", "add", "-q", dir+"/in")
	gitRun(t, git, dir+"/in", "submodule", "update", "-q", "--init")

	_, f := lookInside(t, dir, "")
	got := listNames(f, dir)
	for _, want := range []string{
		"name folder co/.git", "protect file co/.git/config", "protect folder co/.git/hooks",
		"protect file co/sub/.git", "protect file co/.git/modules/deep/lib/config", "protect folder co/.git/modules/deep/lib/hooks",
		"protect folder co/.git/worktrees/wt", // its checkout is not to be seen from here
		"protect file co/.git/worktrees/in/commondir", "protect file co/.git/worktrees/in/gitdir",
		"watch absent co/.git/worktrees/in/config.worktree", "protect file co/in/.git",
		"protect file co/.git/worktrees/in/modules/deep/lib/config",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("in the main checkout: missing %s in\n%s", want, strings.Join(got, "\n"))
		}
	}
	modules := []string{dir + "/.git/worktrees/in/modules/deep/lib", dir + "/.git/modules/deep/lib"}
	if r := f.Inside.Repos[0]; !slices.Equal(r.Modules, modules) {
		t.Errorf("modules %q", r.Modules)
	}

	wt := base + "/wt"
	_, f = lookInside(t, wt, "")
	got = listNames(f, wt)
	for _, want := range []string{
		"protect file wt/.git", "protect file co/.git/config", "protect folder co/.git/hooks", "watch absent co/.git/commondir",
		"protect file co/.git/worktrees/wt/commondir", "protect file co/.git/modules/deep/lib/config",
		"protect folder co/.git/worktrees/in",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("in the linked worktree: missing %s in\n%s", want, strings.Join(got, "\n"))
		}
	}
	for _, s := range f.Inside.Scans {
		if strings.HasSuffix(s.Path, "/.git") {
			t.Errorf("the git directory was scanned like a tree: %+v", s)
		}
	}

	// --git-config leaves the configuration to the program, and nothing else.
	_, f = lookInside(t, dir, "extends = [\"default\"]\n[sandbox]\ngit_config = true\n")
	got = listNames(f, dir)
	for _, gone := range []string{"protect file co/.git/config", "protect file co/.git/modules/deep/lib/config"} {
		if slices.Contains(got, gone) {
			t.Errorf("with --git-config: %s", gone)
		}
	}
	if !slices.Contains(got, "protect folder co/.git/hooks") || len(f.Inside.Repos[0].Configs) == 0 {
		t.Errorf("with --git-config: %s", strings.Join(got, "\n"))
	}
}

// esc/TH-09: what the configuration leads to is protected as well.
func TestNamesThatTheConfigurationLeadsTo(t *testing.T) {
	dir := checkout(t, ".git/HEAD: x", ".git/config: [core]\n\thooksPath = .githooks\n[include]\n\tpath = ../shared/git.inc\n[includeIf \"gitdir:x\"]\n\tpath = ~/gone\n",
		".githooks/pre-commit: x", "shared/git.inc: [core]\n\thooksPath = other/hooks\n[include]\n\tpath = git.inc\n", "deep/.git/HEAD: x",
		"deep/.git/config: [core]\n\thooksPath = .\n", "deep/pre-push: x", "far/.git/HEAD: x",
		"far/.git/config: [core]\n\thooksPath = up\n", "far/up -> ..")
	plant(t, filepath.Dir(dir), "home/.gitconfig: [core]\n\thooksPath = global-hooks\n")
	_, f := lookInside(t, dir, "")
	got := listNames(f, dir)
	for _, want := range []string{
		"protect folder co/.githooks", "protect file co/shared/git.inc", "watch absent co/other/hooks", "watch absent co/global-hooks",
		"watch absent co/deep/global-hooks", "watch absent co/deep/pre-commit", "protect file co/deep/pre-push",
		"name link co/far/up", "watch absent co/pre-commit",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("missing %s in\n%s", want, strings.Join(got, "\n"))
		}
	}
	for _, whole := range []string{"protect folder co/deep", "protect folder co"} {
		if slices.Contains(got, whole) {
			t.Error("a working tree is protected as a whole")
		}
	}
}

func TestNamesOfTheOperatorsEntries(t *testing.T) {
	dir := checkout(t, ".git/HEAD: x", ".git/hooks/", "keep/x: x", "secret/x: x", "to-keep -> keep", "to-secret -> secret", "conf/a: x")
	_, f := lookInside(t, dir, "extends = [\"default\"]\n[filesystem]\nprotect = [\"./.git\", \"./to-keep\", \"./later/x\"]\ndeny = [\"./to-secret\", \"./none\", \"/etc/shadow\"]\n")
	want := []string{
		"deny file /etc/shadow",
		"deny folder co/secret",
		"name link co/to-keep",
		"protect folder co/.git",
		"protect folder co/keep",
		"watch absent co/later/x",
		"watch absent co/none",
	}
	got := listNames(f, dir)
	if os.Getuid() != 0 { // the caller himself may not open it, which is as well
		want = want[1:]
		got = slices.DeleteFunc(got, func(s string) bool { return strings.Contains(s, "shadow") })
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestNamesWithoutTheTable(t *testing.T) {
	dir := checkout(t, ".git/HEAD: x", ".git/hooks/", "n/.git/HEAD: x", "n/.git/hooks/")
	_, f := lookInside(t, dir, "[filesystem]\nwrite = [\".\"]\n")
	if got := listNames(f, dir); len(got) != 0 {
		t.Errorf("a policy without the table protects %q", got)
	}
	_, f = lookInside(t, dir, "extends = [\"default\"]\n[sandbox]\nallow_protected = [\"./.git\"]\n")
	got := listNames(f, dir)
	if slices.Contains(got, "name folder co/.git") || !slices.Contains(got, "protect folder co/n/.git/hooks") {
		t.Errorf("with --no-protect ./.git: %s", strings.Join(got, "\n"))
	}
}

// esc/IP-05 to esc/IP-12: the host's sockets in granted trees.
func TestSocketsInGrantedTrees(t *testing.T) {
	dir := checkout(t, ".git/HEAD: x", ".git/fsmonitor--daemon.ipc =", "run/db.sock =", "pipe: x")
	base := filepath.Dir(dir)
	plant(t, base, "data/sub/api.sock =", "data/l -> sub", "other/no.sock =")
	_, f := lookInside(t, dir, fmt.Sprintf("extends = [\"default\"]\n[filesystem]\nread = [%q]\n[network]\nunix = [%q]\n", base+"/data", dir+"/run/db.sock"))
	var got []string
	for _, s := range f.Inside.Sockets {
		got = append(got, strings.TrimPrefix(s.Path, base+"/"))
		if s.fd <= 0 || s.Kind != NameSocket {
			t.Errorf("%+v", s)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"co/.git/fsmonitor--daemon.ipc", "co/run/db.sock", "data/sub/api.sock"}, got); diff != "" {
		t.Errorf("sockets (-want +got):\n%s", diff)
	}
	if u := f.Inside.Unix; len(u) != 1 || u[0].Target != dir+"/run/db.sock" || u[0].Err != nil {
		t.Errorf("listed sockets %+v", u)
	}

	// Those beyond a scan, and of the profile's folders, are found in the kernel's list.
	o := &insideLook{f: f, in: &InsideFact{}, parents: parents{}}
	o.bound("Num       RefCount Protocol Flags    Type St Inode Path\n" +
		"0000: 00000002 00000000 00010000 0001 01 1 " + base + "/data/l/api.sock\n" +
		"0000: 00000002 00000000 00010000 0001 01 2 " + base + "/other/no.sock\n" +
		"0000: 00000002 00000000 00010000 0001 01 3 @/tmp/abstract\n" +
		"0000: 00000002 00000000 00010000 0001 01 4 relative.sock\n" +
		"0000: 00000002 00000000 00010000 0001 01 5 " + dir + "/gone.sock\n" +
		"0000: 00000002 00000000 00010000 0001 01 6 " + dir + "/pipe\n")
	if len(o.in.Sockets) != 1 || o.in.Sockets[0].Path != base+"/data/sub/api.sock" {
		t.Errorf("bound sockets %+v", o.in.Sockets)
	}
	o.in.close()
}

// A folder of the system that an operator grants is not read, if it is root's alone: what
// the kernel says is served there is masked all the same.
func TestSystemFoldersAreNotRead(t *testing.T) {
	if !needs.InMounts(t) {
		return
	}
	if err := unix.Mount("tmpfs", "/opt", "tmpfs", 0, "mode=0755"); err != nil {
		t.Fatal(err)
	}
	plant(t, "/opt", "app/lib/", "app/hidden.sock =") // served by a path that the kernel does not list
	served, err := net.Listen("unix", "/opt/app/lib/served.sock")
	if err != nil {
		t.Fatal(err)
	}
	defer served.Close()
	dir := checkout(t, "x: x")
	hidden, listed := "/opt/app/hidden.sock", "/opt/app/lib/served.sock"
	for _, c := range []struct {
		name, policy string
		mode         os.FileMode
		read         bool
	}{
		{"to read", "[filesystem]\nread = [\"/opt/app\"]\n", 0o755, false},
		{"to execute, a folder above", "[filesystem]\nexec = [\"/opt\"]\n", 0o755, false},
		{"by the profile", "extends = [\"minimal\"]\n", 0o755, false},
		{"by the profile, whoever writes it", "extends = [\"minimal\"]\n", 0o777, false},
		{"to read, written by all", "[filesystem]\nread = [\"/opt/app\"]\n", 0o757, true},
		{"to read, written by a group", "[filesystem]\nread = [\"/opt/app\"]\n", 0o775, true},
		{"to write", "[filesystem]\nwrite = [\"/opt/app\"]\n", 0o755, true},
	} {
		if err := os.Chmod("/opt/app", c.mode); err != nil {
			t.Fatal(err)
		}
		_, f := lookInside(t, dir, c.policy)
		var got []string
		for _, n := range f.Inside.Sockets {
			got = append(got, n.Path)
		}
		slices.Sort(got)
		want, said := []string{listed}, strings.HasPrefix(c.policy, "[filesystem]") && !c.read
		if c.read {
			want = []string{hidden, listed}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		if slices.ContainsFunc(f.Inside.Scans, func(s ScanFact) bool { return s.Served }) != said {
			t.Errorf("%s: scans %+v, want to be told: %v", c.name, f.Inside.Scans, said)
		}
		f.Close()
	}
}

// Where the kernel's list cannot be read, names are.
func TestSystemFoldersAreReadWithoutTheKernelsList(t *testing.T) {
	p := openPath("/usr")
	defer p.close()
	if o := (&insideLook{served: "Num RefCount\n"}); !o.systemFolder(&p) { // positive control
		t.Skip("/usr is not root's alone here")
	}
	if o := (&insideLook{}); o.systemFolder(&p) {
		t.Error("without a list it is not searched either")
	}
}

func TestLinksOnTheWay(t *testing.T) {
	dir := checkout(t, "real/deep/x: x")
	base := filepath.Dir(dir)
	plant(t, base, "one -> co/real", "two/rel -> ../one/deep", "abs -> "+base+"/two", "loop -> loop", "dead -> nowhere")
	for path, want := range map[string][]string{
		dir + "/real/deep":        nil,
		base + "/one/deep/x":      {"one>co/real"},
		base + "/two/rel/x":       {"two/rel>../one/deep", "one>co/real"},
		base + "/abs/rel/./x":     {"abs>" + base + "/two", "two/rel>../one/deep", "one>co/real"},
		base + "/abs/../one/deep": {"abs>" + base + "/two", "one>co/real"},
	} {
		links, end, ok := linksTo(path)
		var got []string
		for _, l := range links {
			got = append(got, strings.TrimPrefix(l.At, base+"/")+">"+l.Text)
		}
		if !ok || end != resolved(path) || !slices.Equal(got, want) {
			t.Errorf("%s: %q, ends at %q (%v), want %q and %q", path, got, end, ok, want, resolved(path))
		}
	}
	for _, path := range []string{base + "/loop", base + "/dead/x", base + "/none"} {
		if links, _, ok := linksTo(path); ok {
			t.Errorf("%s: %v", path, links)
		}
	}
}

// A scan that ends early still knows the checkout's own names.
func TestScanFactsSayWhereItEnded(t *testing.T) {
	needs.User(t)
	dir := checkout(t, ".git/HEAD: x", "closed/.git/HEAD: x", ".config/")
	for _, name := range []string{"/closed", "/.config"} {
		if err := os.Chmod(dir+name, 0o100); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(dir+name, 0o700) })
	}
	_, f := lookInside(t, dir, "")
	if len(f.Inside.Scans) == 1 {
		slices.Sort(f.Inside.Scans[0].Unread)
	}
	if len(f.Inside.Scans) != 1 || !slices.Equal(f.Inside.Scans[0].Unread, []string{dir + "/.config", dir + "/closed"}) {
		t.Errorf("scans %+v", f.Inside.Scans)
	}
	if got := listNames(f, dir); slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "unread") }) {
		t.Errorf("names %q", got)
	}
}

func TestCloseReleasesWhatWasHeldInside(t *testing.T) {
	dir := checkout(t, ".git/HEAD: x", ".git/config: x", "s =", ".envrc: x", "a/b/.git/config: x")
	_, f := lookInside(t, dir, "")
	var held []int
	for _, list := range [][]NameFact{f.Inside.Names, f.Inside.Folders, f.Inside.Sockets} {
		for _, n := range list {
			if n.fd > 0 {
				held = append(held, n.fd)
			}
		}
	}
	if len(held) < 8 {
		t.Fatalf("held %v", held)
	}
	f.Close()
	for _, fd := range held {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil {
			t.Errorf("descriptor %d is still open", fd)
		}
	}
}
