package profile

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"brainbox/seccomp"
	"brainbox/seccomp/tree"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the generated files and the golden files")

var arches = []string{"amd64", "arm64"}

// policies returns the policy of every option for goarch.
func policies(t testing.TB, goarch string) []tree.Policy {
	t.Helper()
	var all []tree.Policy
	for _, o := range seccomp.AllOptions() {
		oci, err := For(goarch, o)
		if err != nil {
			t.Fatal(err)
		}
		p, err := tree.Resolve(oci, goarch)
		if err != nil {
			t.Fatalf("Resolve(%+v) = %v", o, err)
		}
		all = append(all, p)
	}
	return all
}

// golden compares got with a file, or writes it with -update.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is not current; run go generate (-want +got):\n%s", path, diff)
	}
}

// manifest records what the checked-in programs were made from.
type manifest struct {
	Profile map[string]string `json:"profile_sha256"` // of the OCI profiles of all options, as JSON
	Program map[string]string `json:"program_sha256"` // of default-ARCH.bpf
}

func TestGeneratedFilesAreCurrent(t *testing.T) {
	m := manifest{Profile: map[string]string{}, Program: map[string]string{}}
	for _, goarch := range arches {
		blob, err := tree.Pack(policies(t, goarch))
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "../default-"+goarch+".bpf", blob)
		m.Program[goarch] = digest(blob)
		m.Profile[goarch] = digest(profilesJSON(t, goarch))
	}
	text, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/manifest.json", append(text, '\n'))
}

func profilesJSON(t *testing.T, goarch string) []byte {
	t.Helper()
	var all []byte
	for _, o := range seccomp.AllOptions() {
		oci, err := For(goarch, o)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(oci)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	return all
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
