package launcher

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// wrapAgent is a uid that owns nothing on the host.
var wrapAgent = Identity{UID: 65534, GID: 65534}

func wrapHostPath(t *testing.T, value string) HostPath {
	t.Helper()
	host, err := NewHostPath(value, wrapAgent)
	if err != nil {
		t.Fatalf("NewHostPath(%q) = %v", value, err)
	}
	return host
}

func TestValidateExecWrapperRefuses(t *testing.T) {
	tests := []struct{ name, raw string }{
		{"bk/W6", "sudo -u brain"},
		{"bk/W7 bare name", "run-as"},
		{"bk/W7 dot slash", "./wrapper"},
		{"bk/W7 parent", "../w"},
		{"bk/W7 shell", "x; rm -rf /"},
		{"bk/W7 tilde", "~/w"},
		{"bk/W10 NUL [D]", "/opt/a\x00b"},
		{"bk/W11 drive letter", `C:\w.exe`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for variable, validate := range map[string]func(string) (string, error){
				"BRAIN_UI_EXEC_WRAPPER": ValidateExecWrapper, "BRAIN_UI_EXEC_KILLER": ValidateExecKiller,
			} {
				got, err := validate(tt.raw)
				if err == nil {
					t.Fatalf("%s=%q accepted as %q", variable, tt.raw, got)
				}
				if !strings.Contains(err.Error(), variable) || !strings.Contains(err.Error(), strconv.Quote(tt.raw)) {
					t.Errorf("%s=%q: message %q lacks the variable or the value", variable, tt.raw, err)
				}
				if !errors.Is(err, fs.ErrInvalid) || got != "" {
					t.Errorf("%s=%q = %q, %v, want fs.ErrInvalid and nothing", variable, tt.raw, got, err)
				}
			}
		})
	}
	if _, err := ValidateExecWrapper("sudo -u brain"); !strings.Contains(err.Error(), "absolute path") {
		t.Errorf("bk/W6: %q does not speak of an absolute path", err)
	}
}

func TestValidateExecWrapperAccepts(t *testing.T) {
	tests := []struct{ name, raw, want string }{
		{"bk/W1 unset, bk/W2 empty", "", ""},
		{"bk/W3", "   ", ""},
		{"bk/W4", "/opt/run-as", "/opt/run-as"},
		{"bk/W5", "  /opt/run-as\n", "/opt/run-as"},
		{"bk/W8", "/tmp/wrap; touch /tmp/pwned", "/tmp/wrap; touch /tmp/pwned"},
		{"bk/W9", "/opt/run as me", "/opt/run as me"},
		{"bk/W12", "/opt/run-as --flag", "/opt/run-as --flag"},
		{"bk/W13 not cleaned [D]", "//opt/w", "//opt/w"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, validate := range []func(string) (string, error){ValidateExecWrapper, ValidateExecKiller} {
				if got, err := validate(tt.raw); got != tt.want || err != nil {
					t.Errorf("validate(%q) = %q, %v, want %q", tt.raw, got, err, tt.want)
				}
			}
		})
	}
}

func TestCheckHelperRefuses(t *testing.T) {
	dir := t.TempDir()
	open := filepath.Join(dir, "open")
	helper := filepath.Join(open, "helper")
	if err := errors.Join(os.Mkdir(open, 0o755), os.WriteFile(helper, nil, 0o755), os.Chmod(open, 0o777)); err != nil {
		t.Fatal(err)
	}
	shared := Identity{UID: uint32(os.Geteuid()), SharedUID: true}
	tests := []struct {
		name, path string
		who        Identity
		is         error
		want       string
	}{
		{"bk/W12 no such file [D]", "/usr/bin/run-as --flag", wrapAgent, fs.ErrNotExist, `run-as --flag`},
		{"bk/W14 parent 0777 [D]", helper, shared, fs.ErrPermission, "writable by others"},
		{"world-writable ancestor", helper, wrapAgent, fs.ErrPermission, "writable by others"},
		{"a directory", "/usr/bin", wrapAgent, fs.ErrPermission, "not a regular file"},
		{"a device", "/dev/null", wrapAgent, fs.ErrPermission, "/dev/null"},
		{"no execute bit", "/etc/passwd", wrapAgent, fs.ErrPermission, "no execute bit"},
		{"zero identity", "/usr/bin/env", Identity{}, fs.ErrPermission, "owned by uid 0"},
		{"relative", "usr/bin/env", wrapAgent, fs.ErrInvalid, "usr/bin/env"},
		{"shared uid that is not the host's", "/usr/bin/env", Identity{UID: 65534, SharedUID: true}, fs.ErrInvalid, "65534"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := CheckHelper(tt.path, tt.who)
			if !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("CheckHelper(%q) = %v, want %v with %q", tt.path, err, tt.is, tt.want)
			}
		})
	}
	if err := CheckHelper("/usr/bin/env", wrapAgent); err != nil {
		t.Errorf("positive control: %v", err)
	}
}

