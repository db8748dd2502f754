package explain

import (
	"bytes"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// A script is started by its interpreters, and a program by what loads it: each is asked for.
func TestExec(t *testing.T) {
	needs.Kernel(t)
	sh := needs.Program(t, "sh")
	dir := realTemp(t)
	put(t, dir, "in/", "out/", "out/p|")
	scripts := map[string]string{
		"in/one":     "#! " + dir + "/out/interp -x\n",
		"in/two":     "#!" + dir + "/in/one\n",
		"in/three":   "#!" + dir + "/in/loop",
		"in/loop":    "#!" + dir + "/in/loop\n",
		"in/fifo":    "#!" + dir + "/out/p\n",
		"in/none":    "#!" + dir + "/out/none\n",
		"in/long":    "#!" + dir + "/out/" + string(bytes.Repeat([]byte("x"), 300)) + "\n",
		"in/sh":      "#!" + sh + "\n",
		"out/interp": "#!/bin/sh\n",
	}
	for name, text := range scripts {
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(dir+"/in/plain", []byte(scripts["in/one"]), 0o644); err != nil {
		t.Fatal(err)
	}
	w := newWatch(t, Config{Judge: grants{below: []string{dir + "/in"}}})
	for name, want := range map[string]string{
		"one":   "exec out/interp regular refused",
		"two":   "exec out/interp regular refused",
		"plain": "", // its mode refuses it first
		"three": "", "loop": "", "fifo": "", "none": "", "long": "",
	} {
		if got := words(w.call("execve", dir+"/in/"+name, 0, 0), dir); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	all := newWatch(t, Config{Judge: grants{below: []string{""}}, Uses: true})
	got := all.call("execve", dir+"/in/sh", 0, 0)
	if len(got) != 3 {
		t.Fatalf("a script for %s: %q; want the script, the shell and what loads it", sh, words(got, dir))
	}
	fd, err := unix.Open(sh, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	byFD := all.call("execveat", fd, "", 0, 0, unix.AT_EMPTY_PATH)
	if len(byFD) != 2 || byFD[0].Path != got[1].Path || byFD[1].Path != got[2].Path {
		t.Errorf("by a descriptor: %q; want the last two of %q", words(byFD, dir), words(got, dir))
	}
}

func TestParseScript(t *testing.T) {
	for head, want := range map[string]string{
		"#!/bin/sh\n":       "/bin/sh",
		"#! \t/bin/sh -e\n": "/bin/sh",
		"#!/bin/sh":         "/bin/sh",
		"#!\n/bin/sh":       "",
		"#! \n":             "",
		"# !/bin/sh\n":      "",
		"":                  "",
		"#!":                "",
	} {
		if got, ok := parseScript([]byte(head)); got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v", head, got, ok)
		}
	}
	if got, ok := parseScript(append([]byte("#!/"), bytes.Repeat([]byte("x"), scriptHead-3)...)); ok {
		t.Errorf("cut off: %q", got)
	}
}

func FuzzParseScript(f *testing.F) {
	f.Add([]byte("#!/bin/sh -e\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if by, ok := parseScript(b); ok && (by == "" || bytes.ContainsAny([]byte(by), " \t\n\x00") || !bytes.Contains(b, []byte(by))) {
			t.Errorf("%q: %q", b, by)
		}
	})
}

func FuzzParseInterp(f *testing.F) {
	text, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text[:1024])
	f.Add([]byte("\x7fELF\x01\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if by := parseInterp(bytes.NewReader(b)); len(by) >= pathMax || bytes.ContainsRune([]byte(by), 0) {
			t.Errorf("%q", by)
		}
	})
}

func FuzzParseHow(f *testing.F) {
	f.Add(make([]byte, howSize))
	f.Fuzz(func(t *testing.T, b []byte) {
		if flags, _, ok := parseHow(b); ok && (len(b) < howSize || flags>>32 != 0) {
			t.Errorf("%q", b)
		}
	})
}
