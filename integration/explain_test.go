package integration

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brainbox/internal/needs"
)

// deniedEvent is a status line of an explained run.
type deniedEvent struct {
	Event, Operation, Call, Path, Dest, Right, Place, Errno, Certainty, Program string

	Host   string
	Port   int
	Count  int
	Clause string
	Remedy struct{ Flag, Line, Note string }
}

// explain runs a program with --explain and gives what was denied.
func explainRun(t *testing.T, dir string, flags []string, command ...string) (result, []deniedEvent) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "status")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	must(t, err)
	cmd := exec.Command(program("brainbox"), boxArgs(append([]string{"--explain", "--status-fd", "3"}, flags...), command...)...)
	cmd.ExtraFiles = []*os.File{f}
	r := run(t, dir, cmd)
	must(t, f.Close())
	var list []deniedEvent
	for line := range strings.Lines(read(t, path)) {
		var e deniedEvent
		must(t, json.Unmarshal([]byte(line), &e))
		if e.Event == "denied" || e.Event == "limit" {
			list = append(list, e)
		}
		if e.Event == "refused" {
			t.Fatalf("refused: %s%s", line, r.err)
		}
	}
	return r, list
}

// explainRoot is a folder that both isolations show where it is, if it is granted: their /tmp is
// not the host's.
func explainRoot(t *testing.T) string {
	t.Helper()
	root, err := os.MkdirTemp("/var/tmp", "brainbox-explain-") //nolint:usetesting // t.TempDir is in /tmp
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(root)) })
	must(t, os.Chmod(root, 0o755))
	must(t, os.Mkdir(filepath.Join(root, "W"), 0o755))
	return root
}

// folders makes the folder of each deed.
func folders(t *testing.T, root string, list []deed) func(*deed) string {
	t.Helper()
	at := func(d *deed) string { return filepath.Join(root, "O-"+d.name) }
	for i := range list {
		dir := at(&list[i])
		for _, name := range []string{"", "dir", "empty"} {
			must(t, os.Mkdir(filepath.Join(dir, name), 0o755))
		}
		must(t, os.WriteFile(filepath.Join(dir, "f"), []byte("text\n"), 0o644))
		must(t, os.WriteFile(filepath.Join(dir, "dir", "f"), nil, 0o644))
		must(t, os.WriteFile(filepath.Join(dir, "prog"), []byte("#!/bin/sh\nexit 0\n"), 0o755))
	}
	return at
}

// deedCommand writes what a language tries into W, and gives the command for it.
func deedCommand(t *testing.T, root, language, text string) []string {
	t.Helper()
	file := filepath.Join(root, "W", "deeds")
	must(t, os.WriteFile(file, []byte(text), 0o644))
	switch language {
	case "python":
		return []string{"python3", "-I", "-S", file}
	case "node":
		return []string{"node", file}
	case "c":
		return append([]string{filepath.Join(root, "W", "static")}, strings.Fields(text)...)
	}
	return []string{"sh", file}
}

// needLanguage has what a language takes.
func needLanguage(t *testing.T, root, language string) {
	t.Helper()
	switch language {
	case "python":
		needs.Program(t, "python3")
	case "node":
		needs.Tool(t, "node")
	case "sh":
		needs.Tool(t, "git")
	case "c":
		out, err := exec.Command(needs.Tool(t, "cc"), "-static", "-pthread", "-o", filepath.Join(root, "W", "static"), "testdata/deeds.c").CombinedOutput()
		if err != nil {
			t.Fatalf("cc: %v\n%s", err, out)
		}
	}
}

// unwatched are deeds that begin in namespaces with a call that is not watched, as stat(2), and
// get no further.
var unwatched = []string{"sh list"}

// TestExplainSaysWhatWasDenied has programs of several languages try what the policy refuses:
// each denial is told once, with its path, right and remedy, and no other; and with the
// remedies everything goes through.
func TestExplainSaysWhatWasDenied(t *testing.T) {
	kernel(t)
	needs.Notify(t)
	for _, language := range languages {
		t.Run(language, func(t *testing.T) {
			var list []deed
			for _, d := range append(deeds(), special()...) {
				if inside() && d.name == "by-descriptor" { // its folder is not there
					d.path, d.flag = "{D}", "--ro {D}"
				}
				if d.code[language] != "" && (!inside() || !slices.Contains(unwatched, language+" "+d.name)) {
					list = append(list, d)
				}
			}
			root := explainRoot(t)
			needLanguage(t, root, language)
			at := folders(t, root, list)
			command := deedCommand(t, root, language, deedText(language, list, at))
			grants := []string{"--rwx", filepath.Join(root, "W")}
			if language != "c" {
				grants[0] = "--rw"
			}
			dir := filepath.Join(root, "W")
			r, got := explainRun(t, dir, grants, command...)
			for i := range list {
				got = checkDeed(t, &list[i], at(&list[i]), r, got)
			}
			for _, e := range got {
				t.Errorf("blamed without need: %+v", e)
			}
			if t.Failed() {
				t.Fatalf("inside:\n%s\nsaid:\n%s", r.out, r.err)
			}
			for i := range list {
				grants = append(grants, strings.Fields(strings.ReplaceAll(list[i].flag, "{D}", at(&list[i])))...)
			}
			r, got = explainRun(t, dir, grants, command...)
			for i := range list {
				if !strings.Contains("\n"+r.out, "\n"+list[i].name+" ok\n") {
					t.Errorf("%s: refused with %s", list[i].name, list[i].flag)
				}
			}
			if len(got) > 0 || t.Failed() {
				t.Errorf("with all that was suggested: %+v\n%s\n%s", got, r.out, r.err)
			}
		})
	}
}

// absentWords are operations on what is not there, as they may be told of then: the first of two
// names is what is missing, and a file that may be made is made.
var absentWords = map[string]string{"rename": "remove", "link": "remove", "write": "create"}

// checkDeed takes what is told of one deed out of the list.
func checkDeed(t *testing.T, d *deed, dir string, r result, got []deniedEvent) []deniedEvent {
	t.Helper()
	if !strings.Contains("\n"+r.out, "\n"+d.name+" no\n") {
		t.Errorf("%s was not refused", d.name)
	}
	in := func(s string) string { return strings.ReplaceAll(s, "{D}", dir) }
	mine := func(e deniedEvent) bool { return e.Path == dir || strings.HasPrefix(e.Path, dir+"/") }
	var told []deniedEvent
	for _, e := range got {
		if mine(e) {
			told = append(told, e)
		}
	}
	if len(told) != 1 {
		t.Errorf("%s: told of %d denials: %+v", d.name, len(told), told)
		return slices.DeleteFunc(got, mine)
	}
	e := told[0]
	if e.Path != in(d.path) || e.Count != 1 || e.Certainty != "proven" {
		t.Errorf("%s: %+v", d.name, e)
	}
	// What is not granted is not there in namespaces, whatever is wanted of it.
	absent := inside() && e.Operation == absentWords[d.op] && e.Remedy.Flag == "--rw "+dir
	if !absent && (e.Operation != d.op || e.Dest != in(d.dest)) {
		t.Errorf("%s: %+v", d.name, e)
	}
	if !absent && e.Remedy.Flag != in(d.flag) {
		t.Errorf("%s: the remedy is %q, want %q", d.name, e.Remedy.Flag, in(d.flag))
	}
	if !inside() && !slices.Contains(strings.Fields(d.right), e.Right) {
		t.Errorf("%s: the right is %q, want one of %q", d.name, e.Right, d.right)
	}
	return slices.DeleteFunc(got, mine)
}
