package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"brainbox/internal/needs"
	"brainbox/internal/setuid/installed"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

const agentPolicy = sandboxTable + "identity = { user = \"agent\" }\ncallers = [\"brain\"]\n"

func TestKillRefusesByTheKernelOrTheCaller(t *testing.T) {
	needRoot(t)
	binary := buildKill(t)
	gone := newVictim(t, agentUID, 0)
	if err := gone.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	gone.endedBy(t)
	const noPolicy = ""
	tests := []struct {
		name                string
		caller, victim      uint32
		policy              string
		policyMode, dirMode os.FileMode
		policyOwner         int
		pgid                string // instead of the victim's
		want                string // part of the line
	}{
		{
			name: "bk/P1 host without the right to drop", caller: hostUID, victim: agentUID, policy: agentPolicy,
			want: "drop to the identity: ",
		},
		{
			name: "bk/P8 agent", caller: agentUID, victim: agentUID, policy: agentPolicy,
			want: "uid 10002 is not among the callers",
		},
		{
			name: "bk/P9 third user", caller: thirdUID, victim: agentUID, policy: agentPolicy,
			want: "uid 10003 is not among the callers",
		},
		{name: "bk/P10 host's group", victim: hostUID, policy: agentPolicy, want: "kill: operation not permitted"},
		{name: "bk/P10 root's group", victim: 0, policy: agentPolicy, want: "kill: operation not permitted"},
		{
			name: "bk/P11 empty group", victim: agentUID, policy: agentPolicy, pgid: gone.pgid(),
			want: "kill: no such process",
		},
		{
			name: "bk/P5 wraps to every process (H2)", victim: agentUID, policy: agentPolicy, pgid: "4294967297",
			want: "pid_max",
		},
		{
			name: "root without an identity, agent's group", victim: agentUID, policy: noPolicy,
			want: "kill: operation not permitted",
		},
		{
			name: "user without an identity, another's group", caller: thirdUID, victim: agentUID, policy: noPolicy,
			want: "kill: operation not permitted",
		},
		{
			name: "policy others may write", victim: agentUID, policy: agentPolicy, policyMode: 0o646,
			want: `exec.toml" is writable by others`,
		},
		{
			name: "policy a group may write", victim: agentUID, policy: agentPolicy, policyMode: 0o664,
			want: `exec.toml" is writable by gid 0`,
		},
		{
			name: "policy of the host's user", victim: agentUID, policy: agentPolicy, policyOwner: hostUID,
			want: `exec.toml" is owned by uid 10001`,
		},
		{
			name: "folder others may write", victim: agentUID, policy: agentPolicy, dirMode: 0o777,
			want: `"/etc/brainbox" is writable by others`,
		},
		{
			name: "policy not readable", caller: thirdUID, victim: thirdUID, policy: agentPolicy, policyMode: 0o600,
			want: "permission denied",
		},
		{name: "policy misspelt", victim: agentUID, policy: sandboxTable + "identiy = 1\n", want: "identiy"},
		{
			name: "identity unknown", victim: agentUID, policy: sandboxTable + "identity = { user = \"gone\" }\n",
			want: `"gone": no such name`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := newVictim(t, tt.victim, 0)
			pgid := tt.pgid
			if pgid == "" {
				pgid = v.pgid()
			}
			status, out, errs := runStage(t, stage{
				Binary: binary, Args: []string{pgid, "KILL"}, UID: tt.caller, Policy: tt.policy,
				PolicyMode: tt.policyMode, PolicyOwner: tt.policyOwner, FolderMode: tt.dirMode,
			})
			if status != 126 || out != "" || strings.Count(errs, "\n") != 1 ||
				!strings.HasPrefix(errs, "brainbox-kill: ") || !strings.Contains(errs, tt.want) {
				t.Errorf("status %d, %q, %q, want 126 and one line with %q", status, out, errs, tt.want)
			}
			if !v.alive(t) {
				t.Error("the victim is dead")
			}
		})
	}
}

func TestKillSignalsTheAgentsGroup(t *testing.T) {
	needRoot(t)
	binary := buildKill(t)
	tests := []struct {
		name           string
		caller, victim uint32
		policy, word   string
		want           syscall.Signal
	}{
		{"bk/P1, bk/P2 TERM", 0, agentUID, agentPolicy, "TERM", syscall.SIGTERM},
		{"bk/P2 KILL", 0, agentUID, agentPolicy, "KILL", syscall.SIGKILL},
		{"bk/P2 INT", 0, agentUID, agentPolicy, "INT", syscall.SIGINT},
		{"identity by number", 0, 555, sandboxTable + "identity = { user = 555, group = 556 }\n", "TERM", syscall.SIGTERM},
		{"no identity, root's own", 0, 0, "", "TERM", syscall.SIGTERM},
		{"no identity, user's own", thirdUID, thirdUID, "", "TERM", syscall.SIGTERM},
		{"policy without an identity", thirdUID, thirdUID, version1 + "[network]\n", "TERM", syscall.SIGTERM},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := newVictim(t, tt.victim, 0)
			bystander := newVictim(t, tt.victim, 0) // H6: another group of the same user
			status, out, errs := runStage(t, stage{
				Binary: binary, Args: []string{v.pgid(), tt.word}, UID: tt.caller, Policy: tt.policy,
			})
			if status != 0 || out+errs != "" {
				t.Fatalf("status %d, %q, %q, want a silent 0", status, out, errs)
			}
			if got := v.endedBy(t); got != tt.want {
				t.Errorf("ended by %v, want %v", got, tt.want)
			}
			if !bystander.alive(t) {
				t.Error("another group of the same user is dead")
			}
		})
	}
}

