package launcher

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMountPoints(t *testing.T) {
	const text = "21 26 0:20 / /proc rw,relatime - proc proc rw\n" +
		"22 26 8:1 /x /mnt/with\\040blank\\134 rw - ext4 /dev/sda1 rw\n" +
		"short line\n\n"
	want := []string{"/proc", "/mnt/with blank\\"}
	if diff := cmp.Diff(want, mountPoints(text)); diff != "" {
		t.Errorf("mountPoints (-want +got):\n%s", diff)
	}
}
