package setuid

import (
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// TestBeginKeepsTheCallersLimits in a process of its own.
func TestBeginKeepsTheCallersLimits(t *testing.T) {
	if !needs.InChild(t) {
		return
	}
	want := unix.Rlimit{Cur: 1 << 20, Max: 1 << 30}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &want); err != nil {
		t.Fatal(err)
	}
	unix.Umask(0)
	list := Begin()
	var got Limit
	for _, l := range list {
		if l.Resource == unix.RLIMIT_FSIZE {
			got = l
		}
	}
	if got.Cur != want.Cur || got.Max != want.Max || len(list) != len(ours)+1 {
		t.Errorf("Begin() = %+v, want %+v among %d", got, want, len(ours)+1)
	}
	var now unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &now); err != nil || now.Cur < want.Max {
		t.Errorf("RLIMIT_FSIZE is %+v, %v, want it raised", now, err)
	}
	if n, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || n != 0 || unix.Umask(0o22) != 0o22 {
		t.Errorf("dumpable %d, %v, or another umask than 022", n, err)
	}
}

// TestRoom in a process of its own.
func TestRoom(t *testing.T) {
	if !needs.InChild(t) {
		return
	}
	for _, files := range []uint64{minFiles, minFiles - 1} {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: files, Max: minFiles}); err != nil {
			t.Fatal(err)
		}
		if err := Room(); (err == nil) != (files == minFiles) {
			t.Errorf("with %d files: %v", files, err)
		}
	}
}

// TestBeginRaises in a process of its own: with CAP_SYS_RESOURCE every limit is enough for our
// own work, however tight it was, and what is returned is what it was.
func TestBeginRaises(t *testing.T) {
	needs.SysResource(t)
	if !needs.InChild(t) {
		return
	}
	tight := map[int]unix.Rlimit{unix.RLIMIT_CORE: {}}
	for i, r := range ours {
		tight[r.resource] = unix.Rlimit{Cur: uint64(i), Max: uint64(i) + 7}
	}
	delete(tight, unix.RLIMIT_NOFILE) // what the process was started with is returned: package nofile
	// The runtime could need memory until they are raised.
	tight[unix.RLIMIT_AS], tight[unix.RLIMIT_DATA] = unix.Rlimit{Cur: 4 << 30, Max: 4 << 30}, unix.Rlimit{Cur: 4 << 30, Max: 4 << 30}
	tight[unix.RLIMIT_STACK] = unix.Rlimit{Cur: 256 << 10, Max: 256 << 10}
	for resource, l := range tight {
		if err := unix.Setrlimit(resource, &l); err != nil {
			t.Fatal(err)
		}
	}
	list := Begin()
	for _, l := range list {
		if was, ok := tight[l.Resource]; ok && l.Resource != unix.RLIMIT_CORE && (l.Cur != was.Cur || l.Max != was.Max) {
			t.Errorf("resource %d: %+v is returned, it was %+v", l.Resource, l, was)
		}
	}
	var now unix.Rlimit
	for _, r := range ours {
		if err := unix.Getrlimit(r.resource, &now); err != nil || now.Cur < r.wanted || now.Max < r.wanted {
			t.Errorf("resource %d is %+v, %v; want %d", r.resource, now, err, r.wanted)
		}
	}
	// As little as the plan needs, and no file: core(5).
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &now); err != nil || now != (unix.Rlimit{Cur: 0, Max: 1}) {
		t.Errorf("RLIMIT_CORE is %+v, %v; want 0 and 1", now, err)
	}
}
