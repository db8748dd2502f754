package learn

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brainbox/policy"
)

// fakeHost is a file system of names: "dir/" is a folder, "a -> b" a link to an absolute path.
type fakeHost map[string]string

func newFakeHost(names ...string) fakeHost {
	h := fakeHost{"/": ""}
	for _, n := range names {
		name, to, _ := strings.Cut(n, " -> ")
		h[strings.TrimSuffix(name, "/")] = to
		for dir := parent(strings.TrimSuffix(name, "/")); dir != "/"; dir = parent(dir) {
			h[dir] = ""
		}
	}
	return h
}

func (h fakeHost) Names(dir string) ([]string, error) {
	var list []string
	for name := range h {
		if name != "/" && parent(name) == dir {
			list = append(list, base(name))
		}
	}
	return list, nil
}

func (h fakeHost) Leads(path string) (string, bool, error) {
	to, ok := h[path]
	switch {
	case !ok:
		return "", false, fs.ErrNotExist
	case to == "":
		return path, false, nil
	}
	if _, ok := h[to]; !ok {
		return "", true, errors.New("leads nowhere")
	}
	return to, true, nil
}

// Public implements [Host]: names with a "!" are not.
func (h fakeHost) Public(path string) bool { return !strings.Contains(path, "!") }

// Linked implements [Host]: names with an "=" are.
func (h fakeHost) Linked(path string) bool { return strings.Contains(path, "=") }

func TestOpen(t *testing.T) {
	h := newFakeHost(
		"/usr/bin/sh", "/bin -> /usr/bin", "/srv/data", "/proc/1", "/tmp/x", "/run/docker.sock", "/dev/sda", "/mnt/disk", "/root/.ssh/id",
		"/etc/passwd", "/etc/shadow", "/etc/shadow-", "/etc/ssh/ssh_config", "/etc/ssh/ssh_host_rsa_key", "/etc/app/conf", "/var/log/x", "/var/lib/docker/y", "/var/lib/app/z",
		"/home/other/file", "/home/u/.ssh/id_rsa", "/home/u/.netrc", "/home/u/notes.txt", "/home/u/src/app/main.c", "/home/u/.config/gh/hosts.yml",
		"/home/u/.config/app/conf", "/home/u/.cargo/credentials.toml", "/home/u/.cargo/config.toml", "/home/u/.local/share/keyrings/k", "/home/u/.local/bin/tool",
		"/home/u/.bash_history", "/home/u/keys -> /home/u/.ssh", "/home/u/all -> /", "/home/u/me -> /home/u", "/home/u/conf -> /home/u/.config", "/home/u/disk -> /mnt/disk",
		"/home/u/sock -> /run/docker.sock", "/home/u/gone -> /nowhere", "/home/u/private/x", "/home/u/.local/state/brainbox/key", "/home/u/a*b",
		"/home/u/.unheard-of", "/home/u/.config/unheard-of/token", "/home/u/plain -> /home/u/.unheard-of", "/home/u/deep -> /home/u/.config/unheard-of",
		"/home/u/tool -> /opt/tool", "/home/u/his -> /home/other/file", "/opt/tool", "/nix/store/x", "/nix/var/y", "/lib64 -> /usr/lib", "/usr/lib/x", "/backup/home/u/.ssh/id",
		"/media/stick", "/export/home/u/x", "/home/u/key=", "/home/u/to-key -> /home/u/key=", "/etc/wide", "/etc/root-only!", "/etc/to-root -> /etc/root-only!", "/etc/state -> /var/lib/app/z",
	)
	given := []policy.Grant{
		{Path: policy.Path{Abs: "/usr"}, Right: policy.RightExec},
		{Path: policy.Path{Abs: "/etc/passwd"}, Right: policy.RightRead},
		{Path: policy.Path{Abs: "/home/u/private"}, Right: policy.RightDeny},
	}
	got := Open(h, "/home/u", secretList(), given)
	want := []string{
		"/bin", "/etc/app", "/etc/ssh/ssh_config", "/etc/wide", "/home/u/a*b", "/home/u/notes.txt", "/home/u/src", "/home/u/tool",
		"/lib64", "/nix/store", "/opt",
	}
	if diff := cmp.Diff(want, got.Paths); diff != "" || got.Skipped != 0 {
		t.Errorf("%d skipped, -want +got:\n%s", got.Skipped, diff)
	}
	s := newSecrets(secretList())
	for _, path := range got.Paths {
		target, _, _ := h.Leads(path)
		for _, at := range []string{path, target} {
			if _, secret := s.holds(at); secret || s.around(at) {
				t.Errorf("%s holds secrets", at)
			}
			if why := Closed("/home/u", secretList(), at); why != "" {
				t.Errorf("%s is %s", at, why)
			}
		}
	}
}

// A home with too many names leaves some closed, and says how many.
func TestOpenIsBounded(t *testing.T) {
	var names []string
	for i := range MaxOpen + 10 {
		names = append(names, fmt.Sprintf("/home/u/n%05d", i))
	}
	got := Open(newFakeHost(names...), "/home/u", secretList(), nil)
	if len(got.Paths) != MaxOpen || got.Skipped != 10 || !slices.IsSorted(got.Paths) {
		t.Errorf("%d paths, %d skipped", len(got.Paths), got.Skipped)
	}
}

// What an entry leads to when it is held is looked at again.
func TestClosed(t *testing.T) {
	for _, path := range []string{
		"/", "/home", "/home/u", "/home/u/.ssh", "/home/u/.ssh/id", "/home/u/.unheard-of", "/home/other/x", "/root/x", "/etc", "/etc/shadow", "/proc/1/root", "/var/lib/app",
	} {
		if Closed("/home/u", secretList(), path) == "" {
			t.Errorf("%s is open", path)
		}
	}
	for _, path := range []string{"/home/u/src", "/home/u/src/.git", "/usr", "/etc/profile", "/opt/x"} { // positive control
		if why := Closed("/home/u", secretList(), path); why != "" {
			t.Errorf("%s is %s", path, why)
		}
	}
	if Closed("/", secretList(), "/data") == "" || Closed("/", secretList(), "/usr/bin") != "" {
		t.Error("a home that is the root opens it")
	}
}

// A home that is the root opens nothing more than the root.
func TestOpenRootAsHome(t *testing.T) {
	got := Open(newFakeHost("/data/x", "/opt/x", "/.key"), "/", secretList(), nil)
	if want := []string{"/opt"}; !slices.Equal(got.Paths, want) {
		t.Errorf("%q, and not %q", got.Paths, want)
	}
}
