package launcher

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brainbox/internal/setuid"
	"brainbox/policy"
)

func TestWithoutFixed(t *testing.T) {
	got := withoutFixed([]string{
		"A=1", "PATH=/evil", "PATH=/more", "HOME=/root", "USER=root", "LOGNAME=root", "SHELL=/evil", "SUDO_UID=0", "SUDO_COMMAND=x",
		"", "=", "=x", "no-equals", "A=2", "TMPDIR=/t", "SUDOKU=1", "GOPATH=/g",
	})
	if diff := cmp.Diff([]string{"A=1", "SUDOKU=1", "GOPATH=/g"}, got); diff != "" {
		t.Errorf("withoutFixed (-want +got):\n%s", diff)
	}
}

// TestRaisedIdentityRefuses is what is decided before anything is changed; the rest needs a
// set-uid file and is in cmd/brainbox-exec.
func TestRaisedIdentityRefuses(t *testing.T) {
	for text, caller := range map[string]uint32{
		"": 0, "[sandbox]\ncallers = [\"7\"]\n": 7,
		"[sandbox]\nidentity = { user = \"8\", group = \"8\" }\n":                     7,
		"[sandbox]\nidentity = { user = \"8\", group = \"8\" }\ncallers = [\"7\"]\n":  9,
		"[sandbox]\nidentity = { user = \"7\", group = \"8\" }\ncallers = [\"7\"]\n":  7,
		"[sandbox]\nidentity = { user = \"8\", group = \"0\" }\ncallers = [\"7\"]\n":  7,
		"[sandbox]\nidentity = { user = \"no-such-user\" }\ncallers = [\"7\"]\n":      7,
		"[sandbox]\nidentity = { user = \"root\", group = \"8\" }\ncallers = [\"7\"]": 7,
	} {
		layer, err := policy.Parse(policy.KindExec, ExecPolicyPath, []byte("version = 1\n"+text))
		if err != nil {
			t.Fatal(err)
		}
		var r *Refusal
		if id, err := raisedIdentity(caller, layer); !errors.As(err, &r) || r.Status != StatusNotRun || id != nil {
			t.Errorf("%q by %d: %v, %v; want a refusal with status 126", text, caller, id, err)
		}
	}
	layer, err := policy.Parse(policy.KindExec, ExecPolicyPath,
		[]byte("version = 1\n[sandbox]\nidentity = { user = \"8\", group = \"9\", groups = [\"10\"] }\ncallers = [\"7\"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if id, err := raisedIdentity(7, layer); err != nil || id.UID != 8 || id.GID != 9 || len(id.Groups) != 1 { // positive control
		t.Errorf("%+v, %v", id, err)
	}
}

// TestExecPlanRaisedTakesNoVariable: not even to look whether it is there.
func TestExecPlanRaisedTakesNoVariable(t *testing.T) {
	_, _, err := ExecPlanRaised(7, []setuid.Limit{}, []string{ExecPolicyEnv + "=/tmp/x"}, []string{"/bin/true"})
	var r *Refusal
	if !errors.As(err, &r) || r.Status != StatusNotRun {
		t.Errorf("%v, want a refusal with status 126", err)
	}
}
