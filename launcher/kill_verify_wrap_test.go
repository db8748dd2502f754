package launcher

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestKillParseStat(t *testing.T) {
	const tail = " 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 "
	tests := []struct {
		name, text string
		want       killStat
		ok, alive  bool
	}{
		{"empty", "", killStat{}, false, true},
		{"cut short", "7 (sh) S 1 7 7", killStat{}, false, true},
		{"no name", "7 sh S 1 7 7" + tail + "1 0", killStat{}, false, true},
		{"group is no number", "7 (sh) S 1 x 7" + tail + "1 0", killStat{}, false, true},
		{"sleeping", "7 (sh) S 1 8 9" + tail + "1 0", killStat{'S', 8, 1}, true, true},
		{"a name that looks like the rest", "7 (a) Z 1 99 9 (b) R 1 8 9" + tail + "1 0", killStat{'R', 8, 1}, true, true},
		{"zombie", "7 (sh) Z 1 8 9" + tail + "1 0", killStat{'Z', 8, 1}, true, false},
		{"dead", "7 (sh) X 1 8 9" + tail + "0 0", killStat{'X', 8, 0}, true, false},
		{"first thread ended alone", "7 (sh) Z 1 8 9" + tail + "3 0", killStat{'Z', 8, 3}, true, true},
		{"stopped", "7 (sh) T 1 8 9" + tail + "1 0", killStat{'T', 8, 1}, true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := killParseStat([]byte(tt.text))
			if got != tt.want || ok != tt.ok || got.alive() != tt.alive {
				t.Errorf("killParseStat(%q) = %+v, %t, alive %t, want %+v, %t, alive %t",
					tt.text, got, ok, got.alive(), tt.want, tt.ok, tt.alive)
			}
		})
	}
}

func FuzzKillParseStat(f *testing.F) {
	own, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(own)
	f.Add([]byte("7 (a) b) Z 1 8 9 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if got, ok := killParseStat(text); !ok && got != (killStat{}) {
			t.Errorf("killParseStat(%q) = %+v beside a refusal", text, got)
		}
	})
}

func TestKillProcHides(t *testing.T) {
	const before = "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw,hidepid=2\n"
	tests := []struct {
		name, text string
		want       bool
	}{
		{"plain", before + "23 22 0:5 / /proc rw,nosuid - proc proc rw\n", false},
		{"number", before + "23 22 0:5 / /proc rw shared:2 - proc proc rw,gid=5,hidepid=2\n", true},
		{"word", "23 22 0:5 / /proc rw - proc proc rw,hidepid=invisible\n", true},
		{"off", "23 22 0:5 / /proc rw - proc proc rw,hidepid=0\n24 22 0:5 / /proc rw - proc proc rw,hidepid=off", false},
		{
			"covered by a plain one",
			"23 22 0:5 / /proc rw - proc proc rw,hidepid=2\n24 23 0:6 / /proc rw - proc proc rw\n", false,
		},
		{
			"covers a plain one",
			"23 22 0:5 / /proc rw - proc proc rw\n24 23 0:6 / /proc rw - proc proc rw,hidepid=4\n", true,
		},
		{"elsewhere", "23 22 0:5 / /srv/proc rw - proc proc rw,hidepid=2\n", false},
	}
	for _, tt := range tests {
		if got := killProcHides(tt.text); got != tt.want {
			t.Errorf("%s: killProcHides = %t, want %t", tt.name, got, tt.want)
		}
	}
}

func TestKillGroupMembersSeesOnlyTheLiving(t *testing.T) {
	proc := wrapSpawn(t, wrapThrough("/usr/bin/env", ""), "sh -c '"+wrapSleeper+"' & read -r _; exit 0")
	child := proc.ready(t)
	wrapDead(t, proc.WrappedProcess)
	// X2: kill(2) answers 0 for the group of an unreaped zombie.
	if err := unix.Kill(-proc.PID(), 0); err != nil {
		t.Fatalf("precondition: %v", err)
	}
	got, err := killGroupMembers(proc.PID())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Survivor{{child, os.Getuid()}}, got.list); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	wrapKill(t, proc.WrappedProcess, KillKILL)
	got, err = killGroupMembers(proc.PID())
	if err != nil || len(got.list) != 0 {
		t.Errorf("members after the teardown: %v, %v, want none", got.list, err)
	}
	if err := unix.Kill(-proc.PID(), 0); err != nil {
		t.Errorf("X2: the zombie no longer holds the group: %v", err)
	}
}

func TestKillDefaultLimits(t *testing.T) {
	run := newKillRun(&WrappedProcess{}, KillOptions{}, &Teardown{}, nil)
	want := KillOptions{HelperLimit: 5 * time.Second, Grace: 5 * time.Second, KillGrace: 5 * time.Second}
	if run.how != want {
		t.Errorf("limits %+v, want %+v (X4)", run.how, want)
	}
}

// TestKillSeesAProcessWhoseFirstThreadEnded plays the agent that ends its main
// thread to look like a zombie and works on in another.
func TestKillSeesAProcessWhoseFirstThreadEnded(t *testing.T) {
	w := wrapThrough("/usr/bin/env", "")
	proc := wrapSpawn(t, w, `exec "$@"`, wrapSelf(t), "-test.run=^TestWrapHelper$", wrapHelperMode+"threads")
	pid := proc.ready(t)
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	st, ok := killParseStat(text)
	if !ok || st.state != 'Z' {
		t.Fatalf("precondition: state %q is not that of a zombie", st.state)
	}
	got, err := killGroupMembers(proc.PID())
	if err != nil || len(got.list) != 1 {
		t.Errorf("members %v, %v, want the process that still runs", got.list, err)
	}
	if receipt, _ := wrapKill(t, proc.WrappedProcess, KillKILL); !receipt.Verified {
		t.Errorf("receipt %+v", receipt)
	}
}
