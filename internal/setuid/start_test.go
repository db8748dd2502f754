package setuid

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
	"brainbox/internal/userdb"
)

const allCaps = ^uint64(0)

// ids is a start with these user ids and group 5.
func ids(r, e, s uint32) Start {
	return Start{RUID: r, EUID: e, SUID: s, RGID: 5, EGID: 5, SGID: 5, Mode: 0o100755}
}

func (s Start) with(change func(*Start)) Start {
	change(&s)
	return s
}

func TestJudgeRefuses(t *testing.T) {
	good := ids(7, 0, 0).with(func(s *Start) { s.Secure, s.Permitted, s.Mode = true, allCaps, 0o104750 })
	for _, tt := range []struct {
		name  string
		start Start
		want  string
	}{
		{"set-gid", ids(7, 7, 7).with(func(s *Start) { s.EGID, s.SGID, s.Secure = 6, 6, true }), "set-gid"},
		{"a saved group", ids(7, 7, 7).with(func(s *Start) { s.SGID = 0 }), "set-gid"},
		{"set-gid without effect", ids(7, 7, 7).with(func(s *Start) { s.Mode |= unix.S_ISGID }), "set-gid"},
		{"set-uid and set-gid", good.with(func(s *Start) { s.EGID = 6 }), "set-gid"},
		{"file capabilities", ids(7, 7, 7).with(func(s *Start) { s.Secure = true }), "file capabilities"},
		{"set-uid and file capabilities", good.with(func(s *Start) { s.FileCaps = true }), "file capabilities"},
		{"another owner", ids(7, 8, 8).with(func(s *Start) { s.Secure, s.Permitted = true, allCaps }), "another owner"},
		{"another owner, called by root", ids(0, 8, 8).with(func(s *Start) { s.Secure = true }), "another owner"},
		{"another saved id", good.with(func(s *Start) { s.SUID = 7 }), "another owner"},
		{"no_new_privs", ids(7, 7, 7).with(func(s *Start) { s.Mode = 0o104750 }), "gave no privilege"},
		{"a tracer", ids(7, 7, 7).with(func(s *Start) { s.Mode, s.Secure = 0o104750, true }), "gave no privilege"},
		{"no capability", good.with(func(s *Start) { s.Permitted = 0 }), "CAP_SETUID"},
		{"no CAP_SETPCAP", good.with(func(s *Start) { s.Permitted &^= 1 << unix.CAP_SETPCAP }), "CAP_SETPCAP"},
		{"root with file capabilities", ids(0, 0, 0).with(func(s *Start) { s.Secure = true }), "file capabilities"},
	} {
		raised, err := tt.start.Judge()
		if raised || err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: Judge() = %v, %v, want a refusal with %q", tt.name, raised, err, tt.want)
		}
	}
	if raised, err := good.Judge(); !raised || err != nil {
		t.Errorf("Judge() = %v, %v, want a raised start", raised, err)
	}
	for name, s := range map[string]Start{
		"a user": ids(7, 7, 7), "root": ids(0, 0, 0), "root and the bit": ids(0, 0, 0).with(func(s *Start) { s.Mode = 0o104750 }), "zero": {},
	} {
		if raised, err := s.Judge(); raised || err != nil {
			t.Errorf("%s: Judge() = %v, %v, want an ordinary start", name, raised, err)
		}
	}
}

// TestLookIsOrdinary: this very process was not raised.
func TestLookIsOrdinary(t *testing.T) {
	s := Look()
	if raised, err := s.Judge(); raised || err != nil || s.Mode&unix.S_IFMT != unix.S_IFREG || int(s.RUID) != os.Getuid() {
		t.Errorf("Look() = %+v, judged %v, %v", s, raised, err)
	}
}

