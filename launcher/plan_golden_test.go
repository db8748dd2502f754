package launcher

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// bare is a policy of the operator with one write grant and nothing from a profile.
const bare = "[filesystem]\nexec = [\"/usr\"]\nwrite = [\".\"]\n"

type planCase struct {
	name, policy string
	host         host
}

func planCases() []planCase {
	user := func(abi int) host { return host{abi: abi, uid: 1000, command: []string{"true"}} }
	with := func(change func(*Facts)) host { h := user(7); h.change = change; return h }
	cgroup := with(func(f *Facts) {
		f.Cgroup = CgroupFact{Dir: "/sys/fs/cgroup/u", Controllers: []string{"memory", "pids", "cpu"}, Kill: true}
	})
	limits := bare + "[process]\nmemory = \"1GiB\"\npids = 50\ncpu = \"1.5\"\nnofile = 256\nfsize = \"1MiB\"\ntimeout = \"2s\"\nkill_after = \"1s\"\noutput_limit = \"1KiB\"\n"
	list := []planCase{
		{"default", "", user(7)},
		{"degraded", bare + "[sandbox]\ndegraded = [\"files\", \"ipc\", \"protect\"]\n[filesystem.remove]\n", user(1)},
		{"protect-inside", bare + "protect = [\"./keep\"]\n", user(7)},
		{"protect-inside-degraded", bare + "protect = [\"./keep\"]\n[sandbox]\ndegraded = [\"protect\"]\n", user(7)},
		{"protect-deny-outside", bare + "protect = [\"/srv/a\"]\ndeny = [\"/srv/b\"]\n", user(7)},
		{"deny-inside", bare + "deny = [\"./secrets\"]\n[sandbox]\ndegraded = [\"deny\"]\n", user(7)},
		{"deny-by-another-mount", bare + "deny = [\"/srv/b\"]\n", host{abi: 7, uid: 1000, command: []string{"true"}, change: func(f *Facts) {
			f.otherNames("/srv/b", testCwd+"/b")
		}}},
		{"protect-by-another-mount", bare + "protect = [\"/srv/b\"]\n", host{abi: 7, uid: 1000, command: []string{"true"}, change: func(f *Facts) {
			f.otherNames("/srv/b", testCwd+"/b")
		}}},
		{"deny-by-another-mount-twice", bare + "deny = [\"/srv/b\", \"/mnt/b\"]\n", host{abi: 7, uid: 1000, command: []string{"true"}, change: func(f *Facts) {
			f.otherNames("/srv/b", "/mnt/b")
			f.otherNames("/mnt/b", "/srv/b")
		}}},
		{"deny-absent-behind-a-link", bare + "deny = [\"/link/secrets\"]\n", host{
			abi: 7, uid: 1000, absent: []string{"/link/secrets"}, links: map[string]string{"/link/secrets": testCwd + "/secrets"},
		}},
		{"net-ports", bare + "[network]\nmode = \"ports\"\nconnect_tcp = [443]\nbind_tcp = [8080]\ndns = \"host\"\n", user(7)},
		{"net-ports-abi3-degraded", bare + "[network]\nmode = \"ports\"\nconnect_tcp = [443]\n[sandbox]\ndegraded = [\"network\", \"ipc\", \"files\"]\n", user(3)},
		{"net-ports-abi3", bare + "[network]\nmode = \"ports\"\nconnect_tcp = [443]\n", user(3)},
		{"net-host", bare + "[network]\nmode = \"host\"\n", user(7)},
		{"net-proxy", bare + "[network]\nmode = \"proxy\"\nallow_hosts = [\"example.com:443\"]\n", user(7)},
		{"net-publish", bare + "[network]\npublish = [3000]\n", with(func(f *Facts) { f.Proxy = &Proxy{} })},
		{"unix", bare + "[network]\nunix = [\"/run/x.sock\"]\n", user(7)},
		{"missing", bare + "read = [\"/nowhere\"]\n[sandbox]\ndegraded = [\"files\"]\n", host{abi: 7, uid: 1000, absent: []string{"/nowhere"}}},
		{"missing-skip", bare + "read = [{ path = \"/nowhere\", missing = \"skip\" }]\n", host{abi: 7, uid: 1000, absent: []string{"/nowhere"}}},
		{"limits", limits, cgroup},
		{"limits-without-cgroup", limits, user(7)},
		{"limits-degraded", limits + "[sandbox]\ndegraded = [\"memory\", \"pids\", \"cpu\"]\n", user(7)},
		{"nofile-too-high", bare + "[process]\nnofile = 1000000\n", user(7)},
		{"identity", bare + "[sandbox]\nidentity = { user = \"agent\", group = \"agent\", groups = [\"audio\"] }\n", host{
			abi: 7, uid: 0, command: []string{"true"}, change: func(f *Facts) {
				f.SetPCap, f.Identity = true, &IdentityFact{UID: 1001, GID: 1001, Groups: []uint32{29}, User: "agent", Home: "/home/agent"}
			},
		}},
		{"identity-not-root", bare + "[sandbox]\nidentity = { user = \"agent\" }\ndegraded = [\"capabilities\"]\n", with(func(f *Facts) {
			f.Identity = &IdentityFact{UID: 1001, GID: 1001, User: "agent"}
		})},
		{"root", bare, host{abi: 7, uid: 0, command: []string{"true"}, change: func(f *Facts) { f.SetPCap = true }}},
		{"seccomp-debug", bare + "[process]\nseccomp = \"debug\"\n", user(7)},
		{"seccomp-none", bare + "[process]\nseccomp = \"none\"\n", user(7)},
		{"seccomp-none-degraded", bare + "[process]\nseccomp = \"none\"\n[sandbox]\ndegraded = [\"network\", \"unix\", \"ipc\"]\n", user(7)},
		{"seccomp-none-ports-dns", bare + "[process]\nseccomp = \"none\"\n[network]\nmode = \"ports\"\ndns = \"host\"\n", user(7)},
		{"seccomp-file", bare + "[process]\nseccomp = \"/srv/p.json\"\n", with(func(f *Facts) {
			f.Seccomp, f.SeccompDropped = ownFilter(), []string{"no_such_call"}
		})},
		{"seccomp-file-bad", bare + "[process]\nseccomp = \"/srv/p.json\"\n[sandbox]\ndegraded = [\"seccomp\"]\n", with(func(f *Facts) {
			f.SeccompErr = errors.New("line 3: unknown system call")
		})},
		{"exec", bare, with(func(f *Facts) { f.Exec, f.RunDir = true, "/tmp/brainbox-exec-1000" })},
		{"namespaces", bare + "[sandbox]\nisolation = \"namespaces\"\n", user(7)},
		{"no-landlock", bare + "[sandbox]\ndegraded = [\"files\", \"network\", \"ipc\"]\n", with(func(f *Facts) {
			f.Landlock.ABI, f.LandlockErr = 0, errors.New("landlock: not built into this kernel")
		})},
		{"cwd-outside", "[filesystem]\nexec = [\"/usr\"]\n", user(7)},
		{"cwd-asked-outside", "[filesystem]\nexec = [\"/usr\"]\n[sandbox]\ncwd = \"/srv\"\n", user(7)},
		{"home-keep", bare + "[sandbox]\nhome = \"keep\"\n", user(7)},
		{"not-found", bare, with(func(f *Facts) { f.File, f.FileErr = "", unix.ENOENT })},
		{"not-executable", bare, with(func(f *Facts) { f.FileErr = unix.EACCES })},
		{"env-file-bad", bare + "[sandbox]\ndegraded = [\"env\"]\n", with(func(f *Facts) {
			f.EnvFiles = []EnvFile{{Name: "./vars", Text: []byte("no assignment\n")}}
		})},
		{"terminal-relay", bare, with(func(f *Facts) { f.Terminal, f.ReadBack = true, [3]bool{false, true, false} })},
	}
	list = append(list, socketCases()...)
	list = append(list, bridgeCases()...)
	for _, abi := range []int{1, 2, 3, 4, 5, 6, 7, 9} {
		list = append(list, planCase{"abi-" + itoa(abi), bare, user(abi)})
	}
	return list
}

