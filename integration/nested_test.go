package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNested is esc/LA-16 and esc/GT-21: brainbox inside brainbox does not widen anything.
func TestNested(t *testing.T) {
	kernel(t)
	w := newWorld(t)
	secret := filepath.Join(w.dir("O"), "secret")
	must(t, os.WriteFile(secret, []byte(canaryText), 0o644))
	inner := boxed([]string{"--ro", w.dir("O")}, victim("read "+secret)...).Args
	r := confined(t, w, nil, inner...)
	if strings.Contains(r.out, "canary") || strings.HasPrefix(r.out, "ok") {
		t.Errorf("the inner run reads what the outer one refuses: %q", r.out)
	}
	if r.status != 125 && !strings.HasPrefix(r.out, "errno EACCES") {
		t.Errorf("status %d, output %q, error %q", r.status, r.out, r.err)
	}
	if r := run(t, w.dir("W"), exec.Command(inner[0], inner[1:]...)); !strings.Contains(r.out, "canary") {
		t.Errorf("control: the inner run alone: status %d, %q, %q", r.status, r.out, r.err)
	}
}

// TestNestedIsolations is esc/LA-16 for each isolation inside: it is the weaker one that
// can be had there, and said; or the start is refused by name.
func TestNestedIsolations(t *testing.T) {
	kernel(t)
	const outer = "an outer brainbox"
	for _, inner := range []string{"auto", "landlock", "namespaces"} {
		t.Run(inner, func(t *testing.T) {
			w := newWorld(t)
			secret, made := filepath.Join(w.dir("O"), "secret"), filepath.Join(w.dir("W"), "made")
			must(t, os.WriteFile(secret, []byte(canaryText), 0o644))
			nest := func(flags []string, script string) result {
				args := append([]string{program("brainbox"), "run", "-v", "--isolation", inner}, flags...)
				return confined(t, w, nil, append(args, "--", "/bin/sh", "-c", script)...)
			}
			r := nest(nil, "echo ran >made; grep Seccomp: /proc/self/status; cat "+secret)
			if strings.Contains(r.out, "canary") {
				t.Errorf("it reads what no run may: %q", r.out)
			}
			text, err := os.ReadFile(made)
			if inner == "namespaces" {
				if r.status != 125 || err == nil || !strings.Contains(r.err, "isolation namespaces is not offered here (namespaces: EPERM, by ") ||
					!strings.Contains(r.err, outer) {
					t.Errorf("status %d, errors %q, made %v", r.status, r.err, err)
				}
				return
			}
			if err != nil || string(text) != "ran\n" || !strings.Contains(r.out, "Seccomp:\t2") ||
				!strings.Contains(r.err, "brainbox: isolation landlock, open: ") {
				t.Errorf("status %d, %q, %q, made %q, %v", r.status, r.out, r.err, text, err)
			}
			if said := strings.Contains(r.err, "namespaces are not offered here (namespaces: EPERM, by ") && strings.Contains(r.err, outer); said != (inner == "auto") {
				t.Errorf("what was tried: %q", r.err)
			}
			// What the outer one forbids is not granted by the inner one, and not by name either.
			r = nest([]string{"--ro", w.dir("O")}, "cat "+secret)
			if strings.Contains(r.out, "canary") || r.status == 0 || inside() && (r.status != 125 || !strings.Contains(r.err, "files: ")) {
				t.Errorf("--ro outside: status %d, %q, %q", r.status, r.out, r.err)
			}
			// What only namespaces hold is refused, not left out.
			if r = nest([]string{"--deny", made}, "echo ran"); r.status != 125 || !strings.Contains(r.err, "deny: ") || strings.Contains(r.out, "ran") {
				t.Errorf("--deny: status %d, %q, %q", r.status, r.out, r.err)
			}
			alone := exec.Command(program("brainbox"), "run", "--isolation", inner, "--ro", w.dir("O"), "--", "/bin/cat", secret)
			if r = run(t, w.dir("W"), alone); r.out != canaryText {
				t.Errorf("control: the inner run alone: status %d, %q, %q", r.status, r.out, r.err)
			}
		})
	}
}
