package launcher

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

func TestReadExecPolicyIgnoresTheVariableForRoot(t *testing.T) {
	file := t.TempDir() + "/exec.toml"
	write(t, file, "version = 1\n")
	env := []string{ExecPolicyEnv + "=" + file}
	for name, ids := range map[string][2]int{"root": {0, 0}, "set-uid root": {1000, 0}, "set-uid": {1000, 1001}} {
		_, _, err := readExecPolicy(env, ids[0], ids[1])
		var r *Refusal
		if !errors.As(err, &r) || r.Status != StatusNotRun || !strings.Contains(r.Message, ExecPolicyEnv) {
			t.Errorf("%s: %v, want a refusal with status 126 that names the variable", name, err)
		}
	}
}

// The folders are made below /run: /tmp can be written by others, and so can a policy in it.
func TestReadExecPolicyOwnership(t *testing.T) {
	needs.Root(t)
	const me = 12345
	base := mkdir(t, "/run/brainbox-test-"+itoa(os.Getpid()), 0o755, 0)
	t.Cleanup(func() { removeTree(filepath.Dir(base), filepath.Base(base)) })
	put := func(dir string, mode uint32, uid int, fileMode uint32, fileUID int) string {
		t.Helper()
		mkdir(t, dir, 0o755, 0)
		write(t, dir+"/exec.toml", "version = 1\n")
		if err := errors.Join(os.Chown(dir+"/exec.toml", fileUID, fileUID), unix.Chmod(dir+"/exec.toml", fileMode)); err != nil {
			t.Fatal(err)
		}
		mkdir(t, dir, mode, uid)
		return dir + "/exec.toml"
	}
	for name, file := range map[string]string{
		"a file of another user":       put(base+"/1", 0o755, 0, 0o644, 12346),
		"a file that the group writes": put(base+"/2", 0o755, 0, 0o664, 0),
		"a file that others write":     put(base+"/3", 0o755, 0, 0o646, 0),
		"a folder of another user":     put(base+"/4", 0o755, 12346, 0o644, 0),
		"a folder that others write":   put(base+"/5", 0o777, 0, 0o644, 0),
		"a sticky folder":              put(base+"/6", 0o1777, 0, 0o644, 0),
		"a folder":                     base,
		"a file that is not there":     base + "/missing.toml",
		"a relative name":              "exec.toml",
	} {
		_, _, err := readExecPolicy([]string{ExecPolicyEnv + "=" + file}, me, me)
		var r *Refusal
		if !errors.As(err, &r) || r.Status != StatusNotRun || r.Hint == "" {
			t.Errorf("%s: %v, want a refusal with status 126 and a hint", name, err)
		}
	}
	for name, file := range map[string]string{ // positive control
		"root's": put(base+"/7", 0o755, 0, 0o644, 0), "the caller's own": put(base+"/8", 0o700, me, 0o600, me),
	} {
		got, text, err := readExecPolicy([]string{ExecPolicyEnv + "=" + file}, me, me)
		if err != nil || got != file || string(text) != "version = 1\n" {
			t.Errorf("%s: %q, %q, %v", name, got, text, err)
		}
	}
}
