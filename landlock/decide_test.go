package landlock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDecideGolden(t *testing.T) {
	all := Set(Files, Truncate, IoctlDev, TCP, ScopeAbstractUnix, ScopeSignal, ResolveUnix)
	specs := []struct {
		name string
		spec Spec
	}{
		{"zero", Spec{}},
		{"sockets by path held elsewhere", Spec{ResolveUnixElsewhere: true}},
		{"everything open", Spec{OpenTCP: true, OpenSignal: true, OpenAbstractUnix: true, ResolveUnixElsewhere: true}},
		{"everything degraded", Spec{Degraded: all}},
	}
	var b strings.Builder
	for _, s := range specs {
		for _, abi := range []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13} {
			fmt.Fprintf(&b, "%s, kernel abi %d\n", s.name, abi)
			for _, e := range Decide(s.spec, Support{ABI: abi, Errata: 7}) {
				fmt.Fprintf(&b, "\t%s\t%s\t%s\t[%s]\t[%s]\t%s\n", e.Feature.Clause(), e.Feature, e.State,
					e.Mechanism, e.Requirement, e.Note)
			}
		}
	}
	golden(t, "decide.golden", b.String())
}

// TestNothingWeakerSilently walks every kernel and every Spec: what is asked
// for is enforced, or refused, or open because the Spec says so.
func TestNothingWeakerSilently(t *testing.T) {
	for abi := 0; abi <= Known+2; abi++ {
		for choice := range 16 {
			for degraded := range Features(1 << features) {
				spec := Spec{
					OpenTCP: choice&1 != 0, OpenSignal: choice&2 != 0, OpenAbstractUnix: choice&4 != 0,
					ResolveUnixElsewhere: choice&8 != 0, Degraded: degraded,
				}
				seen := Features(0)
				for _, e := range Decide(spec, Support{ABI: abi}) {
					seen |= Set(e.Feature)
					holds := abi >= e.Feature.ABI()
					wrong := holds != (e.State == Enforced) ||
						(e.State == Enforced) != (e.Mechanism != "") ||
						(e.State == Enforced) != (e.Requirement == "") ||
						(e.State == Open && !degraded.Has(e.Feature))
					if wrong {
						t.Fatalf("abi %d, %+v: %+v", abi, spec, e)
					}
				}
				for f := range Feature(features) {
					if spec.asks(f) != seen.Has(f) {
						t.Fatalf("abi %d, %+v: %s is asked %v, reported %v", abi, spec, f, spec.asks(f), seen.Has(f))
					}
				}
			}
		}
	}
}

func TestZeroSpecAsksForEverything(t *testing.T) {
	if got := len(Decide(Spec{}, Support{ABI: Known})); got != features {
		t.Errorf("the zero Spec asks for %d features, want %d", got, features)
	}
}

func TestDecideNamesOpenErrata(t *testing.T) {
	var got []string
	for _, e := range Decide(Spec{}, Support{ABI: 6, Errata: 1}) {
		if e.Note != "" {
			got = append(got, e.Feature.String()+": "+e.Note)
		}
	}
	want := []string{
		"files: erratum 3 (disconnected directories) is not reported as fixed: " +
			"rename or link below a moved bind mount can widen access",
		"signal: erratum 2 (scoped signal handling) is not reported as fixed: " +
			"a signal between threads of one process can be refused",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestVersionsAreComplete(t *testing.T) {
	versions := Versions()
	if len(versions) != Known {
		t.Fatalf("%d versions, want %d", len(versions), Known)
	}
	for i, v := range versions {
		if v.ABI != i+1 || v.Linux == "" || v.Adds == "" {
			t.Errorf("versions[%d] = %+v", i, v)
		}
	}
	for f := range Feature(features) {
		if v := versions[f.ABI()-1]; !v.Used || f.Clause() == "" || f.String() == "invalid" {
			t.Errorf("%s is of %+v, clause %q", f, v, f.Clause())
		}
	}
	for _, e := range Errata() {
		if e.ABI < 1 || e.ABI > Known || e.Name == "" || e.Effect == "" {
			t.Errorf("erratum %+v", e)
		}
	}
	if got, want := requirement(3), "ABI 3 (Linux 6.2)"; got != want {
		t.Errorf("requirement(3) = %q, want %q", got, want)
	}
}

// TestMechanism is esc/LA-03: both numbers are reported.
func TestMechanism(t *testing.T) {
	for _, tt := range []struct {
		abi, used int
		want      string
	}{
		{-1, 0, ""},
		{0, 0, ""},
		{7, 7, "landlock abi 7"},
		{Known, Known, "landlock abi 11"},
		{13, Known, "landlock abi 11 (the kernel has 13)"},
	} {
		sup := Support{ABI: tt.abi}
		if got := sup.Mechanism(); got != tt.want || sup.Used() != tt.used {
			t.Errorf("abi %d: %q used %d, want %q used %d", tt.abi, got, sup.Used(), tt.want, tt.used)
		}
	}
}

func TestFeaturesSet(t *testing.T) {
	if got := Set().String(); got != "" || Set().Has(Files) {
		t.Errorf("the empty set is %q", got)
	}
	s := Set(TCP, Truncate)
	if got, want := s.String(), "truncate,tcp"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if s.Has(Files) || !s.Has(TCP) {
		t.Errorf("%s has files is %v, tcp is %v", s, s.Has(Files), s.Has(TCP))
	}
}

// TestNotAvailable is esc/LA-01, told apart by errno.
func TestNotAvailable(t *testing.T) {
	for _, tt := range []struct {
		errno syscall.Errno
		want  Reason
		says  string
	}{
		{syscall.ENOSYS, NotBuilt, "not built into this kernel"},
		{syscall.EOPNOTSUPP, Disabled, "disabled when the kernel started"},
		{syscall.EPERM, Blocked, "blocked here"},
	} {
		err := os.NewSyscallError("landlock_create_ruleset", tt.errno)
		e := fmt.Errorf("outer: %w", &NotAvailableError{Reason: reasonFor(err), Err: err})
		var got *NotAvailableError
		if !errors.As(e, &got) || got.Reason != tt.want {
			t.Errorf("%v: reason %v, want %v", tt.errno, got.Reason, tt.want)
		}
		for _, target := range []error{ErrNotAvailable, errors.ErrUnsupported, tt.errno} {
			if !errors.Is(e, target) {
				t.Errorf("%v does not answer to %v", e, target)
			}
		}
		if errors.Is(e, fs.ErrNotExist) || !strings.Contains(e.Error(), tt.says) {
			t.Errorf("%v, want %q", e, tt.says)
		}
	}
	if !errors.Is(ErrNotAvailable, errors.ErrUnsupported) {
		t.Error("ErrNotAvailable does not answer to errors.ErrUnsupported")
	}
}
