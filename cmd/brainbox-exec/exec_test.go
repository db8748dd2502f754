package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brainbox/internal/needs"
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "brainbox-exec" {
		main()
	}
	os.Exit(m.Run())
}

const (
	agent = 12345 // an ordinary user without a line in /etc/passwd
	usual = "version = 1\nextends = [\"default\"]\n[filesystem]\nwrite = [%q]\n"
)

// world is a wrapper, its policy and a folder for its programs, all below /run: a policy
// below /tmp could be exchanged by others, and is refused.
type world struct {
	t        *testing.T
	dir, bin string
	work     string
	root     bool // called by root, with the policy at its own place
}

func newWorld(t *testing.T, root bool) *world {
	t.Helper()
	needs.Root(t)                                           // only root can make a folder that the wrapper trusts, and call as somebody else
	dir, err := os.MkdirTemp("/run", "brainbox-exec-test-") //nolint:usetesting // t.TempDir lies below /tmp, which others can write
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = os.RemoveAll(dir)
		_ = os.RemoveAll("/tmp/brainbox-exec-" + strconv.Itoa(agent))
	})
	w := &world{t: t, dir: dir, bin: dir + "/brainbox-exec", work: dir + "/work", root: root}
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	out, err := os.OpenFile(w.bin, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(out, self)
	if err := errors.Join(err, out.Close(), os.Chmod(dir, 0o755), os.Mkdir(w.work, 0o755), os.Chmod(w.bin, 0o755)); err != nil {
		t.Fatal(err)
	}
	if !root {
		if err := os.Chown(w.work, agent, agent); err != nil {
			t.Fatal(err)
		}
	}
	w.policy(fmt.Sprintf(usual, w.work))
	return w
}