func TestKillHitsOnlyTheAgentInAMixedGroup(t *testing.T) {
	needRoot(t)
	agent := newVictim(t, agentUID, 0)
	host := newVictim(t, hostUID, agent.Process.Pid)
	status, _, errs := runStage(t, stage{Binary: buildKill(t), Args: []string{agent.pgid(), "KILL"}, Policy: agentPolicy})
	if status != 0 {
		t.Fatalf("status %d, %q", status, errs)
	}
	agent.endedBy(t)
	if !host.alive(t) {
		t.Error("the host's process in the agent's group is dead")
	}
}

// TestKillRefusesARaisedStart: only root's set-uid bit is known.
func TestKillRefusesARaisedStart(t *testing.T) {
	in := install(t)
	for _, tt := range []struct {
		name, want string
		change     func(path string) error
	}{
		{"set-gid", "set-gid", func(path string) error { return os.Chmod(path, 0o755|os.ModeSetgid) }},
		{"set-uid and set-gid", "set-gid", func(path string) error { return os.Chmod(path, 0o755|os.ModeSetgid|os.ModeSetuid) }},
		{"set-uid of another", "another owner than root", func(path string) error {
			return errors.Join(os.Chown(path, thirdUID, thirdUID), os.Chmod(path, 0o755|os.ModeSetuid))
		}},
		{"set-uid of the caller's own", "gave no privilege", func(path string) error {
			return errors.Join(os.Chown(path, hostUID, hostUID), os.Chmod(path, 0o755|os.ModeSetuid))
		}},
		{"file capabilities", "file capabilities", func(path string) error {
			return errors.Join(os.Chmod(path, 0o755), fileCapability(path))
		}},
		{"set-uid and file capabilities", "file capabilities", func(path string) error {
			return errors.Join(os.Chmod(path, 0o755|os.ModeSetuid), fileCapability(path))
		}},
	} {
		path := in.Copy("raised")
		if in.Do(func() error { return tt.change(path) }); t.Failed() {
			return
		}
		v := newVictim(t, agentUID, 0)
		status, out, errs := in.Run(installed.Call{UID: hostUID, Argv: []string{path, v.pgid(), "KILL"}})
		if status != 126 || out != "" || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, tt.want) {
			t.Errorf("%s: status %d, %q, want 126 and one line with %q", tt.name, status, errs, tt.want)
		}
		if !v.alive(t) {
			t.Errorf("%s: the victim is dead", tt.name)
		}
	}
}

func fileCapability(path string) error {
	const revision2, effective = 0x02000000, 1 // linux/capability.h
	words := []uint32{revision2 | effective, 1 << unix.CAP_KILL, 0, 0, 0}
	var data []byte
	for _, w := range words {
		data = binary.LittleEndian.AppendUint32(data, w)
	}
	return unix.Setxattr(path, "security.capability", data, 0)
}

func TestDropLeavesNoWayBack(t *testing.T) {
	needRoot(t)
	const noCaps = "0000000000000000, 0000000000000000, 0000000000000000, 0000000000000000"
	agent := "10002 10002 10002 10002, 20002 20002 20002 20002, "
	root := "0 0 0 0, 0 0 0 0, " + statusOf("/proc/self/status", "Groups:")
	tests := []struct {
		name  string
		stage stage
		want  described
	}{
		{
			"bk/P12, bk/H5",
			stage{Drop: &stageDrop{true, agentUID, 20002}},
			described{Threads: []string{agent}, CapEff: noCaps, NoNewPrivs: "1"},
		},
		{
			"bk/P12 with SECBIT_NO_SETUID_FIXUP",
			stage{Drop: &stageDrop{true, agentUID, 20002}, KeepsCaps: true},
			described{Threads: []string{agent}, CapEff: noCaps, NoNewPrivs: "1"},
		},
		{
			"no identity",
			stage{Drop: &stageDrop{}},
			described{Threads: []string{root}, CapEff: noCaps, NoNewPrivs: "1"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status, out, errs := runStage(t, tt.stage)
			var got described
			if err := json.Unmarshal([]byte(out), &got); err != nil || status != 0 {
				t.Fatalf("status %d, %q, %q: %v", status, out, errs, err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("after drop (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBinaryStaysSmall(t *testing.T) {
	info, err := os.Stat(buildKill(t))
	if err != nil {
		t.Fatal(err)
	}
	if limit := int64(8 << 20); info.Size() > limit {
		t.Errorf("%d bytes, want at most %d", info.Size(), limit)
	}
	needs.Program(t, "go")
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", ".")
	list.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	deps := strings.Fields(string(out))
	for _, dep := range deps {
		switch dep {
		case "net", "net/http", "encoding/gob", "os/exec", "os/user", "plugin", "runtime/cgo",
			"flag", "regexp", "text/template":
			t.Errorf("imports %s", dep)
		}
	}
	if len(deps) < 10 {
		t.Errorf("go list names %q only", deps)
	}
}
