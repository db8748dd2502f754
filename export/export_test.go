package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/runtime-spec/specs-go"

	"brainbox/launcher"
	"brainbox/policy"
	"brainbox/seccomp"
)

var update = flag.Bool("update", false, "write testdata/*.json")

// ordinary has a checkout with hooks, and one name in it that is not there yet.
func ordinary() machine {
	protect := grant(".git", checkout+"/.git", policy.RightProtect)
	return machine{
		uid: 1000, abi: 7,
		there: []string{"/usr", "/etc/hosts", "/sys/devices/system/cpu", checkout, home + "/go/pkg/mod"},
		names: []launcher.NameFact{
			guarded(checkout+"/.git", launcher.NameFolder, launcher.GuardName, protect),
			guarded(checkout+"/.git/hooks", launcher.NameFolder, launcher.GuardProtect, protect),
			guarded(checkout+"/.envrc", launcher.NameAbsent, launcher.GuardProtect, grant(".envrc", checkout+"/.envrc", policy.RightProtect)),
		},
		folders: []string{checkout + "/.git"},
	}
}

// widened is root's, with a grant of each kind inside another and with limits.
func widened() (machine, string) {
	m := machine{
		abi:   7,
		there: []string{"/usr", "/srv/a", "/srv/a/in", "/srv/b", "/srv/secret", "/srv/b/deep/secret", checkout, "/run/s.sock"},
		names: []launcher.NameFact{
			guarded("/srv/b/deep/secret", launcher.NameFolder, launcher.GuardDeny, grant("/srv/b/deep/secret", "/srv/b/deep/secret", policy.RightDeny)),
		},
		folders: []string{"/srv/b/deep"},
		change:  func(f *launcher.Facts) { f.GitConfig = nil },
	}
	return m, `
extends = ["default"]
[filesystem]
read = ["/srv/a"]
write = ["/srv/b"]
write_exec = ["/srv/a/in"]
deny = ["/srv/b/deep/secret", "/etc/shadow"]
[network]
mode = "host"
unix = ["/run/s.sock"]
[process]
memory = "1GiB"
pids = 32
cpu = "1.5"
nofile = 64
fsize = "1MiB"
[sandbox]
degraded = ["ipc"]
`
}

