package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// otherUser is the ordinary user of a soak that root runs.
const otherUser = 61000

// world is the folder that all steps live in.
type world struct {
	base  string
	root  bool
	hosts map[bool]*host
	web   *origin
}

// side is what belongs to one user.
type side struct {
	dir string
	uid int
}

func (w *world) side(user bool) side {
	if user {
		uid := os.Getuid()
		if w.root {
			uid = otherUser
		}
		return side{w.base + "/u", uid}
	}
	return side{w.base + "/r", 0}
}

// users are those that steps are made as.
func (w *world) users() []bool {
	if w.root {
		return []bool{true, false}
	}
	return []bool{true}
}

// newWorld makes the folders. The commands are in bin already.
func newWorld(base string) (*world, error) {
	w := &world{base: base, root: os.Getuid() == 0, hosts: map[bool]*host{}}
	errs := []error{os.Mkdir(base+"/race", 0o777), os.Chmod(base+"/race", 0o777|os.ModeSticky)}
	for _, user := range w.users() {
		s := w.side(user)
		for _, dir := range []string{"", "/home", "/tmp", "/run", "/state", "/config", "/cache", "/work", "/out", "/full", "/kept", "/cwd"} {
			errs = append(errs, os.Mkdir(s.dir+dir, 0o700), os.Chown(s.dir+dir, s.uid, s.uid))
		}
		errs = append(errs, s.write("/out/canary", canaryText, 0o600), s.write("/config/exec.toml", execPolicy, 0o600),
			s.write("/config/gate.json", gateRules, 0o600), s.write("/config/tool", toolScript, 0o700),
			s.write("/config/bridge.json", fmt.Sprintf(envelope, s.dir+"/config/tool"), 0o600), s.write("/config/closed.toml", "version = 1\n", 0))
		if w.root && user {
			errs = append(errs, unix.Mount("tmpfs", s.dir+"/full", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=64k,mode=700,uid=61000,gid=61000"),
				s.write("/full/filler", strings.Repeat("x", 64<<10), 0o600))
		}
	}
	return w, errors.Join(errs...)
}

func (s side) write(name, text string, mode os.FileMode) error {
	err := os.WriteFile(s.dir+name, []byte(text), 0o600)
	if errors.Is(err, unix.ENOSPC) { // that is what it is for
		err = nil
	}
	return errors.Join(err, os.Chmod(s.dir+name, mode), os.Chown(s.dir+name, s.uid, s.uid))
}

const canaryText = "canary\n"

// checkCanary says what became of the file outside, and puts it right.
func (s side) checkCanary() string {
	text, err := os.ReadFile(s.dir + "/out/canary")
	entries, derr := os.ReadDir(s.dir + "/out")
	switch {
	case err != nil:
		return err.Error()
	case string(text) != canaryText:
		return fmt.Sprintf("it is %q", text[:min(len(text), 100)])
	case derr != nil || len(entries) != 1:
		return fmt.Sprintf("its folder has %v", entries)
	}
	return ""
}

// environ is the environment of brainbox.
func (s side) environ(base string) []string {
	return []string{
		"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME=" + s.dir + "/home", "TMPDIR=" + s.dir + "/tmp", "LANG=C.UTF-8",
		"XDG_RUNTIME_DIR=" + s.dir + "/run", "XDG_STATE_HOME=" + s.dir + "/state", "XDG_CONFIG_HOME=" + s.dir + "/config",
		"XDG_CACHE_HOME=" + s.dir + "/cache", "GORACE=exitcode=66 halt_on_error=1 log_path=" + base + "/race/report",
	}
}

// begin makes the step's own folder.
func (w *world) begin(s step) (dir string, err error) {
	u := w.side(s.User)
	dir = u.dir + "/work/" + s.id()
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Chown(dir, u.uid, u.uid)); err != nil {
		return "", err
	}
	for name, text := range map[string]string{"plainfile": "no program\n", "secret": "s\n"} {
		path := dir + "/" + name
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chown(path, u.uid, u.uid)); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// command is a call of one of the commands as the step's user, in a session of its own.
func (w *world) command(s step, dir, name string, args ...string) *exec.Cmd {
	u := w.side(s.User)
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, u.environ(w.base)
	cmd.WaitDelay = 3 * time.Second // what outlives it may have its standard error
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if w.root && s.User {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: otherUser, Gid: otherUser}
	}
	return cmd
}

// words are the words of all processes that have one of them.
func processesWith(word string) []int {
	var pids []int
	for _, pid := range processes() {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && pid != os.Getpid() && bytes.Contains(text, []byte(word)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// gone waits for the end of all processes with the word, and returns those that stay.
func gone(word string, wait time.Duration) []int {
	for end := time.Now().Add(wait); ; time.Sleep(20 * time.Millisecond) {
		left := processesWith(word)
		if len(left) == 0 || time.Now().After(end) {
			return left
		}
	}
}

// endAll kills them.
func endAll(word string) {
	for len(processesWith(word)) > 0 {
		for _, pid := range processesWith(word) {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// found lists the files below a folder, but those that are skipped.
func found(root string, skip func(string) bool) []string {
	var all []string
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !skip(path) {
			all = append(all, path)
		}
		return nil
	})
	slices.Sort(all)
	return all
}

// execPolicy is the wrapper's.
const execPolicy = "version = 1\nextends = [\"default\"]\n"

// gateRules: what is named asked is asked about, what is named denied is denied.
const gateRules = `{"*": "ask", "soak.echo": "allow", "read": "allow", "path_read": "allow", "path_write": "allow",
 "write": {"*": "allow", "*asked*": "ask", "*denied*": "deny"}}`

const toolScript = `#!/bin/sh
read -r line
id=$(printf %s "$line" | sed 's/.*"request_id":"\([^"]*\)".*/\1/')
printf '{"schema":"wp-codebox/parent-tool-result/v1","version":1,"request_id":"%s","tool":"soak.echo","operation":"call","status":"succeeded","output":{"said":"x"},"artifacts":{"transcripts":[],"evidence":[]},"diagnostics":{},"metadata":{}}\n' "$id"
`

const envelope = `{"schema":"wp-codebox/parent-tool-bridge/v1","version":1,"allowed_tools":["soak.echo"],
"dispatcher":{"owner":"wp-codebox","mode":"host_command","command":{"argv":[%q]},
"request_schema":"wp-codebox/parent-tool-request/v1","result_schema":"wp-codebox/parent-tool-result/v1","timeout_ms":60000},
"sandbox_env":{"mode":"metadata-only","variables":{"bridge_schema":"WP_CODEBOX_PARENT_TOOL_BRIDGE_SCHEMA",
"dispatch_mode":"WP_CODEBOX_PARENT_TOOL_DISPATCH_MODE","request_schema":"WP_CODEBOX_PARENT_TOOL_REQUEST_SCHEMA",
"result_schema":"WP_CODEBOX_PARENT_TOOL_RESULT_SCHEMA"},"secret_env":[]},
"authorization":{"mode":"allowlist"},"redaction":{"transcript_artifact_refs":[]},"metadata":{}}`
