//go:build cgo

package compile

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brainbox/seccomp"
	"brainbox/seccomp/profile"
)

var update = flag.Bool("update", false, "write testdata/libseccomp.json")

// record says with which library the default profile was compared, and what that
// one made of its variants. Verdicts are compared with whatever library is there;
// bytes only with the recorded one.
type record struct {
	Libseccomp string            `json:"libseccomp"`
	Program    map[string]string `json:"program_sha256"` // by network, on amd64
}

func TestRecordedLibraryMakesTheRecordedPrograms(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the record is of amd64") // gating: an architecture, not a machine
	}
	got := record{Libseccomp: Version(), Program: map[string]string{}}
	for name, n := range map[string]seccomp.Network{
		"none": seccomp.NetNone, "ports": seccomp.NetPorts, "dns": seccomp.NetPortsDNS, "host": seccomp.NetHost,
	} {
		oci, err := profile.For(runtime.GOARCH, seccomp.Options{Network: n})
		if err != nil {
			t.Fatal(err)
		}
		r, err := Compile(oci)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(r.Program.Bytes())
		got.Program[name] = hex.EncodeToString(sum[:])
	}
	const file = "testdata/libseccomp.json"
	if *update {
		text, err := json.MarshalIndent(got, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var want record
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	if got.Libseccomp != want.Libseccomp {
		t.Skipf("libseccomp is %s, the record of %s", got.Libseccomp, want.Libseccomp) // gating: another library
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got; after a change of the profile run this test with -update:\n%s", diff)
	}
}
