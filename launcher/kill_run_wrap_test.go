package launcher

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// killFake answers as the kernel could not be brought to.
type killFake struct {
	group, leader error
	alive         []killMembers // the last one stays
	calls         []string
	reaped        bool
	helps         bool // the helper starts, exits 0, and meanwhile somebody reaps the leader
}

func (k *killFake) held() bool      { return !k.reaped }
func (k *killFake) exitedNow() bool { return false }

func (k *killFake) signalGroup(sig unix.Signal) error {
	k.calls = append(k.calls, "group "+unix.SignalName(sig))
	return k.group
}

func (k *killFake) signalLeader(sig unix.Signal) error {
	k.calls = append(k.calls, "leader "+unix.SignalName(sig))
	return k.leader
}

func (k *killFake) members() (killMembers, error) {
	now := k.alive[0]
	if len(k.alive) > 1 {
		k.alive = k.alive[1:]
	}
	return now, nil
}

func (k *killFake) startHelper(string, KillSignal) (killHelper, error) {
	k.calls = append(k.calls, "helper")
	if k.helps {
		return k, nil
	}
	return nil, errors.New("not here")
}

func (k *killFake) wait(time.Duration) error {
	k.reaped = true
	return nil
}

func TestKillDecisions(t *testing.T) {
	one := killMembers{list: []Survivor{{7, 65534}}}
	none, hidden := killMembers{}, killMembers{hidden: true}
	const short = 10 * time.Millisecond
	tests := []struct {
		name      string
		fake      killFake
		killer    string
		sig       KillSignal
		calls     []string
		reports   []string // a part of each
		mechanism KillMechanism
		verified  bool
	}{
		{
			"X8 group refused, leader reached",
			killFake{group: unix.EPERM, alive: []killMembers{one, none}},
			"", KillTERM,
			[]string{"group SIGTERM", "leader SIGTERM"},
			[]string{"in part: kill(-7, SIGTERM): EPERM"},
			KillByLeader, true,
		},
		{
			"X8 others live on",
			killFake{group: unix.EPERM, alive: []killMembers{one}},
			"", KillTERM,
			[]string{"group SIGTERM", "leader SIGTERM", "group SIGKILL", "leader SIGKILL"},
			[]string{"in part", "pid 7 uid 65534"},
			KillByLeader, false,
		},
		{
			"group refused, leader gone",
			killFake{group: unix.EPERM, leader: unix.ESRCH, alive: []killMembers{one, none}},
			"", KillTERM,
			[]string{"group SIGTERM", "leader SIGTERM"},
			nil, KillByLeader, true,
		},
		{
			"both refused",
			killFake{group: unix.EPERM, leader: unix.EPERM, alive: []killMembers{one}},
			"", KillINT,
			[]string{"group SIGINT", "leader SIGINT"},
			[]string{"still running: kill(-7, SIGINT): EPERM"},
			KillByLeader, false,
		},
		{
			"refused by zombies only (X2)",
			killFake{group: unix.EPERM, leader: unix.EPERM, alive: []killMembers{none}},
			"", KillTERM,
			[]string{"group SIGTERM"},
			nil, KillByGroup, true,
		},
		{
			"no such group",
			killFake{group: unix.ESRCH, alive: []killMembers{none}},
			"", KillTERM,
			[]string{"group SIGTERM"},
			nil, KillByGroup, true,
		},
		{
			"X1 survives everything",
			killFake{alive: []killMembers{one}},
			"", KillTERM,
			[]string{"group SIGTERM", "group SIGKILL"},
			[]string{"still running after SIGKILL by group: pid 7 uid 65534; set BRAIN_UI_EXEC_KILLER"},
			KillByGroup, false,
		},
		{
			"KILL has nothing to escalate to",
			killFake{alive: []killMembers{one}},
			"", KillKILL,
			[]string{"group SIGKILL"},
			[]string{"still running after SIGKILL"},
			KillByGroup, false,
		},
		{
			"hidden processes are no proof",
			killFake{alive: []killMembers{hidden}},
			"", KillTERM,
			[]string{"group SIGTERM"},
			[]string{"cannot be verified"},
			KillByGroup, false,
		},
		{
			"a failed helper is not asked again",
			killFake{alive: []killMembers{one}},
			"/k", KillTERM,
			[]string{"helper", "group SIGTERM", "group SIGKILL"},
			[]string{`BRAIN_UI_EXEC_KILLER="/k" for process group 7 cannot be started: not here`, "still running"},
			KillByGroup, false,
		},
		{
			"X3 reaped between the rounds",
			killFake{helps: true, alive: []killMembers{one}},
			"/k", KillTERM,
			[]string{"helper"},
			[]string{"left alone: somebody else reaped its leader"},
			KillByHelper, false,
		},
		{
			"X3 reaped by somebody else",
			killFake{reaped: true, alive: []killMembers{one}},
			"/k", KillTERM,
			nil, nil, KillByNothing, false,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var reports wrapReports
			run := killRun{
				target: &tt.fake, pgid: 7, killer: tt.killer,
				how:      KillOptions{Wrapper: "/w", Killer: tt.killer, Grace: short, KillGrace: short, HelperLimit: wrapPatience},
				teardown: &Teardown{done: make(chan struct{}), receipt: KillReceipt{Signal: tt.sig, Mechanism: KillByNothing}},
				reporter: killReporter{sink: reports.add, limit: wrapPatience},
			}
			run.begin()
			run.run()
			if diff := cmp.Diff(tt.calls, tt.fake.calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			got := reports.all()
			if len(got) != len(tt.reports) {
				t.Fatalf("reports %q, want %d", got, len(tt.reports))
			}
			for i, want := range tt.reports {
				if !strings.Contains(got[i], want) {
					t.Errorf("report %q lacks %q", got[i], want)
				}
			}
			receipt := run.teardown.receipt
			if receipt.Mechanism != tt.mechanism || receipt.Verified != tt.verified {
				t.Errorf("receipt %+v, want mechanism %q, verified %t", receipt, tt.mechanism, tt.verified)
			}
		})
	}
}