func TestWrapCommandWithoutWrapperIsIdentity(t *testing.T) {
	for name, argv := range map[string][]string{
		"bk/C1": {"grep", "-rInE", "--", "x", "."},
		"bk/C2": {},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := WrapCommand(argv, "", HostPath{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(argv, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(argv) > 0 {
				if got[0] = "changed"; argv[0] == "changed" {
					t.Error("the result shares argv's backing array")
				}
			}
		})
	}
}

func TestWrapCommandRefuses(t *testing.T) {
	host := wrapHostPath(t, "/usr/bin:/bin")
	tests := []struct {
		name string
		argv []string
		is   error
	}{
		{"bk/C3", nil, fs.ErrInvalid},
		{"bk/C6 not clean [D]", []string{"/bin/../tmp/evil"}, fs.ErrInvalid},
		{"bk/C6 double slash [D]", []string{"/bin//sh"}, fs.ErrInvalid},
		{"bk/C6 trailing slash [D]", []string{"/bin/sh/"}, fs.ErrInvalid},
		{"bk/C7", []string{"no-such-prog", "x"}, fs.ErrNotExist},
		{"bk/C8", []string{""}, fs.ErrInvalid},
		{"bk/C9 [D]", []string{"./x"}, fs.ErrInvalid},
		{"bk/C9 parent [D]", []string{"../x"}, fs.ErrInvalid},
		{"bk/C9 folder [D]", []string{"node_modules/.bin/x"}, fs.ErrInvalid},
		{"dot", []string{".."}, fs.ErrNotExist},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := WrapCommand(tt.argv, "/opt/my wrapper", host)
			if !errors.Is(err, tt.is) || got != nil {
				t.Fatalf("WrapCommand(%q) = %q, %v, want %v", tt.argv, got, err, tt.is)
			}
			if !strings.Contains(err.Error(), `"/opt/my wrapper"`) {
				t.Errorf("%q does not name the wrapper", err)
			}
			if len(tt.argv) > 0 && !strings.Contains(err.Error(), strconv.Quote(tt.argv[0])) {
				t.Errorf("%q does not name the program", err)
			}
		})
	}
}

func TestWrapCommandWraps(t *testing.T) {
	host := wrapHostPath(t, "/usr/bin:/bin")
	found := func(name string) string {
		file, err := host.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	tests := []struct {
		name, wrapper string
		argv, want    []string
	}{
		{"bk/C4", "/w", []string{"sh", "-lc", "echo hi"}, []string{"/w", "/usr/bin/sh", "-lc", "echo hi"}},
		{"bk/C5", "/w", []string{"/bin/sh", "-c", "a b"}, []string{"/w", "/bin/sh", "-c", "a b"}},
		{
			"bk/C12", "/w",
			[]string{"env", "$(id)", "a;b", "*", "", "\xff"},
			[]string{"/w", found("env"), "$(id)", "a;b", "*", "", "\xff"},
		},
		{
			"bk/C13", "/tmp/wrap; touch /tmp/pwned",
			[]string{"env", "hi"},
			[]string{"/tmp/wrap; touch /tmp/pwned", found("env"), "hi"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := WrapCommand(tt.argv, tt.wrapper, host)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestHostPathNeverLooksInTheWorkingDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "sh"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for _, value := range []string{":/usr/bin", "/usr/bin:", ".:/usr/bin", "./:/usr/bin", "bin:/usr/bin", "::/usr/bin::"} {
		got, err := wrapHostPath(t, value).Lookup("sh")
		if got != "/usr/bin/sh" || err != nil {
			t.Errorf("bk/C11 [D]: PATH=%q finds %q, %v, want /usr/bin/sh", value, got, err)
		}
	}
	for _, value := range []string{"", ":", ".", "bin"} {
		if got, err := wrapHostPath(t, value).Lookup("sh"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("PATH=%q finds %q, %v, want nothing", value, got, err)
		}
	}
	if got, err := (HostPath{}).Lookup("sh"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the zero HostPath finds %q, %v", got, err)
	}
}

// TestHostPathRefusesRepositoryFolders is R11 of contract brainkit §1.7.
func TestHostPathRefusesRepositoryFolders(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "node_modules", ".bin")
	if err := os.MkdirAll(bin, 0o777); err != nil {
		t.Fatal(err)
	}
	host, err := NewHostPath("/usr/bin:"+bin, wrapAgent)
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), strconv.Quote(bin)) {
		t.Fatalf("NewHostPath = %v, want a refusal naming %q", err, bin)
	}
	if len(host.dirs) != 0 {
		t.Errorf("a refused PATH left %q", host.dirs)
	}
	if host := wrapHostPath(t, "/no/such/dir:/etc/passwd:/usr/bin:/usr/bin"); len(host.dirs) != 1 {
		t.Errorf("absent and doubled elements stay: %q", host.dirs)
	}
}

// TestLookupRefusesAProgramTheAgentOwns is H8 of contract brainkit §1.6: a host
// must not believe it found a trusted program.
func TestLookupRefusesAProgramTheAgentOwns(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "tool")
	if err := os.WriteFile(file, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	host := HostPath{dirs: []string{dir}}
	if got, err := host.Lookup("tool"); got != file || err != nil {
		t.Fatalf("positive control: %q, %v", got, err)
	}
	rule, err := wrapAgent.rule()
	if err != nil {
		t.Fatal(err)
	}
	host = HostPath{dirs: []string{dir, "/usr/bin"}, rule: rule, checked: true}
	if got, err := host.Lookup("tool"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("Lookup = %q, %v, want a refusal", got, err)
	}
}
