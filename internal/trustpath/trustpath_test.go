package trustpath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brainbox/internal/needs"

	"golang.org/x/sys/unix"
)

const (
	testHost  = 0
	testAgent = 65534
	testGroup = 65533
)

func TestJudge(t *testing.T) {
	rule := Rule{Owners: []uint32{0, 1000}, Groups: []uint32{testGroup}}
	const dir, reg, link = unix.S_IFDIR, unix.S_IFREG, unix.S_IFLNK
	tests := []struct {
		name string
		rule Rule
		meta meta
		want string // part of the reason; "" accepts
	}{
		{"zero rule trusts not even root", Rule{}, meta{mode: dir | 0o755}, "owned by uid 0"},
		{"agent's directory", rule, meta{uid: testAgent, mode: dir | 0o755}, "owned by uid 65534"},
		{"agent's directory without a write bit", rule, meta{uid: testAgent, mode: dir | 0o555}, "owned by uid 65534"},
		{"agent's link", rule, meta{uid: testAgent, mode: link | 0o777}, "owned by uid 65534"},
		{"others may write", rule, meta{mode: dir | 0o757}, "writable by others (mode 0757)"},
		{"others may write, sticky", rule, meta{mode: dir | 0o1777}, "writable by others (mode 01777)"},
		{"agent's group may write", rule, meta{gid: testGroup, mode: reg | 0o775}, "writable by gid 65533"},
		{"any group", Rule{Owners: []uint32{0}, AnyGroup: true}, meta{gid: 0, mode: reg | 0o664}, "writable by gid 0"},
		{"list behind a group write bit", rule, meta{gid: 50, mode: dir | 0o775, acl: true}, "access control list"},
		{"list with a mask that forbids writing", rule, meta{gid: 50, mode: dir | 0o755, acl: true}, ""},
		{"another group may write", rule, meta{gid: 50, mode: dir | 0o2775}, ""},
		{"agent's group without a write bit", rule, meta{gid: testGroup, mode: dir | 0o755}, ""},
		{"second owner", rule, meta{uid: 1000, mode: reg | 0o700}, ""},
		{"sticky, but not the owner's", Rule{Owners: rule.Owners, Sticky: true}, meta{uid: testAgent, mode: dir | 0o1777}, "owned by uid 65534"},
		{"sticky file", Rule{Owners: rule.Owners, Sticky: true}, meta{mode: reg | 0o1777}, "writable by others"},
		{"sticky", Rule{Owners: rule.Owners, Sticky: true}, meta{mode: dir | 0o1777}, ""},
		{"tree", Rule{Owners: rule.Owners, Trees: []ID{{1, 2}, {3, 4}}}, meta{id: ID{3, 4}, mode: dir | 0o755}, "inside a sandbox"},
		{"link in a tree", Rule{Owners: rule.Owners, Trees: []ID{{3, 4}}}, meta{id: ID{3, 4}, mode: link | 0o777}, "inside a sandbox"},
		{"same inode elsewhere", Rule{Owners: rule.Owners, Trees: []ID{{3, 4}}}, meta{id: ID{4, 4}, mode: dir | 0o755}, ""},
		{"root's link", rule, meta{mode: link | 0o777}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.rule.judge(tt.meta)
			if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("judge(%+v) = %q, want %q", tt.meta, got, tt.want)
			}
		})
	}
}

