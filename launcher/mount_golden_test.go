package launcher

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brainbox/policy"
)

type mountCase struct {
	name, policy string
	world        world
}

func mountCases() []mountCase {
	user := host{abi: 7, uid: 1000, command: []string{"true"}}
	tree := func(more ...string) world { return world{host: user, tree: append(debian(), more...)} }
	repo := []string{"/home/u/co/.git/HEAD", "/home/u/co/.git/config", "/home/u/co/.git/hooks/", "/home/u/co/.envrc"}
	with := func(w world, change func(*Facts)) world { w.change = change; return w }
	own := "extends = [\"default\"]\n"
	return []mountCase{
		{"default", "", tree(repo...)},
		{"git-config", own + "[sandbox]\ngit_config = true\n", tree(repo...)},
		{"git-is-a-link", "", tree("/home/u/co/.git -> ../real.git", "/home/u/real.git/config", "/home/u/co/.npmrc -> rc", "/home/u/co/rc")},
		{"home-through-a-link", "", world{host: user, tree: []string{
			"/usr/", "/home/u -> ../data/home/u", "/data/home/u/co/.git/config", "/data/home/u/.cargo/bin/", "/etc/hosts", "/proc/", "/dev/null",
		}}},
		{"store-on-another-mount", "[filesystem]\nexec = [\"/nix/store\", \"/bin\", \"/usr/bin/env\", \"/run/current-system\"]\nwrite = [\".\"]\n", world{host: user, tree: []string{
			"/nix/store/sh/bin/sh", "/bin/sh", "/usr/bin/env -> /nix/store/env", "/nix/store/env", "/run/current-system -> ../nix/store/sys",
			"/nix/store/sys/", "/home/u/co/", "/proc/", "/dev/null",
		}}},
		{"nothing-but-a-checkout", "[filesystem]\nwrite = [\".\"]\n", tree()},
		{
			"protect-and-deny", "[filesystem]\nexec = [\"/usr\"]\nwrite = [\".\"]\nprotect = [\"./a/b/keep\", \"./top\", \"./later\"]\ndeny = [\"./x/y/secret\", \"./x/key\", \"./none\", \"/usr/private\", \"/srv/a\"]\n",
			tree("/home/u/co/a/b/keep/", "/home/u/co/top", "/home/u/co/x/y/secret/", "/home/u/co/x/key", "/usr/private/"),
		},
		{"below-tmp", "[filesystem]\nexec = [\"/usr\"]\nwrite_exec = [\"/tmp/work\"]\nread = [\"/tmp/in.txt\"]\n", tree("/tmp/work/", "/tmp/in.txt")},
		{"tmp-granted", "[filesystem]\nread = [\"/tmp\", \"/run\"]\nwrite = [\".\"]\n", with(tree(), func(f *Facts) { f.RunDir = "/var/tmp/brainbox-1000/0123456789abcdef" })},
		{"sockets", "[filesystem]\nwrite = [\".\"]\nread = [\"/srv/a\", \"/srv/a/b/x.sock\"]\n[network]\nunix = [\"/run/db.sock\", \"./mine.sock\", \"/link/docker.sock\"]\n", world{
			host: user, sockets: []string{"/home/u/co/mine.sock", "/home/u/co/other.sock", "/srv/a/b/x.sock", "/elsewhere/s"},
			tree: append(debian(), "/run/db.sock =", "/home/u/co/mine.sock =", "/home/u/co/other.sock =", "/srv/a/b/x.sock =", "/link -> run", "/run/docker.sock ="),
		}},
		{"root-granted", "[filesystem]\nread = [\"/\"]\nexec = [\"/usr\"]\nwrite = [\".\"]\ndeny = [\"/srv\"]\n", tree("/boot/", "/vmlinuz")},
		{"devices", "[filesystem]\nwrite = [\"/dev/kvm\", \"/dev/dri\"]\nread = [\"/dev/shm\", \"/dev/pts/5\"]\n", with(tree("/dev/kvm", "/dev/dri/card0", "/dev/pts/3", "/dev/pts/5"), func(f *Facts) {
			for _, dev := range []string{"/dev/tty", "/dev/pts/3"} {
				f.Wants = append(f.Wants, Want{Always: true, Device: true, Grant: policy.Grant{
					Path: policy.Path{Text: dev, Abs: dev, Skip: true, Source: -1}, Right: policy.RightWrite,
				}})
				f.Paths = append(f.Paths, PathFact{Target: dev, Device: true})
			}
		})},
		{"all-of-dev", "[filesystem]\nread = [\"/dev\"]\n", tree("/dev/kvm", "/dev/dri/card0", "/dev/log -> /run/log")},
		{"etc-granted", own + "[filesystem]\nread = [\"/etc\"]\n[network]\nmode = \"host\"\n", tree()},
		{"host-network", own + "[network]\nmode = \"host\"\n", tree()},
		{"proxy", own + "[network]\nmode = \"proxy\"\n", tree("/etc/nsswitch.conf", "/etc/gai.conf")},
		{"proxy-own-files", own + "[filesystem]\nread = [\"/etc/hosts\", \"/etc/nsswitch.conf\"]\n[network]\nmode = \"proxy\"\n", tree("/etc/nsswitch.conf")},
		{
			"wider-inside", "[filesystem]\nread = [\"/srv\"]\nexec = [\"/srv/a/bin\"]\nwrite = [\"/srv/a/out\"]\nwrite_exec = [\"/srv/a/out/bin\"]\n",
			tree("/srv/a/bin/", "/srv/a/out/bin/"),
		},
		{
			"narrower-inside", "[filesystem]\nwrite_exec = [\"/data\"]\nwrite = [\"/data/a/noexec\"]\nread = [\"/data/a/b/c\"]\nexec = [\"/data/tools\"]\n",
			tree("/data/a/noexec/", "/data/a/b/c/", "/data/tools/"),
		},
		{"kept-home", own + "[sandbox]\nhome = \"keep\"\n", tree()},
		{"tmpdir-elsewhere", own, with(tree(), func(f *Facts) {
			f.RunDir, f.GitConfig = "/var/scratch/brainbox-1000/0123456789abcdef", []byte("[user]\n")
		})},
		{"bridge", own, with(tree(repo...), bridged)},
		{"identity", own + "[filesystem]\nwrite = [\".\"]\n[sandbox]\nidentity = { user = \"agent\" }\n", world{host: host{abi: 7, uid: 0, command: []string{"true"}, change: func(f *Facts) {
			f.Identity = &IdentityFact{UID: 1001, GID: 1001, User: "agent"}
		}}}},
	}
}

