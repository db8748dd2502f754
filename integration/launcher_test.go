package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// TestRefusedStarts is area P: what brainbox does not start, and says so.
func TestRefusedStarts(t *testing.T) {
	kernel(t)
	w := newWorld(t)
	marker := filepath.Join(w.dir("W"), "marker")
	home, err := os.UserHomeDir()
	must(t, err)
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "policy.toml")
		must(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	dangling := filepath.Join(w.dir("O"), "dangling")
	must(t, os.Symlink("/no/such/thing", dangling))
	var low []string
	if os.Geteuid() != 0 {
		low = []string{"--memory", "none"}
	} else {
		low = []string{"--memory", "-1"}
	}
	for name, flags := range map[string][]string{
		"esc/LA-04 a missing path":             {"--ro", filepath.Join(w.dir("O"), "none")},
		"esc/LA-04 a dangling link":            {"--ro", dangling},
		"esc/LA-05 write to the root":          {"--rw", "/"},
		"esc/LA-05 write to the home":          {"--rw", home},
		"esc/LA-05 write over brainbox itself": {"--rw", bin},
		"esc/LA-07 a glob":                     {"--ro", w.dir("O") + "/*"},
		"esc/LA-08 an unknown key":             {"--policy", file("version = 1\n[filesystem]\nreed = [\"/usr\"]\n")},
		"esc/LA-08 a duplicate key":            {"--policy", file("version = 1\nversion = 1\n")},
		"esc/LA-08 a wrong type":               {"--policy", file("version = 1\n[filesystem]\nread = \"/usr\"\n")},
		"esc/LA-10 an isolation that is not":   {"--isolation", "container"},
		"deny inside a grant":                  {"--deny", filepath.Join(w.dir("W"), "secret"), "--isolation", "landlock"},
		"a host by name in the host's network": {"--net", "host", "--allow-host", "example.org"},
		"a bad limit":                          low,
		"esc/LA-09 a filter that is not there": {"--seccomp", "/no/such/profile.json"},
	} {
		t.Run(name, func(t *testing.T) {
			r := confined(t, w, flags, "/bin/sh", "-c", "echo ran > "+marker)
			if r.status != 125 || !strings.HasPrefix(r.err, "brainbox: ") || strings.Count(r.err, "brainbox: brainbox") != 0 {
				t.Errorf("status %d, error %q", r.status, r.err)
			}
			if _, err := os.Lstat(marker); err == nil {
				t.Error("the program ran")
			}
		})
	}
	if r := confined(t, w, nil, "/bin/sh", "-c", "echo ran > "+marker); r.status != 0 {
		t.Errorf("control: status %d\n%s", r.status, r.err)
	}
	exists(t, marker)
}

// TestWorkingDirectory is esc/FS-02 and esc/IN-08: a caller's folder outside every
// grant is no handle on it.
func TestWorkingDirectory(t *testing.T) {
	kernel(t)
	w := newWorld(t)
	must(t, os.WriteFile(filepath.Join(w.dir("O"), "secret"), []byte(canaryText), 0o644))
	// A policy without @cwd: nothing of where the caller is.
	policy := filepath.Join(w.dir("R"), "policy.toml")
	folders := `"/usr", "/bin", "/lib"`
	if _, err := os.Stat("/lib64"); err == nil { // Debian has none on arm64
		folders += `, "/lib64"`
	}
	must(t, os.WriteFile(policy, []byte("version = 1\n[filesystem]\nexec = ["+folders+"]\n"+
		"[sandbox]\ndegraded = [\"metadata\", \"processes\", \"tree\"]\n"), 0o644))
	for _, attempt := range []string{openat("secret", 0), openat("../O/secret", 0), openat("/proc/self/cwd/secret", 0)} {
		r := run(t, w.dir("O"), boxed([]string{"--policy", policy}, victim(attempt)...))
		if !strings.HasPrefix(r.out, "errno ENOENT") && !strings.HasPrefix(r.out, "errno EACCES") {
			t.Errorf("%q: status %d, %q %q", attempt, r.status, r.out, r.err)
		}
		control := exec.Command(program("victim"), strings.Fields(attempt)...)
		if r := run(t, w.dir("O"), control); !strings.HasPrefix(r.out, "ok") {
			t.Errorf("control %q: %q", attempt, r.out)
		}
	}
	args := boxArgs([]string{"--policy", policy}, program("victim"), "cwd")
	if r := run(t, w.dir("O"), exec.Command(program("brainbox"), args...)); r.out != "ok /\n" {
		t.Errorf("the working directory inside is %q, want /: %s", r.out, r.err)
	}
}

