package userdb

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
)

func testDB() DB {
	return DB{
		Passwd: "root:x:0:0:root:/root:/bin/sh\nhost:x:10001:20001::/:/bin/sh\nagent:x:10002:20002::/:/bin/sh\n" +
			"short:x:7:7\nagent:x:0:0:second line:/:/bin/sh\nbad:x:-1:5::/:/bin/sh\nmax:x:4294967295:5::/:/bin/sh\n" +
			"zero:x:007:5::/:/bin/sh\nwide:x:4294967298:5::/:/bin/sh\nnogid:x:12:::/:/bin/sh",
		Group: "root:x:0:\nagents:x:20002:host\nshort:x:1\n",
	}
}

func TestUser(t *testing.T) {
	tests := []struct {
		name     string
		uid, gid uint32
		err      bool
	}{
		{"", NoID, NoID, true},
		{"nobody-here", NoID, NoID, true},
		{"hos", NoID, NoID, true},
		{"host:x", NoID, NoID, true},
		{"host\n", NoID, NoID, true},
		{" host", NoID, NoID, true},
		{"short", NoID, NoID, true},
		{"bad", NoID, NoID, true},
		{"max", NoID, NoID, true},
		{"zero", NoID, NoID, true},
		{"wide", NoID, NoID, true},
		{"nogid", NoID, NoID, true},
		{"4294967295", NoID, NoID, true},
		{"4294967296", NoID, NoID, true},
		{"010001", NoID, NoID, true},
		{"+1", NoID, NoID, true},
		{"root", 0, 0, false},
		{"host", 10001, 20001, false},
		{"agent", 10002, 20002, false},
		{"10001", 10001, 20001, false},
		{"555", 555, NoID, false},
	}
	for _, tt := range tests {
		uid, gid, err := testDB().User(tt.name)
		if uid != tt.uid || gid != tt.gid || (err != nil) != tt.err {
			t.Errorf("User(%q) = %d, %d, %v, want %d, %d, error %t", tt.name, uid, gid, err, tt.uid, tt.gid, tt.err)
		}
	}
	if _, _, err := testDB().User("nobody-here"); !errors.Is(err, ErrUnknown) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("unknown user = %v, want ErrUnknown and fs.ErrNotExist", err)
	}
}

// TestTwoLookupsStayApart is H1 of contract brainkit §1.6: the second lookup
// must not change what the first one returned.
func TestTwoLookupsStayApart(t *testing.T) {
	db := testDB()
	host, _, err := db.User("host")
	if err != nil {
		t.Fatal(err)
	}
	agent, _, err := db.User("agent")
	if err != nil {
		t.Fatal(err)
	}
	if host != 10001 || agent != 10002 {
		t.Errorf("host and agent = %d, %d, want 10001, 10002", host, agent)
	}
}

func TestGID(t *testing.T) {
	tests := []struct {
		name string
		gid  uint32
		err  bool
	}{
		{"none", NoID, true},
		{"short", NoID, true},
		{"4294967295", NoID, true},
		{"agents", 20002, false},
		{"root", 0, false},
		{"31", 31, false},
	}
	for _, tt := range tests {
		if gid, err := testDB().GID(tt.name); gid != tt.gid || (err != nil) != tt.err {
			t.Errorf("GID(%q) = %d, %v, want %d, error %t", tt.name, gid, err, tt.gid, tt.err)
		}
	}
}

func FuzzUser(f *testing.F) {
	f.Add(testDB().Passwd, "agent")
	f.Add("a:x:1:2:::\n", "a")
	f.Add("a:x", "1")
	f.Fuzz(func(t *testing.T, text, name string) {
		uid, _, err := DB{Passwd: text}.User(name)
		if err != nil && uid != NoID || err == nil && uid == NoID {
			t.Errorf("User(%q) = %d, %v", name, uid, err)
		}
		if err == nil && !isNumber(name) && !strings.Contains("\n"+text, "\n"+name+":") {
			t.Errorf("User(%q) = %d, but no line has that name", name, uid)
		}
	})
}
