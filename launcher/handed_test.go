package launcher

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// esc/MD-07: what can be changed by a descriptor alone is declared, whose it is and
// whatever it was opened for.
func TestHandedIsDeclared(t *testing.T) {
	const all, some = "group and extended attributes", "its times and extended attributes"
	f := &Facts{Place: &Place{EUID: 1000}}
	for _, c := range []struct {
		name string
		h    HandedFact
		want string // "" for nothing
	}{
		{"nothing", HandedFact{}, ""},
		{"own file", HandedFact{Mode: unix.S_IFREG | 0o400, UID: 1000}, "a file of the program's own user"},
		{"own named pipe", HandedFact{Mode: unix.S_IFIFO | 0o400, UID: 1000}, all},
		{"own pipe", HandedFact{Mode: unix.S_IFIFO | 0o600, UID: 1000, Pipe: true}, ""},
		{"other's file", HandedFact{Mode: unix.S_IFREG | 0o644}, ""},
		{"other's file for everybody", HandedFact{Mode: unix.S_IFREG | 0o666}, some},
		{"other's file for a group", HandedFact{Mode: unix.S_IFREG | 0o664}, some},
		{"other's device for everybody", HandedFact{Mode: unix.S_IFCHR | 0o666}, "a device that not only its owner may write"},
		{"own socket", HandedFact{Mode: unix.S_IFSOCK | 0o777, UID: 1000}, ""},
	} {
		cl := Clause{Name: "metadata", State: StateEnforced}
		cl.handed("standard input", f, &c.h)
		got := ""
		if len(cl.Entries) > 0 {
			got = cl.Entries[0].Note
		}
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) || (cl.State == StateOpen) != (c.want != "") {
			t.Errorf("%s: %q, %v; want %q", c.name, got, cl.State, c.want)
		}
	}
}

// A pipe has no name that anybody could find it by; a FIFO has.
func TestHandedTellsPipes(t *testing.T) {
	name := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	fifo, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer fifo.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if h := handed(int(fifo.Fd())); h.Pipe {
		t.Errorf("a FIFO: %+v", h)
	}
	if h := handed(int(r.Fd())); !h.Pipe {
		t.Errorf("a pipe: %+v", h)
	}
}
