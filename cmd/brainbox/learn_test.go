package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brainbox/internal/needs"
)

// secret is a file of secrets that the user of the test can read, and open one that is none,
// which no profile grants.
func (w *learnWorld) secretAndOpen(t *testing.T) (secret, open, spelled string) {
	t.Helper()
	secret, open, spelled = w.dir+"/home/.ssh/id_rsa", w.dir+"/home/data/in.csv", "~/data/in.csv"
	if os.Geteuid() == 0 { // root's home is that of /etc/passwd, and is left alone
		secret, open, spelled = "/etc/shadow", "/etc/profile", "/etc/profile"
	}
	for _, name := range []string{secret, open} {
		if _, err := os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	return secret, open, spelled
}

// What is no secret is open while a program is learned from, a secret is not, and neither are
// writing elsewhere, sockets and ports: all that is told as comments, and nothing else is.
func TestLearnKeepsSecrets(t *testing.T) {
	inBoth(t, func(t *testing.T, isolation string) {
		w := newLearnWorld(t, "")
		secret, open, spelled := w.secretAndOpen(t)
		script := systemPath + `cat "$1" >/dev/null && echo open; cat "$2" 2>/dev/null || echo kept; echo x 2>/dev/null >"$3/new" || echo held; exit 0`
		out, errs, status := w.brainbox(t, "learn", "-o", w.file, "--no-verify", "--isolation", isolation, "--", "/bin/sh", "-c", script, "sh", open, secret, w.dir+"/data")
		if status != 0 || out != "open\nkept\nheld\n" {
			t.Fatalf("status %d, %q\n%s", status, out, errs)
		}
		text := w.text(t)
		if !strings.Contains(active(text), `"`+spelled+`"`) {
			t.Errorf("the draft lacks %s:\n%s", spelled, text)
		}
		for _, no := range []string{".ssh", "shadow", w.dir + "/data"} {
			if strings.Contains(active(text), no) {
				t.Errorf("the draft opens %s:\n%s", no, text)
			}
		}
		if name := filepath.Base(secret); !strings.Contains(text, name+`",  # WARNING: `) {
			t.Errorf("the draft does not tell of %s:\n%s", name, text)
		}
		if !strings.Contains(text, `# "`+w.dir+`/data",`) {
			t.Errorf("the draft does not tell of what was written elsewhere:\n%s", text)
		}
	})
}

// A name with a dot in the home stays closed whatever it is, and so does a file that has
// another name: with Landlock both names would be open. Root's home is left alone: there it is
// what others may not read.
func TestLearnKeepsWhatIsOnNoList(t *testing.T) {
	inBoth(t, func(t *testing.T, isolation string) {
		w := newLearnWorld(t, `mkdir -p ../home/.unheard-of ../home/.config/unheard-of; echo key >../home/.unheard-of/token; echo key >../home/.config/unheard-of/token
			echo key >../home/.token; ln ../home/.ssh/id_rsa ../home/twin; ln -s .unheard-of ../home/link`)
		_, open, _ := w.secretAndOpen(t)
		home := w.dir + "/home"
		kept := []string{home + "/.unheard-of/token", home + "/.config/unheard-of/token", home + "/.token", home + "/twin", home + "/link/token", home + "/.ssh/id_rsa"}
		if os.Geteuid() == 0 {
			kept = append(kept, "/etc/shadow")
		}
		for _, name := range kept {
			if _, err := os.ReadFile(name); err != nil {
				t.Fatal(err)
			}
		}
		script := systemPath + `cat "$1" >/dev/null && echo open; shift; for f; do cat "$f" 2>/dev/null && echo "$f"; done; echo end`
		args := []string{"learn", "-o", w.file, "--no-verify", "--isolation", isolation, "--", "/bin/sh", "-c", script, "sh", open}
		out, errs, status := w.brainbox(t, append(args, kept...)...)
		if status != 0 || out != "open\nend\n" {
			t.Errorf("status %d, %q\n%s", status, out, errs)
		}
	})
}

// A run that failed is learned from, and marked in the first line. The status is that of the
// second run.
func TestLearnFromAFailure(t *testing.T) {
	inBoth(t, func(t *testing.T, isolation string) {
		w := newLearnWorld(t, "echo x >file")
		_, errs, status := w.brainbox(t, "learn", "-o", w.file, "--isolation", isolation, "--", "/bin/sh", "-c", "read x <file; exit 3")
		if status != 3 || !strings.Contains(errs, "under the policy it ended with status 3") {
			t.Errorf("status %d\n%s", status, errs)
		}
		const mark = "# WARNING: learned from a run that ended with status 3: it may lack what the rest would need\n"
		if text := w.text(t); !strings.HasPrefix(text, mark) {
			t.Errorf("not marked:\n%s", text)
		}
		// What a signal ended is not run again.
		_, errs, status = w.brainbox(t, "learn", "-o", w.file, "--force", "--isolation", isolation, "--", "/bin/sh", "-c", "kill -TERM $$")
		if status != 128+15 || strings.Contains(errs, "under the policy") {
			t.Errorf("status %d\n%s", status, errs)
		}
		// The second run does something else than the first: its status counts.
		script := "test -e made && exit 4; echo >made"
		if _, errs, status = w.brainbox(t, "learn", "-o", w.file, "--force", "--isolation", isolation, "--", "/bin/sh", "-c", script); status != 4 {
			t.Errorf("status %d, and not that of the second run\n%s", status, errs)
		}
		if text := w.text(t); strings.HasPrefix(text, "# WARNING") {
			t.Errorf("marked without a failure:\n%s", text)
		}
	})
}

// What cannot be learned from is refused before anything runs.
func TestLearnRefuses(t *testing.T) {
	needs.Kernel(t)
	w := newLearnWorld(t, "ln -s nowhere ../policies/link; mkdir ../policies/folder; echo mine >../policies/mine")
	command := []string{"--", "/bin/sh", "-c", "echo ran"}
	for name, args := range map[string][]string{
		"no file":             nil,
		"where it may write":  {"-o", "policy.toml"},
		"a file that is":      {"-o", w.dir + "/policies/mine"},
		"a link":              {"-o", w.dir + "/policies/link", "--force"},
		"a folder":            {"-o", w.dir + "/policies/folder", "--force"},
		"no folder":           {"-o", w.dir + "/policies/none/p.toml"},
		"a bridge":            {"-o", w.file, "--bridge", "x"},
		"a socket of no path": {"-o", w.file, "--unix", w.dir + "/none"},
	} {
		out, errs, status := w.brainbox(t, append(append([]string{"learn"}, args...), command...)...)
		if status != 125 || out != "" || !strings.HasPrefix(errs, "brainbox: ") {
			t.Errorf("%s: status %d, %q, %q", name, status, out, errs)
		}
	}
	if out, errs, status := w.brainbox(t, "learn", "-o", w.file); status != 125 || out != "" {
		t.Errorf("no command: status %d, %q, %q", status, out, errs)
	}
	if text, err := os.ReadFile(w.dir + "/policies/mine"); err != nil || string(text) != "mine\n" {
		t.Errorf("the file that was there is %q, %v", text, err)
	}
	if _, err := os.Lstat(w.file); err == nil {
		t.Error("a refusal left a policy")
	}
	// Positive control: the same command with a name that is free, and with --force.
	for _, name := range []string{w.file, w.dir + "/policies/mine"} {
		if out, errs, status := w.brainbox(t, append([]string{"learn", "-q", "--no-verify", "--force", "-o", name}, command...)...); status != 0 || out != "ran\n" || errs != "" {
			t.Errorf("%s: status %d, %q, %q", name, status, out, errs)
		}
	}
	left, err := os.ReadDir(w.dir + "/policies")
	if err != nil || len(left) != 4 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// A file that somebody makes while the program runs is his, and one that is put in place of
// the folder gets nothing.
func TestDraftFileIsNobodyElses(t *testing.T) {
	dir := t.TempDir()
	open := func(force bool) *draftFile {
		t.Helper()
		f, err := newDraftFile(dir+"/in/p", force, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(f.close)
		return f
	}
	if err := os.Mkdir(dir+"/in", 0o755); err != nil {
		t.Fatal(err)
	}
	f := open(false)
	if err := os.WriteFile(dir+"/in/p", []byte("his"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := f.write([]byte("policy")); err == nil {
		t.Error("a file of somebody else was replaced")
	}
	if text, err := os.ReadFile(dir + "/in/p"); err != nil || string(text) != "his" {
		t.Errorf("%q, %v", text, err)
	}
	forced := open(true)
	if err := os.Rename(dir+"/in", dir+"/moved"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir+"/in", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := forced.write([]byte("policy")); err != nil { // positive control
		t.Fatal(err)
	}
	if text, err := os.ReadFile(dir + "/moved/p"); err != nil || string(text) != "policy" {
		t.Errorf("%q, %v", text, err)
	}
	for _, name := range []string{"/in", "/moved"} {
		if list, err := os.ReadDir(dir + name); err != nil || len(list) != strings.Count(name, "moved") {
			t.Errorf("%s holds %v, %v", name, list, err)
		}
	}
}

// -o - prints the policy after what the program said.
func TestLearnPrints(t *testing.T) {
	needs.Kernel(t)
	w := newLearnWorld(t, "")
	out, errs, status := w.brainbox(t, "learn", "-q", "--no-verify", "-o", "-", "--", "/bin/sh", "-c", "echo ran")
	said, text, ok := strings.Cut(out, "\n")
	if status != 0 || errs != "" || !ok || said != "ran" || !strings.Contains(text, "version = 1\n") {
		t.Errorf("status %d, %q, %q", status, out, errs)
	}
}