func TestMountsAreGolden(t *testing.T) {
	var want []string
	for _, c := range mountCases() {
		file := filepath.Join("testdata", "mounts", c.name+".golden")
		want = append(want, file)
		t.Run(c.name, func(t *testing.T) {
			plan, _ := insidePlan(t, c.world, c.policy)
			again, _ := insidePlan(t, c.world, c.policy)
			got := showMounts(plan.Mounts)
			if other := showMounts(again.Mounts); other != got {
				t.Errorf("the second plan of the same facts differs:\n%s", cmp.Diff(got, other))
			}
			for _, w := range plan.Watch {
				got += "watch " + w.Path + " in " + w.Root + "\n"
			}
			if r := plan.Refusal; r != nil {
				got += "refused " + r.Clause + ": " + r.Message + "\n"
			}
			compareGolden(t, file, got)
		})
	}
	for name, change := range workerCases() {
		file := filepath.Join("testdata", "mounts", name+".golden")
		want = append(want, file)
		plan := workerPlan(t, change)
		got := showMounts(plan.Mounts)
		if r := plan.Refusal; r != nil {
			got += "refused " + r.Clause + ": " + r.Message + "\n"
		}
		compareGolden(t, file, got)
	}
	have, err := filepath.Glob("testdata/mounts/*.golden")
	if err != nil || len(have) == 0 {
		t.Fatalf("golden files: %v, %v", have, err)
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("golden files and cases (-cases +files):\n%s", diff)
	}
}

func compareGolden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(golden), got); diff != "" {
		t.Errorf("%s (-golden +now):\n%s", file, diff)
	}
}
