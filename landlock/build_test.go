package landlock

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brainbox/internal/needs"

	"golang.org/x/sys/unix"
)

// all is every feature but the one that Landlock itself is.
func all() Features {
	return Set(Truncate, IoctlDev, TCP, ScopeAbstractUnix, ScopeSignal, ResolveUnix)
}

// probe gives the kernel's support, or skips.
func probe(t testing.TB, abi int) Support {
	t.Helper()
	needs.LandlockABI(t, abi)
	sup, err := Probe()
	if err != nil {
		t.Fatal(err)
	}
	return sup
}

// hold opens a path as a rule wants it.
func hold(t testing.TB, path string) int {
	t.Helper()
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatalf("open %q: %v", path, err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	return fd
}

// openFDs lists the descriptors of this process.
func openFDs(t testing.TB) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		target, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err == nil && strings.Contains(target, "landlock") {
			names = append(names, e.Name())
		}
	}
	return names
}

func TestBuildRefuses(t *testing.T) {
	sup := probe(t, 4)
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	held := hold(t, dir)
	good := Rule{FD: held, Dir: true}
	const closed = 1 << 20 // above every limit
	but := func(f Feature) Spec { return Spec{Degraded: all() &^ Set(f)} }
	only := func(rules ...Rule) Spec { return Spec{Rules: rules} }
	const badFD = "rule 1: landlock_add_rule: bad file descriptor"
	tests := []struct {
		name string
		spec Spec
		sup  Support
		want error
		says string
	}{
		{"no Landlock", but(Files), Support{}, ErrNotAvailable, "ABI 1 (Linux 5.13), and here is nothing"},
		{"files degraded", Spec{Degraded: all() | Set(Files)}, Support{}, ErrNotAvailable, "files needs"},
		{"truncate below ABI 3", but(Truncate), Support{ABI: 2}, errors.ErrUnsupported, "ABI 3 (Linux 6.2)"},
		{"tcp below ABI 4", but(TCP), Support{ABI: 3}, errors.ErrUnsupported, "tcp needs ABI 4 (Linux 6.7), and"},
		{"ioctl below ABI 5", but(IoctlDev), Support{ABI: 4}, errors.ErrUnsupported, "here is landlock abi 4"},
		{"signals below ABI 6", but(ScopeSignal), Support{ABI: 5}, errors.ErrUnsupported, "signal needs ABI 6"},
		{"abstract below ABI 6", but(ScopeAbstractUnix), Support{ABI: 5}, errors.ErrUnsupported, "socket needs ABI 6"},
		{"unix below ABI 9", but(ResolveUnix), Support{ABI: 8}, errors.ErrUnsupported, "resolve_unix needs ABI 9"},
		{"a right that does not exist", only(good, Rule{FD: held, Right: 4}), sup, nil, "rule 1: right 4 does not exist"},
		{"no descriptor", only(good, good, Rule{FD: -1}), sup, nil, "rule 2: descriptor -1 is not open"},
		{"a closed descriptor", only(good, Rule{FD: closed, Dir: true}), sup, unix.EBADF, badFD},
		{"a file as a folder", only(Rule{FD: hold(t, file), Dir: true}), sup, unix.EINVAL, "rule 0: landlock_add_rule: "},
		{"ports with tcp open", Spec{OpenTCP: true, BindTCP: []uint16{80}}, sup, nil, "ports are listed, but tcp is open"},
		{"connect to port 0", Spec{ConnectTCP: []uint16{80, 0}}, sup, nil, "connect to port 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := openFDs(t)
			if tt.spec.Degraded == 0 {
				tt.spec.Degraded = all()
			}
			fd, err := Build(tt.spec, tt.sup)
			if fd != -1 || err == nil {
				t.Fatalf("Build = %d, %v, want -1 and an error", fd, err)
			}
			if !strings.HasPrefix(err.Error(), "landlock: ") || strings.Count(err.Error(), "landlock: ") != 1 {
				t.Errorf("%q does not name the package once", err)
			}
			if !strings.Contains(err.Error(), tt.says) || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("Build error = %q, want %q and %v", err, tt.says, tt.want)
			}
			if after := openFDs(t); !slices.Equal(before, after) {
				t.Errorf("descriptors %v, before %v", after, before)
			}
		})
	}
}

func TestBuildChangesNothingHere(t *testing.T) {
	sup := probe(t, 1)
	dir := t.TempDir()
	rules := []Rule{{FD: hold(t, dir), Dir: true, Right: Read}}
	fd, err := Build(Spec{Rules: rules, Degraded: all()}, sup)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Close(fd); err != nil {
			t.Error(err)
		}
	}()
	if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("flags %#x, %v, want close-on-exec", flags, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "still-free"), nil, 0o600); err != nil {
		t.Error(err)
	}
	if nnp, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err != nil || nnp != 0 {
		t.Errorf("no_new_privs is %d, %v", nnp, err)
	}
	if _, err := unix.FcntlInt(uintptr(rules[0].FD), unix.F_GETFD, 0); err != nil {
		t.Errorf("the rule's descriptor was closed: %v", err)
	}
}

func TestProbeAgreesWithTheKernel(t *testing.T) {
	sup := probe(t, 1)
	if sup.ABI < 1 || sup.Used() < 1 || sup.Mechanism() == "" {
		t.Errorf("Probe = %+v", sup)
	}
	// The kernel takes every right of its ABI, and none of a later one.
	fd, err := Build(Spec{Degraded: all()}, sup)
	if err != nil {
		t.Fatalf("the kernel does not take all of abi %d: %v", sup.Used(), err)
	}
	_ = unix.Close(fd)
	if sup.ABI >= Known {
		t.Skip("the kernel has every known ABI")
	}
	for abi := sup.ABI + 1; abi <= Known; abi++ {
		if handledFS(abi) == handledFS(sup.ABI) {
			continue
		}
		if fd, err := Build(Spec{Degraded: all()}, Support{ABI: abi}); !errors.Is(err, unix.EINVAL) {
			t.Errorf("a kernel with abi %d takes abi %d: %d, %v", sup.ABI, abi, fd, err)
		}
		break
	}
}
