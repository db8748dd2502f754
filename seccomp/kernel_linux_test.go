package seccomp

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// outcome makes the call of a probe and returns the name of the error, or "ok".
func (p probe) outcome(t testing.TB) string {
	t.Helper()
	nr, ok := Number(runtime.GOARCH, p.name)
	if !ok {
		t.Fatalf("no number for %s", p.name)
	}
	var a [6]uintptr
	copy(a[:], p.args)
	_, _, e := unix.RawSyscall6(uintptr(nr), a[0], a[1], a[2], a[3], a[4], a[5])
	if e == 0 {
		return done
	}
	if e == unix.EOPNOTSUPP {
		return "EOPNOTSUPP" // ErrnoName has its other name
	}
	return unix.ErrnoName(e)
}

// title names a probe and what makes it different from its neighbours.
func (p probe) title() string {
	args := make([]string, len(p.args))
	for i, a := range p.args {
		args[i] = fmt.Sprintf("%#x", a)
	}
	return p.id + " " + p.name + "(" + strings.Join(args, ",") + ")"
}

const (
	optionsVar = "BRAINBOX_TEST_SECCOMP_OPTIONS" // index of the options to load
	freeVar    = "BRAINBOX_TEST_SECCOMP_FREE"    // file of the outcomes without a filter
)

// variants are the options that the kernel tests load: between them every
// switch stands in each of its positions.
func variants() []Options {
	return []Options{
		{},
		{UnixSockets: true},
		{Namespaces: true},
		{KeepsRoot: true},
		{Debug: true},
		{UnixBroker: true},
		{Network: NetPorts, UnixBroker: true},
		{Network: NetPorts},
		{Network: NetPorts, Listen: true, KeepsRoot: true},
		{Network: NetPorts, Namespaces: true},
		{Network: NetPortsDNS, UnixSockets: true},
		{Network: NetPortsDNS, Listen: true, Namespaces: true},
		{Network: NetHost},
		{Network: NetHost, Listen: true, UnixSockets: true, KeepsRoot: true, Namespaces: true, Debug: true},
	}
}

// TestDefaultsInTheKernel first records what each probe gives when nothing
// refuses it: the positive control.
func TestDefaultsInTheKernel(t *testing.T) {
	needs.Seccomp(t)
	file := filepath.Join(t.TempDir(), "free.json")
	if !t.Run("without a filter", func(t *testing.T) {
		if !needs.IsChild(t) {
			needs.RunChild(t, freeVar+"="+file)
			return
		}
		recordFree(t, os.Getenv(freeVar))
	}) {
		return
	}
	for _, o := range variants() {
		t.Run(fmt.Sprintf("%+v", o), func(t *testing.T) {
			i, err := o.index()
			if err != nil {
				t.Fatal(err)
			}
			if !needs.IsChild(t) {
				needs.RunChild(t, freeVar+"="+file, optionsVar+"="+strconv.Itoa(i))
				return
			}
			p, err := Default(o)
			if err != nil {
				t.Fatal(err)
			}
			load(t, p)
			judge(t, o, readFree(t, os.Getenv(freeVar)))
		})
	}
}

func recordFree(t *testing.T, file string) {
	t.Helper()
	outcomes := map[string]string{}
	for _, p := range probes() {
		outcomes[p.title()] = p.outcome(t)
	}
	text, err := json.Marshal(outcomes)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func readFree(t *testing.T, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var outcomes map[string]string
	if err := json.Unmarshal(text, &outcomes); err != nil {
		t.Fatal(err)
	}
	return outcomes
}

// judge makes all probes under the filter. One that the kernel refuses in the
// same way without it shows nothing; as root there are few of those.
func judge(t *testing.T, o Options, free map[string]string) {
	t.Helper()
	shown, mute := 0, []string{}
	for _, p := range probes() {
		want, control := p.want(o), free[p.title()]
		got := p.outcome(t)
		switch {
		case want == asFree && got != control:
			t.Errorf("%s = %s, want %s as without a filter", p.title(), got, control)
		case want != asFree && got != want:
			t.Errorf("%s = %s, want %s (without a filter: %s)", p.title(), got, want, control)
		case want != asFree && control == want:
			mute = append(mute, p.title())
		default:
			shown++
		}
	}
	t.Logf("%d probes shown, %d mute: %v", shown, len(mute), mute)
	if os.Getuid() == 0 && shown < 120 {
		t.Errorf("only %d of %d probes show anything", shown, len(probes()))
	}
}
