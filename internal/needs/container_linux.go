package needs

import (
	"os"
	"path/filepath"
	"testing"
)

// Container asks for runc(8), and to be root who may start a container with it. It
// returns the path of runc. Its word is "runc".
func Container(t testing.TB) string {
	t.Helper()
	path, err := tryTool("runc")
	if err == nil {
		err = tryRoot()
	}
	if err == nil {
		err = tryContainer(t.TempDir(), path)
	}
	settle(t, "runc", read(t).has("runc"), err)
	return path
}

// tryContainer starts a container whose only program is the host's true(1).
func tryContainer(dir, runc string) error {
	const config = `{"ociVersion":"1.0.2","root":{"path":"rootfs"},
"process":{"cwd":"/","user":{"uid":0,"gid":0},"args":["/usr/bin/true"],"env":["PATH=/usr/bin"]},
"mounts":[{"destination":"/proc","type":"proc","source":"proc"},
 {"destination":"/usr","type":"bind","source":"/usr","options":["rbind","ro"]}],
"linux":{"namespaces":[{"type":"mount"},{"type":"pid"},{"type":"ipc"},{"type":"uts"},{"type":"network"}]}}`
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o600); err != nil {
		return err
	}
	return tryScript(dir, `
mkdir rootfs rootfs/usr rootfs/proc state
for name in bin lib lib64; do test ! -L /$name || cp -P /$name rootfs/$name; done
`+runc+` --root "$PWD/state" run --bundle "$PWD" "brainbox-needs-$$" </dev/null`)
}
