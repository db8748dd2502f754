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

// A folder has a name by each mount that shows it, esc/IP-14.
func TestOtherNames(t *testing.T) {
	const text = `20 1 8:1 / / rw - ext4 /dev/a rw
21 20 0:5 / /run rw - tmpfs t rw
22 20 0:5 /user/1 /srv/one\040a rw - tmpfs t rw
23 20 8:1 /data /alias rw - ext4 /dev/a rw
24 20 0:5 /user/10 /not rw - tmpfs t rw
25 22 8:1 / /srv/one\040a/all rw - ext4 /dev/a rw
`
	for folder, want := range map[string][]string{
		"/run/user/1/x": {"/srv/one a/x"},
		"/run/user/1":   {"/srv/one a"},
		"/run/user":     nil,
		"/data/x":       {"/alias/x", "/srv/one a/all/data/x"},
		"/alias":        {"/data", "/srv/one a/all/data"},
		"/":             {"/srv/one a/all"},
	} {
		if diff := cmp.Diff(want, otherNames(text, folder)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", folder, diff)
		}
	}
}