// TestGolden holds whole configurations, with their gaps, to testdata.
func TestGolden(t *testing.T) {
	root, text := widened()
	for _, c := range []struct {
		name    string
		machine machine
		policy  string
	}{
		{"user", ordinary(), `extends = ["default"]`},
		{"root", root, text},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec, gaps, err := OCI(c.machine.input(t, c.policy))
			if err != nil {
				t.Fatal(err)
			}
			spec.Linux.Seccomp.Syscalls = nil // of package profile, which holds them to a golden file of its own
			got := indented(t, spec)
			roundTrip(t, got, spec)
			got = append(got, strings.Join(append(Lines(gaps), ""), "\n")...)
			file := "testdata/" + c.name + ".golden"
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func indented(t *testing.T, v any) []byte {
	t.Helper()
	var out bytes.Buffer
	to := json.NewEncoder(&out)
	to.SetEscapeHTML(false)
	to.SetIndent("", "\t")
	if err := to.Encode(v); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// roundTrip reads a configuration as a runtime does, but takes no member that the
// specification does not have.
func roundTrip(t *testing.T, text []byte, want *specs.Spec) {
	t.Helper()
	from := json.NewDecoder(bytes.NewReader(text))
	from.DisallowUnknownFields()
	got := &specs.Spec{}
	if err := from.Decode(got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read again (-written +read):\n%s", diff)
	}
}

// mountAt is what a configuration mounts at a place, the last one if there are more.
func mountAt(spec *specs.Spec, path string) *specs.Mount {
	for i := len(spec.Mounts) - 1; i >= 0; i-- {
		if spec.Mounts[i].Destination == path {
			return &spec.Mounts[i]
		}
	}
	return nil
}

// TestWhatHolds looks at what a container must not have, whatever the policy.
func TestWhatHolds(t *testing.T) {
	root, text := widened()
	for _, in := range []Input{ordinary().input(t, `extends = ["default"]`), root.input(t, text)} {
		spec, _, err := OCI(in)
		if err != nil {
			t.Fatal(err)
		}
		p := spec.Process
		if !p.NoNewPrivileges || !spec.Root.Readonly || p.Capabilities == nil || cmp.Diff(specs.LinuxCapabilities{}, *p.Capabilities) != "" {
			t.Errorf("process %+v, root %+v", p, spec.Root)
		}
		if spec.Linux.Seccomp == nil || len(spec.Linux.Seccomp.Syscalls) < 10 || spec.Linux.Seccomp.DefaultAction != specs.ActErrno {
			t.Errorf("no filter: %+v", spec.Linux.Seccomp)
		}
		for _, m := range spec.Mounts {
			if !slices.Contains(m.Options, "nosuid") {
				t.Errorf("%s has set-id programs: %q", m.Destination, m.Options)
			}
			if m.Type != "bind" {
				continue
			}
			if below := slices.Contains(m.Options, "rbind"); !slices.Contains(m.Options, "nodev") || below && !slices.Contains(m.Options, "rnodev") ||
				below && slices.Contains(m.Options, "ro") != slices.Contains(m.Options, "rro") {
				t.Errorf("%s: %q", m.Destination, m.Options)
			}
		}
		for _, path := range []string{"/usr", "/etc/hosts", "/bin"} {
			if m := mountAt(spec, path); m != nil {
				t.Errorf("%s of the host is over the root file system's: %+v", path, m)
			}
		}
	}
}

// TestGaps: what a runtime does not hold is named, and nothing else is.
func TestGaps(t *testing.T) {
	plain := func() machine { return machine{uid: 1000, abi: 7, there: []string{"/usr", checkout, "/srv/real"}} }
	const grants = "[filesystem]\nwrite = [\".\"]\n"
	for _, c := range []struct {
		name, policy string
		change       func(*machine)
		want         []string
	}{
		{name: "nothing", policy: grants},
		{name: "ports", policy: grants + "[network]\nmode = \"ports\"\nconnect_tcp = [443]\n", want: []string{
			`network: "ports" "connect_tcp 443": Landlock holds it`, `ipc: Landlock keeps`,
		}},
		{name: "the host's network", policy: grants + "[network]\nmode = \"host\"\n", want: []string{
			`ipc: Landlock keeps`,
		}},
		{name: "hosts", policy: grants + "[network]\nmode = \"proxy\"\nallow_hosts = [\"example.com\"]\npublish = [8080]\n", want: []string{
			`hosts: "example.com" "publish 8080": brainbox serves it`,
		}},
		{name: "time and output", policy: grants + "[process]\ntimeout = \"1m\"\noutput_limit = \"1MiB\"\n", want: []string{
			`time: "1m0s": a runtime ends nothing`, `output: "1048576 bytes": a runtime counts`,
		}},
		{name: "a link", policy: "[filesystem]\nread = [\"/srv/link\"]\nwrite = [\".\"]\n", change: func(m *machine) {
			m.links = map[string]string{"/srv/link": "/srv/real"}
		}, want: []string{`files: "/srv/link": a symbolic link leads there, and the container has "/srv/real" alone`}},
		{name: "a device", policy: "[filesystem]\nwrite = [\".\", \"/dev/fuse\"]\n", change: func(m *machine) {
			m.devices = []string{"/dev/fuse"}
		}, want: []string{`files: "/dev/fuse": a device`}},
		{name: "a kept home", policy: grants + "[sandbox]\nhome = \"keep\"\n", want: []string{`files: "home keep": brainbox makes`}},
		{name: "git", policy: grants, change: func(m *machine) {
			m.change = func(f *launcher.Facts) { f.GitConfig = []byte("[user]\n") }
		}, want: []string{`env: "GIT_CONFIG_GLOBAL": brainbox writes`}},
		{name: "sockets by Landlock", policy: grants, change: func(m *machine) { m.abi = 9 }, want: []string{`unix: Landlock keeps`}},
		{name: "absent", policy: grants, change: func(m *machine) {
			m.names = ordinary().names
			m.folders = ordinary().folders
		}, want: []string{`protect: ".envrc": absent`}},
		{name: "the bridge and its gate", policy: grants + "[bridge]\nenvelope = \"/srv/b.json\"\n[gate]\nallowed_tools = [\"grep\"]\n", want: []string{
			`bridge: "/srv/b.json": the bridge is served`, `gate: a gate decides`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := plain()
			if c.change != nil {
				c.change(&m)
			}
			spec, gaps, err := OCI(m.input(t, c.policy))
			if err != nil {
				t.Fatal(err)
			}
			got := Lines(gaps)
			if len(got) != len(c.want) {
				t.Fatalf("gaps %q, want %q", got, c.want)
			}
			for i, want := range c.want {
				if !strings.HasPrefix(got[i], want) {
					t.Errorf("gap %q, want %q", got[i], want)
				}
			}
			var accepted []string
			for _, g := range gaps {
				if !slices.Contains(Clauses(), g.Clause) {
					t.Errorf("%q is no word of Clauses", g.Clause)
				}
				if spec.Annotations["org.brainbox.gap."+g.Clause] == "" {
					t.Errorf("no annotation for %q: %v", g.Clause, spec.Annotations)
				}
				accepted = append(accepted, g.Clause)
			}
			if len(gaps) > 0 && len(Open(gaps, nil)) != len(gaps) || len(Open(gaps, accepted)) != 0 {
				t.Errorf("Open(%v): %v, %v", gaps, Open(gaps, nil), Open(gaps, accepted))
			}
		})
	}
}

// TestDenied: what is denied is masked by every name, there or not; the root file system may
// have it.
func TestDenied(t *testing.T) {
	root, text := widened()
	spec, _, err := OCI(root.input(t, text))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/srv/b/deep/secret", "/etc/shadow", "/proc/keys"} {
		if !slices.Contains(spec.Linux.MaskedPaths, path) {
			t.Errorf("%s is not masked: %q", path, spec.Linux.MaskedPaths)
		}
	}
	if m := mountAt(spec, "/srv/b/deep"); m == nil || !slices.Contains(m.Options, "rw") {
		t.Errorf("the folder above a denied one can be moved away: %+v", m)
	}
}

func TestRefusals(t *testing.T) {
	if _, _, err := OCI(ordinary().input(t, `extends = ["default"]`)); err != nil {
		t.Fatal(err)
	}
	refusal := &launcher.Refusal{Status: launcher.StatusRefused, Message: "no"}
	for name, c := range map[string]struct {
		policy string
		change func(*Input)
		want   error
	}{
		"a relative root":    {"", func(in *Input) { in.Rootfs = "root" }, ErrRootfs},
		"no root":            {"", func(in *Input) { in.Rootfs = "" }, ErrRootfs},
		"isolation landlock": {"[sandbox]\nisolation = \"landlock\"", func(*Input) {}, ErrIsolation},
		"a lost profile":     {"", func(in *Input) { in.Plan.Filter = make(seccomp.Program, 1) }, ErrProfile},
		"a refusal":          {"", func(in *Input) { in.Plan.Refusal = refusal }, refusal},
		"an unknown machine": {"", func(in *Input) { in.Arch = "mips" }, errors.ErrUnsupported},
	} {
		t.Run(name, func(t *testing.T) {
			m := ordinary()
			m.there = append(m.there, "/proc") // in landlock it is looked at
			in := m.input(t, "extends = [\"default\"]\n"+c.policy)
			c.change(&in)
			if spec, _, err := OCI(in); !errors.Is(err, c.want) || spec != nil {
				t.Errorf("%v, %v, want %v", spec, err, c.want)
			}
		})
	}
}