func (w *world) policy(text string) {
	w.t.Helper()
	if err := os.WriteFile(w.dir+"/exec.toml", []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// private runs "$@" in a mount namespace whose /etc has the policy and is otherwise ours.
const private = `mkdir -m 755 "$DIR/etc" "$DIR/etc/brainbox" &&
for f in passwd group shadow ld.so.cache ld.so.conf ld.so.conf.d alternatives nsswitch.conf; do
	[ ! -e /etc/$f ] || cp -a /etc/$f "$DIR/etc/"
done &&
cp "$DIR/exec.toml" "$DIR/etc/brainbox/exec.toml" && mount --bind "$DIR/etc" /etc || exit 90
"$@"; status=$?; umount /etc; rm -rf "$DIR/etc"; exit $status`

// run calls argv, a program of the host that may call the wrapper.
func (w *world) run(argv ...string) (status int, stdout, stderr string) {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), argv[0], argv[1:]...)
	cmd.Dir = w.work
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=/nonexistent", "LANG=C.UTF-8", "AWS_SECRET_ACCESS_KEY=s3cret", "DIR=" + w.dir}
	if w.root {
		cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", private, "sh"}, argv...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	} else {
		cmd.Env = append(cmd.Env, "BRAINBOX_EXEC_POLICY="+w.dir+"/exec.toml")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: agent, Gid: agent}}
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var ee *exec.ExitError
	if err != nil && !errors.As(err, &ee) {
		w.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// refused fails if argv is not refused with status, one line and at most one hint.
func (w *world) refused(status int, argv ...string) string {
	w.t.Helper()
	got, out, errs := w.run(argv...)
	lines := strings.Split(strings.TrimSuffix(errs, "\n"), "\n")
	if got != status || out != "" || len(lines) > 2 || !strings.HasPrefix(lines[0], "brainbox-exec: ") ||
		len(lines) == 2 && !strings.HasPrefix(lines[1], "brainbox-exec: hint: ") {
		w.t.Errorf("%q: status %d, output %q, errors %q; want %d and one line", argv, got, out, errs, status)
	}
	return errs
}

// both runs a test as the agent and as root.
func both(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	for _, root := range []bool{false, true} {
		t.Run(map[bool]string{false: "agent", true: "root"}[root], func(t *testing.T) { f(t, newWorld(t, root)) })
	}
}

func TestRefusals(t *testing.T) {
	both(t, func(t *testing.T, w *world) {
		plain := w.work + "/plain"
		if err := os.WriteFile(plain, []byte("#!/bin/sh\necho RAN\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, argv := range [][]string{
			{}, {"true"}, {"./plain"}, {"-x"}, {"--help", "x"}, {"/bin/../bin/true"}, {"/bin//true"}, {"/bin/"}, {plain}, {w.work}, {""},
		} {
			w.refused(126, append([]string{w.bin}, argv...)...)
		}
		w.refused(127, w.bin, "/nowhere/program")
		w.refused(127, w.bin, w.work+"/nowhere")
		for name, text := range map[string]string{
			"an unknown key":          "version = 1\nextend = [\"default\"]\n",
			"what needs brainbox run": fmt.Sprintf(usual, w.work) + "[process]\ntimeout = \"1m\"\n",
			"protect":                 "version = 1\n[filesystem]\nprotect = [\"/srv\"]\n",
			"no TOML":                 "version = \n",
			"no version":              "extends = [\"default\"]\n",
			"a relative path":         "version = 1\n[filesystem]\nread = [\"./x\"]\n",
			"a write grant of /":      "version = 1\nextends = [\"default\"]\n[filesystem]\nwrite = [\"/\"]\n",
			"its own policy":          "version = 1\nextends = [\"default\"]\n[filesystem]\nwrite = [\"/etc\", \"" + w.dir + "\"]\n",
		} {
			w.policy(text)
			if errs := w.refused(126, w.bin, "/bin/echo", "RAN"); strings.Contains(errs, "RAN") {
				t.Errorf("%s: %q", name, errs)
			}
		}
		w.policy(fmt.Sprintf(usual, w.work)) // positive control
		if status, out, errs := w.run(w.bin, "/bin/echo", "RAN", "--help"); status != 0 || out != "RAN --help\n" || errs != "" {
			t.Errorf("status %d, output %q, errors %q", status, out, errs)
		}
		if status, _, errs := w.run(w.bin, "/bin/sh", "-c", "exit 77"); status != 77 || errs != "" {
			t.Errorf("status %d, errors %q", status, errs)
		}
	})
}

func TestNoPolicyIsARefusal(t *testing.T) {
	w := newWorld(t, false)
	if err := os.Remove(w.dir + "/exec.toml"); err != nil {
		t.Fatal(err)
	}
	w.refused(126, w.bin, "/bin/echo", "RAN")
	w.policy(fmt.Sprintf(usual, w.work))
	if err := os.Chmod(w.dir+"/exec.toml", 0o666); err != nil {
		t.Fatal(err)
	}
	w.refused(126, w.bin, "/bin/echo", "RAN")
}

func TestTheProcessStaysTheSame(t *testing.T) {
	both(t, func(t *testing.T, w *world) {
		status, out, errs := w.run("/bin/sh", "-c", `echo $$; exec "$0" /bin/sh -c 'echo $$'`, w.bin)
		if p := strings.Fields(out); status != 0 || len(p) != 2 || p[0] != p[1] {
			t.Errorf("status %d, process numbers %q, errors %q", status, out, errs)
		}
	})
}

func TestTheProgramIsConfined(t *testing.T) {
	both(t, func(t *testing.T, w *world) {
		script := `cat /proc/self/status; env
echo x >"$PWD/ok"; (echo x >/run/brainbox-exec-escape) 2>/dev/null; cat /etc/shadow 2>/dev/null; cat ` + w.dir + `/exec.toml 2>/dev/null; exit 0`
		status, out, errs := w.run(w.bin, "/bin/sh", "-c", script)
		if status != 0 || errs != "" {
			t.Fatalf("status %d, errors %q", status, errs)
		}
		for _, want := range []string{"NoNewPrivs:\t1\n", "Seccomp:\t2\n", "CapEff:\t0000000000000000\n", "CapPrm:\t0000000000000000\n", "CapBnd:\t"} {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in %s", want, out)
			}
		}
		for _, bad := range []string{"s3cret", "root:", "version = 1", "BRAINBOX_EXEC_POLICY"} {
			if strings.Contains(out, bad) {
				t.Errorf("%q came through in %s", bad, out)
			}
		}
		if _, err := os.Lstat("/run/brainbox-exec-escape"); err == nil {
			_ = os.Remove("/run/brainbox-exec-escape")
			t.Error("it wrote outside its grants")
		}
		if _, err := os.Lstat(w.work + "/ok"); err != nil { // positive control
			t.Error(err)
		}
	})
}

func TestInheritedDescriptorsAreClosed(t *testing.T) {
	both(t, func(t *testing.T, w *world) {
		needs.Program(t, "python3")
		open := `import os,sys,resource
resource.setrlimit(resource.RLIMIT_NOFILE,(2000,2000))
f=os.open("/etc/passwd",os.O_RDONLY)
for n in (3,9,1023,1500): os.dup2(f,n,inheritable=True)
resource.setrlimit(resource.RLIMIT_NOFILE,(256,256))
os.execv(sys.argv[1],sys.argv[1:])`
		status, out, errs := w.run("/usr/bin/env", "python3", "-c", open, w.bin, "/bin/ls", "/proc/self/fd")
		if diff := cmp.Diff("0 1 2 3", strings.Join(strings.Fields(out), " ")); diff != "" || status != 0 { // 3 is ls's own
			t.Errorf("status %d, errors %q, descriptors (-want +got):\n%s", status, errs, diff)
		}
	})
}

func TestSignalsAndLimitsOfTheCaller(t *testing.T) {
	both(t, func(t *testing.T, w *world) {
		script := `trap '' PIPE CHLD HUP; ulimit -Sn 300; ulimit -Hn 400
exec "$0" /bin/sh -c 'grep -E "^Sig(Ign|Blk)" /proc/self/status; ulimit -Sn; ulimit -Hn; umask; ulimit -c'`
		status, out, errs := w.run("/bin/sh", "-c", script, w.bin)
		want := "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n300\n400\n0022\n"
		if !strings.HasPrefix(out, want) || status != 0 {
			t.Errorf("status %d, output %q, errors %q; want %q", status, out, errs, want)
		}
	})
}

func TestIdentity(t *testing.T) {
	w := newWorld(t, true)
	if err := os.Chown(w.work, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll("/tmp/brainbox-exec-65534") })
	identity := "[sandbox]\nidentity = { user = \"65534\", group = \"65534\", groups = [\"12346\"] }\n"
	w.policy(fmt.Sprintf(usual, w.work) + identity)
	status, out, errs := w.run(w.bin, "/bin/sh", "-c", `grep -E "^(Uid|Gid|Groups|CapEff|CapPrm|CapInh|CapAmb|CapBnd)" /proc/self/status; echo x >ok; stat -c %u ok`)
	none := "\t0000000000000000\n"
	want := "Uid:\t65534\t65534\t65534\t65534\nGid:\t65534\t65534\t65534\t65534\nGroups:\t12346 \nCapInh:" + none + "CapPrm:" + none +
		"CapEff:" + none + "CapBnd:" + none + "CapAmb:" + none + "65534\n"
	if diff := cmp.Diff(want, out); diff != "" || status != 0 || errs != "" {
		t.Errorf("status %d, errors %q (-want +got):\n%s", status, errs, diff)
	}
	for name, bad := range map[string]string{
		"root":            "[sandbox]\nidentity = { user = \"root\" }\n",
		"an unknown user": "[sandbox]\nidentity = { user = \"no-such-user\" }\n",
		"group root":      "[sandbox]\nidentity = { user = \"65534\", group = \"0\" }\n",
	} {
		w.policy(fmt.Sprintf(usual, w.work) + bad)
		if errs := w.refused(126, w.bin, "/bin/echo", "RAN"); errs == "" {
			t.Errorf("%s: accepted", name)
		}
	}
	// Only root becomes somebody else, whoever is listed.
	user := newWorld(t, false)
	user.policy(fmt.Sprintf(usual, user.work) + "[sandbox]\nidentity = { user = \"65534\", group = \"65534\" }\ncallers = [\"" + strconv.Itoa(agent) + "\"]\n")
	user.refused(126, user.bin, "/bin/echo", "RAN")
}