func TestDecide(t *testing.T) {
	db := userdb.DB{
		Passwd: "root:x:0:0::/:/bin/sh\nbrain:x:1:1::/:/bin/sh\nagent:x:2:2::/:/bin/sh\ntwin:x:2:3::/:/bin/sh\n",
		Group:  "root:x:0:\nshared:x:9:\n",
	}
	for _, tt := range []struct {
		name   string
		caller uint32
		cfg    Config
		want   string
	}{
		{"nobody at all", 1, Config{}, "identity user"},
		{"not listed", 1, Config{User: "agent"}, "uid 1 is not among"},
		{"the agent", 2, Config{User: "agent", Callers: []string{"brain"}}, "uid 2 is not among"},
		{"a second name of the agent", 1, Config{User: "agent", Callers: []string{"brain", "twin"}}, "identity itself"},
		{"of a directory", 1, Config{User: "ldap", Callers: []string{"brain"}}, "no such name"},
		{"a caller of a directory", 1, Config{User: "agent", Callers: []string{"brain", "ldap"}}, "caller"},
		{"root", 0, Config{User: "root"}, "is root"},
		{"group root", 0, Config{User: "agent", Group: "root"}, "group root"},
		{"groups with root", 0, Config{User: "agent", Groups: []string{"shared", "0"}}, "group root"},
		{"an unknown group", 0, Config{User: "agent", Groups: []string{"ldap"}}, "identity group"},
		{"a number without a group", 0, Config{User: "777"}, "no group"},
	} {
		if to, err := Decide(tt.caller, tt.cfg, db); err == nil || !strings.Contains(err.Error(), tt.want) || to.UID != 0 {
			t.Errorf("%s: Decide = %+v, %v, want a refusal with %q", tt.name, to, err, tt.want)
		}
	}
	var r *Refusal
	if _, err := Decide(1, Config{User: "ldap"}, db); !errors.As(err, &r) || !strings.Contains(r.Hint, "numeric id") || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a user of a directory: %v, want the hint to use the number", err)
	}
	got, err := Decide(1, Config{User: "agent", Groups: []string{"shared"}, Callers: []string{"brain"}}, db)
	if diff := cmp.Diff(Target{UID: 2, GID: 2, Groups: []uint32{9}}, got); err != nil || diff != "" {
		t.Errorf("Decide = %v (-want +got):\n%s", err, diff)
	}
	if got, err := Decide(1, Config{User: "777", Group: "8", Callers: []string{"1"}}, db); err != nil || got.UID != 777 || got.GID != 8 {
		t.Errorf("by number: %+v, %v", got, err)
	}
}

// FuzzDecide: whatever the accounts and the policy say, nobody becomes root, and nobody but
// root or a caller may call.
func FuzzDecide(f *testing.F) {
	f.Add(uint32(1), "agent", "", "brain", "brain:x:1:1:::\nagent:x:2:2:::\n", "g:x:3:\n")
	f.Add(uint32(0), "0", "0", "", "", "")
	f.Fuzz(func(t *testing.T, caller uint32, user, group, other, passwd, groups string) {
		db := userdb.DB{Passwd: passwd, Group: groups}
		to, err := Decide(caller, Config{User: user, Group: group, Callers: []string{other}}, db)
		if err != nil {
			return
		}
		uid, _, _ := db.User(other)
		if to.UID == 0 || to.GID == 0 || to.UID == userdb.NoID || to.GID == userdb.NoID || uid == to.UID || caller != 0 && caller != uid {
			t.Errorf("Decide(%d, %q, %q, %q) = %+v", caller, user, group, other, to)
		}
	})
}

// TestDropByAnOrdinaryUser: what cannot be dropped is an error, not a start with less.
func TestDropByAnOrdinaryUser(t *testing.T) {
	if err := Drop(Target{}); err == nil {
		t.Error("Drop to root: no error")
	}
	needs.User(t)
	if err := Drop(Target{UID: 12345, GID: 12345}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("Drop = %v, want EPERM", err)
	}
	if err := Dropped(Target{UID: 12345, GID: 12345}); err == nil {
		t.Error("Dropped: no error for who is another")
	}
}