// TestSameConfinement is esc/FS-28 and esc/FS-29: what runs a program without asking
// for execute does not get out of anything.
func TestSameConfinement(t *testing.T) {
	kernel(t)
	w := newWorld(t)
	secret := filepath.Join(w.dir("O"), "secret")
	must(t, os.WriteFile(secret, []byte(canaryText), 0o644))
	script := filepath.Join(w.dir("X"), "script")
	must(t, os.WriteFile(script, []byte("grep -E 'Seccomp:|NoNewPrivs:' /proc/self/status; cat "+secret+"\n"), 0o644))
	copyProgram(t, "/bin/cat", filepath.Join(w.dir("X"), "cat"))
	inside := w.box(t)
	if got := inside.ask(t, "memfd child-check "+secret); !refusedSecret(got) {
		t.Errorf("esc/FS-29: %q", got)
	}
	got := inside.ask(t, "run /bin/sh "+script)
	refused := notShown(got)
	if !strings.Contains(got, `NoNewPrivs:\t1\nSeccomp:\t2`) || !refused {
		t.Errorf("esc/FS-28 a script: %q", got)
	}
	loader := needs.Program(t, loaderPath())
	load := "run " + loader + " " + filepath.Join(w.dir("X"), "cat") + " " + secret
	got = inside.ask(t, load)
	if !notShown(got) {
		t.Errorf("esc/FS-28 the loader: %q", got)
	}
	if got := bare(t, w.dir("W")).ask(t, load); !strings.Contains(got, "canary") {
		t.Errorf("control: %q", got)
	}
}

// refusedSecret reports whether a child that checks itself is confined and has not read
// the secret.
func refusedSecret(said string) bool {
	said, ok := strings.CutPrefix(said, "ok NoNewPrivs=1 Seccomp=2 secret=")
	return ok && (said == "refused" || inside() && strings.HasSuffix(said, ": no such file or directory"))
}

// notShown reports whether a program says that it could not read the secret; in isolation
// namespaces it may not even be loaded from a mount without execute.
func notShown(said string) bool {
	if strings.Contains(said, "canary") {
		return false
	}
	return strings.Contains(said, "Permission denied") ||
		inside() && (strings.Contains(said, "No such file") || strings.Contains(said, "failed to map segment"))
}

// loaderPath is the program interpreter of this machine's dynamic programs.
func loaderPath() string {
	for _, path := range []string{"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"} {
		if unix.Access(path, unix.X_OK) == nil {
			return path
		}
	}
	return "ld.so"
}

// TestLinksAreShown is esc/LA-06: a grant that is a link shows both names, and holds
// for what the link leads to.
func TestLinksAreShown(t *testing.T) {
	kernel(t)
	w := newWorld(t)
	link := filepath.Join(w.dir("W"), "link")
	must(t, os.Symlink(w.dir("O"), link))
	must(t, os.WriteFile(filepath.Join(w.dir("O"), "f"), []byte(canaryText), 0o644))
	shown := false
	for _, c := range check(t, w.dir("W"), "--ro", link).Clauses {
		for _, e := range c.Entries {
			shown = shown || e.Path == link && e.Target == w.dir("O")
		}
	}
	if !shown {
		t.Errorf("brainbox check does not show that %q leads to %q", link, w.dir("O"))
	}
	inside := w.box(t, "--ro", link)
	for _, name := range []string{link, w.dir("O")} {
		if got := inside.ask(t, "read "+filepath.Join(name, "f")); !hit(got, []string{"ok"}) {
			t.Errorf("below %q: %q", name, got)
		}
	}
	must(t, os.Remove(link))
	elsewhere := t.TempDir()
	must(t, os.Symlink(elsewhere, link))
	if got := inside.ask(t, "list "+link); !hit(got, hidden("EACCES")) {
		t.Errorf("the replaced link moved the grant: %q", got)
	}
}
