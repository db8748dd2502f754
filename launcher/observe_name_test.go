package launcher

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// What is beyond the descriptors of the process is not taken for absent, and some are left
// for the start.
func TestNamesBeyondTheDescriptors(t *testing.T) {
	dir := checkout(t, "f: x")
	if n := lookAt(dir + "/f"); n.Err != nil { // positive control
		t.Fatal(n.Err)
	} else {
		n.close()
	}
	var lim unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
		t.Fatal(err)
	}
	if spare(int(lim.Cur)-1) || spare(int(lim.Cur)-spareDescriptors) || !spare(int(lim.Cur)-spareDescriptors-1) {
		t.Errorf("of %d descriptors", lim.Cur)
	}
	var list []NameFact
	for len(list) <= int(lim.Cur) && len(list) < 1<<16 {
		n := lookAt(dir + "/f")
		list = append(list, n)
		if n.Err != nil {
			break
		}
	}
	last := list[len(list)-1]
	for i := range list {
		list[i].close()
	}
	if lim.Cur <= 1<<16 && (!errors.Is(last.Err, unix.EMFILE) || last.Kind == NameAbsent) {
		t.Errorf("the last of %d: %v, %v", len(list), last.Kind, last.Err)
	}
}
