package dirchain

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// Entries of an access list (acl(5), linux/posix_acl_xattr.h).
const (
	aclUserObj, aclUser, aclGroupObj, aclGroup, aclMask, aclOther = 1, 2, 4, 8, 16, 32

	somebody = 61_001
)

type aclEntry struct {
	tag, perm uint16
	id        uint32
}

func setACL(t *testing.T, path, name string, entries ...aclEntry) {
	t.Helper()
	b := binary.LittleEndian.AppendUint32(nil, 2) // the version
	for _, e := range entries {
		b = binary.LittleEndian.AppendUint16(b, e.tag)
		b = binary.LittleEndian.AppendUint16(b, e.perm)
		b = binary.LittleEndian.AppendUint32(b, e.id)
	}
	if err := unix.Setxattr(path, name, b, 0); err != nil {
		t.Fatal(err)
	}
}

const noID = 1<<32 - 1

// shared lets somebody else do perm, also.
func shared(owner, perm, mask, other uint16) []aclEntry {
	return []aclEntry{
		{aclUserObj, owner, noID},
		{aclUser, perm, somebody},
		{aclGroupObj, 4, noID},
		{aclMask, mask, noID},
		{aclOther, other, noID},
	}
}

// rights are what each subject may do with a file, by its mode and access list.
func rights(t *testing.T, path string) map[string]uint16 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		t.Fatal(err)
	}
	owner := map[uint16]string{
		aclUserObj: "user " + strconv.Itoa(int(st.Uid)), aclGroupObj: "group " + strconv.Itoa(int(st.Gid)),
		aclOther: "others",
	}
	all := map[string]uint16{}
	buf := make([]byte, 1024)
	n, err := unix.Lgetxattr(path, aclName, buf)
	if err != nil && !errors.Is(err, unix.ENODATA) {
		t.Fatal(err)
	}
	if err != nil {
		all[owner[aclUserObj]] = uint16(st.Mode >> 6 & 7)
		all[owner[aclGroupObj]] = uint16(st.Mode >> 3 & 7)
		all["others"] = uint16(st.Mode & 7)
		return all
	}
	mask := uint16(st.Mode >> 3 & 7)
	for b := buf[4:n]; len(b) >= 8; b = b[8:] {
		tag, perm := binary.LittleEndian.Uint16(b), binary.LittleEndian.Uint16(b[2:])
		id := strconv.Itoa(int(binary.LittleEndian.Uint32(b[4:])))
		switch tag {
		case aclUserObj, aclOther:
			all[owner[tag]] = perm
		case aclGroupObj:
			all[owner[tag]] = perm & mask
		case aclUser:
			all["user "+id] = perm & mask
		case aclGroup:
			all["group "+id] = perm & mask
		}
	}
	return all
}

// The new file is at no moment open to more than the one that it replaces, and has
// the same rights in the end; whatever the umask and the directory give to new ones.
func TestRightsAreTakenOver(t *testing.T) {
	for name, c := range map[string]struct {
		umask   int
		mode    uint32
		list    []aclEntry // of the file
		given   []aclEntry // by the directory, to new files
		foreign bool       // the file is somebody else's
	}{
		"bk/FB17 0600 with umask 022":          {umask: 0o022, mode: 0o600},
		"bk/FB17 0600 with umask 0":            {umask: 0, mode: 0o600},
		"0640 with umask 077":                  {umask: 0o077, mode: 0o640},
		"0666 with umask 077":                  {umask: 0o077, mode: 0o666},
		"0400 with umask 022":                  {umask: 0o022, mode: 0o400},
		"0755 with umask 027":                  {umask: 0o027, mode: 0o755},
		"an access list":                       {umask: 0o022, mode: 0o640, list: shared(6, 6, 6, 0)},
		"a list that the mask narrows":         {umask: 0o022, mode: 0o640, list: shared(6, 7, 4, 0)},
		"bk/FB17 none, where one is given":     {umask: 0o022, mode: 0o600, given: shared(7, 7, 7, 5)},
		"not the directory's":                  {umask: 0, mode: 0o640, list: shared(6, 4, 4, 0), given: shared(7, 7, 7, 5)},
		"a list that gives nothing":            {umask: 0, mode: 0o600, list: shared(6, 0, 0, 0), given: shared(7, 7, 7, 7)},
		"bk/FB17 the file of somebody else":    {umask: 0o022, mode: 0o600, foreign: true},
		"somebody else's, where more is given": {umask: 0, mode: 0o640, foreign: true, given: shared(7, 7, 7, 5)},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, opts Options) {
				dir := t.TempDir()
				file := dir + "/f"
				putText(t, file, "old")
				if c.foreign {
					needs.Root(t)
					if err := os.Lchown(file, somebody, somebody); err != nil {
						t.Fatal(err)
					}
				}
				if err := unix.Chmod(file, c.mode); err != nil {
					t.Fatal(err)
				}
				if c.list != nil {
					setACL(t, file, aclName, c.list...)
				}
				if c.given != nil {
					setACL(t, dir, "system.posix_acl_default", c.given...)
				}
				testRights(t, dir, opts, c.umask)
			})
		})
	}
}

func testRights(t *testing.T, dir string, opts Options, umask int) {
	t.Helper()
	before := rights(t, dir+"/f")
	r := open(t, dir, opts)
	looks := 0
	r.hook = func(call string) error {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if !isTemp(e.Name()) {
				continue
			}
			looks++
			for who, may := range rights(t, filepath.Join(dir, e.Name())) {
				if me := "user " + strconv.Itoa(os.Geteuid()); may&^before[who] != 0 && who != me {
					t.Errorf("at %s %s may do %d, before %d", call, who, may, before[who])
				}
			}
		}
		return nil
	}
	defer unix.Umask(unix.Umask(umask))
	if _, err := r.Write(t.Context(), "f", WriteRequest{Mode: Replace, Content: text("new")}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, rights(t, dir+"/f")); diff != "" || looks < 5 {
		t.Errorf("after %d looks, -before +after:\n%s", looks, diff)
	}
	if got := names(t, dir); got != "f" {
		t.Errorf("left: %s", got)
	}
}

// A new file has what was asked for, less the umask, and never more than 0755.
func TestRightsOfANewFile(t *testing.T) {
	for _, c := range []struct {
		umask      int
		perm, want uint32
	}{
		{0o022, 0, 0o644},
		{0, 0, 0o644},
		{0o077, 0, 0o600},
		{0, 0o777, 0o755},
		{0o027, 0o777, 0o750},
		{0, 0o600, 0o600},
		{0o022, 0o755, 0o755},
		{0, 0o022, 0},
	} {
		dir := t.TempDir()
		r := open(t, dir, Options{SkipSync: true})
		old := unix.Umask(c.umask)
		_, err := r.Write(t.Context(), "f", WriteRequest{Content: text("x"), Perm: c.perm})
		unix.Umask(old)
		st, serr := os.Lstat(dir + "/f")
		if err != nil || serr != nil || st.Mode() != os.FileMode(c.want) {
			t.Errorf("%+v: %v, %v, %v", c, st.Mode(), err, serr)
		}
	}
}