// tree is a root directory of its own, so that the temporary directory's
// world-writable ancestors stay out of the walk.
func tree(t *testing.T) (int, string) {
	t.Helper()
	base := filepath.Join(t.TempDir(), "root")
	for _, dir := range []string{"good/sub", "open", "agent", "sticky"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"good/file", "good/sub/file", "open/file", "sticky/file"} {
		if err := os.WriteFile(filepath.Join(base, file), []byte("text"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for dir, mode := range map[string]os.FileMode{"open": 0o777, "sticky": 0o777 | os.ModeSticky} {
		if err := os.Chmod(filepath.Join(base, dir), mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"good/abs": "/good/sub/file", "good/rel": "sub/../file", "good/bad": "../open/file",
		"good/loop": "loop", "good/dir": "/good/sub", "good/gone": "nothing",
	} {
		if err := os.Symlink(target, filepath.Join(base, name)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := unix.Open(base, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(root) })
	return root, base
}

func TestOpenRefusesWhatLeadsThroughATree(t *testing.T) {
	root, base := tree(t)
	rule := Rule{Owners: []uint32{0, uint32(os.Geteuid())}}
	sub, err := Identify(filepath.Join(base, "good/sub"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/good/sub", "/good/sub/file", "/good/abs", "/good/rel", "/good/dir/file"} {
		f, err := openBelow(root, path, rule)
		if err != nil {
			t.Fatalf("%s without trees: %v", path, err)
		}
		f.Close()
		limited := rule
		limited.Trees = []ID{sub}
		var refusal *Error
		if _, err := openBelow(root, path, limited); !errors.As(err, &refusal) || refusal.Component != "/good/sub" {
			t.Errorf("%s: %v, want a refusal of /good/sub", path, err)
		}
	}
}

func TestOpenNamesTheComponent(t *testing.T) {
	root, _ := tree(t)
	rule := Rule{Owners: []uint32{0, uint32(os.Geteuid())}}
	tests := []struct{ name, path, component string }{
		{"writable parent", "/open/file", "/open"},
		{"sticky parent", "/sticky/file", "/sticky"},
		{"through a link", "/good/bad", "/good/../open"},
		{"back out of a writable directory", "/open/../good/file", "/open"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file, err := openBelow(root, tt.path, rule)
			var refusal *Error
			if !errors.As(err, &refusal) {
				t.Fatalf("openBelow(%q) = %v, %v, want a refusal", tt.path, file, err)
			}
			if refusal.Component != tt.component || !errors.Is(err, fs.ErrPermission) {
				t.Errorf("openBelow(%q) names %q, want %q: %v", tt.path, refusal.Component, tt.component, err)
			}
		})
	}
}

func TestOpenOtherFailures(t *testing.T) {
	root, _ := tree(t)
	rule := Rule{Owners: []uint32{0, uint32(os.Geteuid())}}
	tests := []struct {
		path string
		want error
	}{
		{"/good/none", fs.ErrNotExist},
		{"/good/gone", fs.ErrNotExist},
		{"/good/file/x", unix.ENOTDIR},
		{"/good/loop", unix.ELOOP},
		{"good/file", fs.ErrInvalid},
		{"", fs.ErrInvalid},
		{"/good/fi\x00le", fs.ErrInvalid},
	}
	for _, tt := range tests {
		if file, err := openBelow(root, tt.path, rule); !errors.Is(err, tt.want) {
			t.Errorf("openBelow(%q) = %v, %v, want %v", tt.path, file, err, tt.want)
		}
	}
}

func TestOpenReachesWhatThePathNames(t *testing.T) {
	root, base := tree(t)
	rule := Rule{Owners: []uint32{0, uint32(os.Geteuid())}}
	tests := map[string]string{
		"/good/file":        "good/file",
		"//good/./file":     "good/file",
		"/good/sub/../file": "good/file",
		"/good/rel":         "good/file",
		"/good/abs":         "good/sub/file",
		"/good/dir/file":    "good/sub/file",
		"/good/dir/../file": "good/file",
		"/good/dir/../rel":  "good/file",
		"/":                 ".",
	}
	for path, want := range tests {
		file, err := openBelow(root, path, rule)
		if err != nil {
			t.Errorf("openBelow(%q) = %v, want it open", path, err)
			continue
		}
		got, err := file.Stat()
		if err != nil {
			t.Fatal(err)
		}
		wanted, err := os.Stat(filepath.Join(base, want))
		if err != nil {
			t.Fatal(err)
		}
		if !os.SameFile(got, wanted) {
			t.Errorf("openBelow(%q) is not %q", path, want)
		}
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestOpenLeaksNoDescriptor(t *testing.T) {
	root, _ := tree(t)
	count := func() int {
		names, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	rule := Rule{Owners: []uint32{0, uint32(os.Geteuid())}}
	before := count()
	for _, path := range []string{"/good/abs", "/good/bad", "/good/loop", "/open/file", "/good/none"} {
		if file, err := openBelow(root, path, rule); err == nil {
			_ = file.Close()
		}
	}
	if after := count(); after != before {
		t.Errorf("%d descriptors after the walks, want %d", after, before)
	}
}

func TestReadFile(t *testing.T) {
	rule := Rule{Owners: []uint32{0}, AnyGroup: true}
	if _, err := ReadFile("/etc", rule, 10); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("ReadFile of a directory = %v, want a refusal", err)
	}
	if _, err := ReadFile("/etc/passwd", rule, 1); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("ReadFile beyond the limit = %v, want a refusal", err)
	}
	got, err := ReadFile("/etc/passwd", rule, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("/etc/passwd")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("ReadFile = %d bytes, want %d", len(got), len(want))
	}
}

func TestOpenSeesAnotherOwner(t *testing.T) {
	needs.Root(t) // to give a directory away
	root, base := tree(t)
	rule := Rule{Owners: []uint32{testHost}, Groups: []uint32{testGroup}}
	if file, err := openBelow(root, "/good/file", rule); err != nil {
		t.Fatalf("positive control: %v", err)
	} else {
		_ = file.Close()
	}
	good := filepath.Join(base, "good")
	if err := os.Chown(good, testAgent, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := openBelow(root, "/good/file", rule); err == nil || !strings.Contains(err.Error(), "owned by uid 65534") {
		t.Errorf("agent's own directory = %v, want a refusal", err)
	}
	if err := errors.Join(os.Chown(good, 0, testGroup), os.Chmod(good, 0o775)); err != nil {
		t.Fatal(err)
	}
	if _, err := openBelow(root, "/good/file", rule); err == nil || !strings.Contains(err.Error(), "gid 65533") {
		t.Errorf("directory of the agent's group = %v, want a refusal", err)
	}
}
