package needs

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Container asks for runc(8), and to be root who may start a container with it. It
// returns the path of runc. Its word is "runc".
func Container(t testing.TB) string {
	t.Helper()
	return runtimeOf(t, "runc")
}

// Crun asks for crun(1), and to be root who may start a container with it. It returns what
// makes a command of its arguments: crun starts nothing where cgroup v2 is mounted beside
// v1 and has a controller, so that it is given a mount namespace in which it is not. Its
// word is "crun".
func Crun(t testing.TB) func(args ...string) *exec.Cmd {
	t.Helper()
	path := runtimeOf(t, "crun")
	return func(args ...string) *exec.Cmd {
		cmd := exec.Command("/bin/sh", append([]string{"-ec", notHybrid + `exec "$0" "$@"`, path}, args...)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
		return cmd
	}
}

// notHybrid takes the v2 hierarchy away that is mounted beside v1 (systemd's hybrid layout).
const notHybrid = `PATH=$PATH:/usr/sbin:/sbin
if grep -q ' /sys/fs/cgroup/unified cgroup2 ' /proc/mounts; then umount /sys/fs/cgroup/unified; fi
`

func runtimeOf(t testing.TB, name string) string {
	t.Helper()
	path, err := tryTool(name)
	if err == nil {
		err = tryRoot()
	}
	if err == nil {
		err = tryContainer(t.TempDir(), path, "")
	}
	settle(t, name, read(t).has(name), err)
	return path
}

// Rootless asks for runc(8), and to be an ordinary user who may start a container with it:
// in a user namespace of his own. It returns the path of runc. Its word is "runc".
func Rootless(t testing.TB) string {
	t.Helper()
	path, err := tryTool("runc")
	if err == nil {
		err = tryUser()
	}
	if err == nil {
		err = tryContainer(t.TempDir(), path, `{"type":"user"},`)
	}
	settle(t, "runc", read(t).has("runc"), err)
	return path
}

// tryContainer starts a container whose only program is the host's true(1). With another
// namespace, that of the user, it is root inside.
func tryContainer(dir, runtime, user string) error {
	maps := ""
	if user != "" {
		one := func(id int) string { return fmt.Sprintf(`[{"containerID":0,"hostID":%d,"size":1}]`, id) }
		maps = `"uidMappings":` + one(os.Geteuid()) + `,"gidMappings":` + one(os.Getegid()) + `,`
	}
	config := `{"ociVersion":"1.0.2","root":{"path":"rootfs"},
"process":{"cwd":"/","user":{"uid":0,"gid":0},"args":["/usr/bin/true"],"env":["PATH=/usr/bin"]},
"mounts":[{"destination":"/proc","type":"proc","source":"proc"},
 {"destination":"/dev","type":"tmpfs","source":"tmpfs"},
 {"destination":"/usr","type":"bind","source":"/usr","options":["rbind","ro"]}],
"linux":{` + maps + `"namespaces":[` + user + `{"type":"mount"},{"type":"pid"},{"type":"ipc"},{"type":"uts"},{"type":"network"}]}}`
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o600); err != nil {
		return err
	}
	script := `
mkdir rootfs rootfs/usr rootfs/proc rootfs/dev state
for name in bin lib lib64; do test ! -L /$name || cp -P /$name rootfs/$name; done
` + runtime + ` --root "$PWD/state" run --bundle "$PWD" "brainbox-needs-$$" </dev/null`
	if filepath.Base(runtime) == "crun" {
		script = notHybrid + script // the script has a mount namespace of its own
	}
	if user != "" { // as tests will start it: not in a namespace that is tried by itself
		cmd := exec.Command("/bin/sh", "-ec", script)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
		}
		return nil
	}
	return tryScript(dir, script)
}
