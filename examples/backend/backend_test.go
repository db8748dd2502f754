package main

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// The example from outside: what was denied and what was not confirmed left nothing, what
// was allowed is there as it was proposed, and the receipt says so.
func TestBackend(t *testing.T) {
	bin := build(t)
	isolations(t, func(t *testing.T, isolation string) {
		project, file := newProject(t), t.TempDir()+"/receipt.jsonl"
		link := t.TempDir() + "/link" // the host finds out what it is
		if err := os.Symlink(project, link); err != nil {
			t.Fatal(err)
		}
		status, said := backend(t, bin, "-isolation", isolation, "-receipt", file, link, bin+"/agent")
		if status != 0 {
			t.Errorf("status %d", status)
		}
		want := maps.Clone(before)
		want["docs/greeting.md"] = "# Hello\n"
		if got := tree(t, project); !maps.Equal(got, want) {
			t.Errorf("the project is %q, want %q", got, want)
		}
		entries := []entry{
			{Tool: "ask_user", Allowed: true, Decision: "policy_allow", Status: "succeeded"},
			{Tool: "read_file", Path: "docs/greeting.md", Allowed: true, Decision: "policy_allow", Status: "succeeded", SHA256: sum(before["docs/greeting.md"])},
			{Tool: "edit_file", Path: "docs/greeting.md", Allowed: true, Decision: "policy_allow", Status: "succeeded", SHA256: sum("# Hello\n")},
			{Tool: "write_file", Path: ".git/hooks/pre-commit", Status: "denied", Code: "policy_denied"},
			{Tool: "write_file", Path: "deploy.sh", Decision: "user_denied", Status: "denied", Code: "permission_denied"},
		}
		got := readReceipt(t, file)
		digests := map[string]bool{}
		for i := range got {
			if (len(got[i].Digest) == 64) != got[i].Allowed || digests[got[i].Digest] && got[i].Allowed {
				t.Errorf("digest %q of %+v", got[i].Digest, got[i])
			}
			digests[got[i].Digest], got[i].Digest = true, ""
		}
		if !slices.Equal(got, entries) {
			t.Errorf("the receipt has\n%+v\nwant\n%+v", got, entries)
		}
		if all := left(t, bin); len(all) > 0 {
			t.Errorf("left behind: %q", all)
		}
		if t.Failed() {
			t.Log(said)
		}
	})
}

// The status is the agent's, and an agent that says nothing has changed nothing. One that
// leaves children has none left.
func TestStatusOfTheAgent(t *testing.T) {
	bin := build(t)
	control := exec.CommandContext(t.Context(), "/bin/sh", "-c", "read x; :", bin+"/mark")
	in, err := control.StdinPipe()
	if err = errors.Join(err, control.Start()); err != nil {
		t.Fatal(err)
	}
	if all := left(t, bin); len(all) != 1 {
		t.Errorf("the control is not found: %q", all)
	}
	_ = in.Close()
	_ = control.Wait()
	isolations(t, func(t *testing.T, isolation string) {
		project, file := newProject(t), t.TempDir()+"/receipt.jsonl"
		script := "echo fd=$BRAINBOX_BRIDGE_FD.; sh -c 'sleep 1000; :' " + bin + "/mark & setsid sh -c 'sleep 1000; :' " + bin + "/mark & echo x > docs/direct.md; exit 3"
		status, said := backend(t, bin, "-isolation", isolation, "-receipt", file, project, "/bin/sh", "-c", script)
		if status != 3 {
			t.Errorf("status %d, want 3\n%s", status, said)
		}
		if inherited := strings.HasSuffix(t.Name(), "/inherited"); strings.Contains(said, "fd=3.") != inherited && (inherited || isolation == "namespaces") {
			t.Errorf("how the bridge is reached is another way here: %s", said)
		}
		if got := tree(t, project); !maps.Equal(got, before) {
			t.Errorf("the project is %q", got)
		}
		if got := readReceipt(t, file); len(got) != 0 {
			t.Errorf("the receipt has %+v", got)
		}
		if all := left(t, bin); len(all) > 0 {
			t.Errorf("left behind: %q", all)
		}
	})
}

// Where the host cannot keep its promise it starts nothing.
func TestNothingStarts(t *testing.T) {
	bin := build(t)
	project, other := newProject(t), t.TempDir()
	taken := other + "/taken"
	if err := os.WriteFile(taken, []byte("somebody's"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		want int
		args []string
	}{
		"no arguments":           {refused, nil},
		"no agent":               {refused, []string{project}},
		"the receipt is there":   {refused, []string{"-receipt", taken, project, bin + "/agent"}},
		"no place for a receipt": {refused, []string{"-receipt", other + "/none/r", project, bin + "/agent"}},
		"no project":             {refused, []string{"-receipt", other + "/1", project + "/none", bin + "/agent"}},
		"the project is a file":  {refused, []string{"-receipt", other + "/2", project + "/run.sh", bin + "/agent"}},
		"an unknown isolation":   {refused, []string{"-receipt", other + "/3", "-isolation", "none", project, bin + "/agent"}},
		"an agent that is none":  {refused, []string{"-receipt", other + "/4", project, bin + "/none"}},
	} {
		t.Run(name, func(t *testing.T) {
			status, said := backend(t, bin, c.args...)
			if status != c.want || !strings.Contains(said, "backend: ") {
				t.Errorf("status %d, want %d: %s", status, c.want, said)
			}
		})
	}
	if got := tree(t, project); !maps.Equal(got, before) {
		t.Errorf("the project is %q", got)
	}
	if text, err := os.ReadFile(taken); string(text) != "somebody's" {
		t.Errorf("another's file is %q, %v", text, err)
	}
}

// A call whose line cannot be written is an error of the session: without a receipt there is
// no success, whatever the agent says.
func TestReceiptThatCannotBeWritten(t *testing.T) {
	needs.LandlockABI(t, 1)
	needs.Seccomp(t)
	bin, project, file := build(t), newProject(t), t.TempDir()+"/receipt"
	for _, most := range []uint64{1 << 20, 300} { // bytes of a file: enough, and not
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", `trap "" XFSZ; read x; exec "$@"`, "sh",
			bin+"/backend", "-isolation", "landlock", "-receipt", file+strconv.FormatUint(most, 10), project, bin+"/agent")
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		in, err := cmd.StdinPipe()
		if err = errors.Join(err, cmd.Start()); err != nil {
			t.Fatal(err)
		}
		err = unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: most, Max: most}, nil)
		_, werr := in.Write([]byte("\n"))
		if err = errors.Join(err, werr, in.Close()); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait()
		want, says, text := 0, "", "# Hello\n"
		if most == 300 { // the question is written down, and nothing is carried out after the read
			want, says, text = refused, "file too large", "# GREETING\n"
		}
		if got := cmd.ProcessState.ExitCode(); got != want || !strings.Contains(out.String(), says) {
			t.Errorf("%d bytes: status %d, want %d\n%s", most, got, want, out.String())
		}
		if got := tree(t, project)["docs/greeting.md"]; got != text {
			t.Errorf("%d bytes: the file is %q, want %q", most, got, text)
		}
		if err := fill(project); err != nil {
			t.Fatal(err)
		}
	}
}