func TestPlanIsGolden(t *testing.T) {
	var want []string
	for _, c := range planCases() {
		file := filepath.Join("testdata", "plan", c.name+".golden")
		want = append(want, file)
		t.Run(c.name, func(t *testing.T) {
			p := resolve(t, c.policy)
			f := c.host.facts(p)
			got := show(NewPlan(p, f))
			if again := show(NewPlan(p, f)); again != got {
				t.Errorf("the second plan of the same facts differs:\n%s", cmp.Diff(got, again))
			}
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
				t.Errorf("plan (-golden +now):\n%s", diff)
			}
		})
	}
	have, err := filepath.Glob("testdata/plan/*.golden")
	if err != nil || len(have) == 0 {
		t.Fatalf("golden files: %v, %v", have, err)
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("golden files and cases (-cases +files):\n%s", diff)
	}
}

// clauseNames are those of docs/interfaces.md, in its order.
func clauseNames() []string {
	return strings.Fields("files protect deny metadata network hosts unix ipc shared_memory processes tree pids" +
		" memory cpu time output nofile fsize core env seccomp capabilities")
}

func TestEveryClauseIsInEveryPlanOnceInOrder(t *testing.T) {
	for _, c := range planCases() {
		p := resolve(t, c.policy)
		var got []string
		for _, cl := range NewPlan(p, c.host.facts(p)).Clauses {
			got = append(got, cl.Name)
		}
		if diff := cmp.Diff(clauseNames(), got); diff != "" {
			t.Errorf("%s: clauses (-want +got):\n%s", c.name, diff)
		}
	}
}

// A clause has the state of its worst entry, and a plan with a refused clause refuses.
func TestClauseStatesAndRefusalAgree(t *testing.T) {
	for _, c := range planCases() {
		p := resolve(t, c.policy)
		plan := NewPlan(p, c.host.facts(p))
		for _, cl := range plan.Clauses {
			for _, e := range cl.Entries {
				if e.State > cl.State {
					t.Errorf("%s: clause %s is %s, its entry %q is %s", c.name, cl.Name, cl.State, e.Value, e.State)
				}
			}
			if cl.State == StateRefused && plan.Refusal == nil {
				t.Errorf("%s: clause %s is refused and the plan is not", c.name, cl.Name)
			}
			if (cl.State == StateRefused || cl.State == StateOpen) && cl.Requirement == "" && len(cl.Entries) == 0 {
				t.Errorf("%s: clause %s is %s and does not say why", c.name, cl.Name, cl.State)
			}
		}
	}
}

// otherNames says by what further names a wanted path is reached.
func (f *Facts) otherNames(path string, others ...string) {
	for i := range f.Wants {
		if f.Wants[i].Abs == path {
			f.Paths[i].Others = others
		}
	}
}
