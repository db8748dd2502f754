package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// world is what one side of a row sees: folders, a process and listeners to aim at.
type world struct {
	root   string
	vars   map[string]string
	canary *canary
	net    *listeners
	done   map[string]bool
}

// zones are the folders of a world; what may be done in them is what they differ in.
var zones = []string{"O", "R", "W", "X"}

const canaryText = "canary\n"

// placeholder is a name in braces.
var placeholder = regexp.MustCompile(`\{([A-Z0-9]+)\}`)

// newWorld makes the folders, a process and listeners.
func newWorld(t *testing.T) *world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	w := &world{root: root, vars: map[string]string{}, done: map[string]bool{}}
	for _, z := range zones {
		must(t, os.Mkdir(filepath.Join(root, z), 0o755))
	}
	w.canary = newCanary(t)
	w.vars["PID"], w.vars["ADDR"] = fmt.Sprint(w.canary.pid), fmt.Sprint(w.canary.address)
	w.net = listen(t, filepath.Join(root, "O"))
	for name, value := range w.net.vars {
		w.vars[name] = value
	}
	return w
}

// dir is the root of a zone.
func (w *world) dir(zone string) string { return filepath.Join(w.root, zone) }

// at is a row's own folder in a zone.
func (w *world) at(r row, zone string) string { return filepath.Join(w.root, zone, r.folder()) }

// folder is the row's name as a folder's.
func (r row) folder() string {
	clean := func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c == '-' {
			return c
		}
		return '_'
	}
	return strings.Map(clean, r.id+"-"+r.name)
}

// layout makes the row's own folders, in the zones it names.
func (w *world) layout(t *testing.T, r row) {
	t.Helper()
	text := r.attempt + r.control + r.inside
	for _, z := range zones {
		at := w.at(r, z)
		if w.done[at] || !strings.Contains(text, "{"+z+"}") {
			continue
		}
		w.done[at] = true
		for _, dir := range []string{"", "dir", "empty"} {
			must(t, os.Mkdir(filepath.Join(at, dir), 0o755))
		}
		for _, name := range []string{"f", "g", "dir/f"} {
			must(t, os.WriteFile(filepath.Join(at, name), []byte(canaryText), 0o644))
		}
		must(t, os.WriteFile(filepath.Join(at, "prog"), []byte("#!/bin/sh\nexit 0\n"), 0o755))
	}
}

// fill puts the row's paths and the world's numbers into an attempt.
func (w *world) fill(r row, attempt string) string {
	return placeholder.ReplaceAllStringFunc(attempt, func(name string) string {
		name = name[1 : len(name)-1]
		if len(name) == 1 && strings.Contains(strings.Join(zones, ""), name) {
			return w.at(r, name)
		}
		if value, ok := w.vars[name]; ok {
			return value
		}
		return "{unset:" + name + "}"
	})
}

// box starts brainbox in W with what the zones say.
func (w *world) box(t *testing.T, flags ...string) *side {
	t.Helper()
	s := box(t, w.dir("W"), append([]string{"--ro", w.dir("R"), "--rw", w.dir("X")}, flags...)...)
	w.vars["BOX"] = fmt.Sprint(s.cmd.Process.Pid)
	return s
}
