package seccomp

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// arches have a default filter. Their programs are data: each is tested wherever tests run.
var arches = []string{"amd64", "arm64"}

// defaultOf is [Default] on another machine.
func defaultOf(t testing.TB, goarch string, o Options) Program {
	t.Helper()
	raw, err := os.ReadFile("default-" + goarch + ".bpf")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Link(string(raw), o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// auditOf is [AuditArch] of an architecture that has one.
func auditOf(t testing.TB, goarch string) uint32 {
	t.Helper()
	arch, err := AuditArch(goarch)
	if err != nil {
		t.Fatal(err)
	}
	return arch
}

// entries are the ways into the kernel of a machine: AUDIT_ARCH_ values of the native and the
// 32-bit one.
var entries = map[string][2]uint32{"amd64": {auditAMD64, auditI386}, "arm64": {auditARM64, auditARM}}

// TestEveryOtherEntryKills: whatever the number and the arguments, a call by the 32-bit entry
// of the same machine, or by one of another machine, ends the process.
func TestEveryOtherEntryKills(t *testing.T) {
	for _, goarch := range arches {
		native := entries[goarch][0]
		if arch := auditOf(t, goarch); arch != native {
			t.Fatalf("AuditArch(%s) = %#x, want %#x", goarch, arch, native)
		}
		for _, o := range AllOptions() {
			p := defaultOf(t, goarch, o)
			for _, others := range []interval{{0, native - 1}, {native + 1, 1<<32 - 1}} {
				if got := p.reach(anything, others, nil); !slices.Equal(got, []Action{KillProcess}) {
					t.Errorf("%s %+v: another architecture gets %v", goarch, o, got)
				}
			}
			for nr := range uint32(600) {
				for _, arch := range []uint32{entries[goarch][1], auditAMD64 ^ auditARM64 ^ native} {
					if got := p.Eval(Data{Nr: nr, Arch: arch}); got != KillProcess {
						t.Fatalf("%s %+v: %d by %#x: %v", goarch, o, nr, arch, got)
					}
				}
			}
			read, _ := Number(goarch, "read")
			if got := p.Eval(Data{Nr: read, Arch: native}); got != Allow { // positive control
				t.Errorf("%s %+v: read = %v", goarch, o, got)
			}
		}
	}
}

// TestANameHasOneVerdict: a call that both architectures have is judged alike on both, by
// every variant, whatever its number. None of them has its arguments in another order where
// a rule looks: clone(2)'s flags are the first on both.
func TestANameHasOneVerdict(t *testing.T) {
	both := slices.DeleteFunc(Names("arm64"), func(name string) bool {
		_, ok := Number("amd64", name)
		return !ok
	})
	if len(both) < 320 {
		t.Fatalf("only %d names are on both", len(both))
	}
	r := rand.New(rand.NewPCG(7, 8))
	depends := map[string]bool{}
	for _, o := range AllOptions() {
		one, other := defaultOf(t, "amd64", o), defaultOf(t, "arm64", o)
		for _, name := range both {
			n1, _ := Number("amd64", name)
			n2, _ := Number("arm64", name)
			for _, d := range argumentClasses(one, n1, auditAMD64, r) {
				e := d
				e.Nr, e.Arch = n2, auditARM64
				want, got := one.Eval(d), other.Eval(e)
				if got != want {
					t.Fatalf("%+v: %s%v is %v on arm64, %v on amd64", o, name, d.Args, got, want)
				}
				if zero := (Data{Nr: n1, Arch: auditAMD64}); want != one.Eval(zero) {
					depends[name] = true
				}
			}
		}
	}
	for _, name := range []string{"clone", "socket", "ioctl", "fchmodat", "mknodat", "openat", "sendmsg", "prctl"} {
		if !depends[name] {
			t.Errorf("the arguments of %s were never told apart: the test sees nothing", name)
		}
	}
}

// argumentClasses are arguments of every kind that p tells apart, each alone and some together.
func argumentClasses(p Program, nr, arch uint32, r *rand.Rand) []Data {
	words, values := p.classes(nr, arch)
	list := []Data{{Nr: nr, Arch: arch}}
	for i, off := range words {
		for _, v := range values[i] {
			d := Data{Nr: nr, Arch: arch}
			d.setWord(off, v)
			list = append(list, d)
		}
	}
	for range 24 * min(len(words), 2) {
		d := Data{Nr: nr, Arch: arch}
		for i := range d.Args {
			d.Args[i] = r.Uint64() << 32 // what no rule looks at
		}
		for i, off := range words {
			d.setWord(off, values[i][r.IntN(len(values[i]))])
		}
		list = append(list, d)
	}
	return list
}

// TestLegacyCallsAreNotThere: arm64 lacks the calls that newer ones replace. Their numbers on
// amd64 are others there, or none: what has no name gets ENOSYS.
func TestLegacyCallsAreNotThere(t *testing.T) {
	for _, name := range strings.Fields(`open creat fork vfork pipe dup2 access chmod chown lchown mkdir rmdir mknod link
		symlink unlink rename readlink stat lstat poll select epoll_create epoll_wait inotify_init eventfd signalfd
		utime utimes futimesat getdents alarm pause time arch_prctl modify_ldt ioperm iopl ustat sysfs uselib`) {
		if nr, ok := Number("arm64", name); ok {
			t.Errorf("arm64 has %s: %d", name, nr)
		}
		if _, ok := Number("amd64", name); !ok { // positive control
			t.Errorf("amd64 has no %s", name)
		}
	}
	for _, goarch := range arches {
		arch := auditOf(t, goarch)
		var nameless []uint32
		for nr := range uint32(1024) {
			if Name(goarch, nr) == "" {
				nameless = append(nameless, nr)
			}
		}
		if len(nameless) < 600 || len(nameless) > 700 {
			t.Errorf("%s: %d of 1024 numbers have no name", goarch, len(nameless))
		}
		for _, o := range []Options{{}, {Network: NetHost, UnixSockets: true, Debug: true}, {KeepsRoot: true, UnixBroker: true}} {
			p := defaultOf(t, goarch, o)
			for _, nr := range nameless {
				if got := p.reach(only(nr), only(arch), nil); !slices.Equal(got, []Action{Errno(enosys)}) {
					t.Errorf("%s %+v: %d, which has no name, gets %v", goarch, o, nr, got)
				}
			}
		}
	}
}

// TestNewestCalls: what came with Linux 6.6 to 7.0 has the same number on every architecture.
func TestNewestCalls(t *testing.T) {
	for name, want := range map[string]uint32{
		"fchmodat2": 452, "map_shadow_stack": 453, "futex_wake": 454, "futex_wait": 455, "futex_requeue": 456,
		"statmount": 457, "listmount": 458, "lsm_get_self_attr": 459, "lsm_set_self_attr": 460, "lsm_list_modules": 461,
		"mseal": 462, "setxattrat": 463, "getxattrat": 464, "listxattrat": 465, "removexattrat": 466,
		"open_tree_attr": 467, "file_getattr": 468, "file_setattr": 469, "listns": 470, "rseq_slice_yield": 471,
	} {
		for _, goarch := range arches {
			if nr, ok := Number(goarch, name); !ok || nr != want {
				t.Errorf("%s: %s = %d, %v, want %d", goarch, name, nr, ok, want)
			}
		}
	}
}

// TestTablesAreTheLibrarys compares the tables of names with those of golang.org/x/sys/unix,
// which are made from the kernel's.
func TestTablesAreTheLibrarys(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", "golang.org/x/sys/unix").Output()
	if err != nil {
		t.Skipf("the library's source is not here: %v", err) // gating: where tests run without Go
	}
	for _, goarch := range arches {
		text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "zsysnum_linux_"+goarch+".go"))
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) < 3 || !strings.HasPrefix(fields[0], "SYS_") || fields[0] == "SYS_ARCH_SPECIFIC_SYSCALL" {
				continue // the last is where numbers of an architecture's own begin
			}
			want = append(want, strings.ToLower(fields[0][len("SYS_"):])+" "+fields[2])
		}
		slices.Sort(want)
		got := strings.Split(strings.TrimSpace(table(goarch)), "\n")
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" || len(want) < 320 {
			t.Errorf("%s, %d calls (-library +table):\n%s", goarch, len(want), diff)
		}
	}
}
