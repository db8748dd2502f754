package spawn

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"brainbox/internal/mutation"
)

// writeMaps writes the id maps of pid. Who has no CAP_SETGID may map his group only when
// setgroups(2) is given up for good, which would otherwise drop a group that takes rights
// away (user_namespaces(7)).
func writeMaps(pid int, n *Namespaces, in *injection) error {
	own := func(m []IDMap, id int) string {
		if len(m) == 0 {
			m = []IDMap{{uint32(id), uint32(id), 1}}
		}
		var b strings.Builder
		for _, x := range m {
			fmt.Fprintf(&b, "%d %d %d\n", x.Inside, x.Outside, x.Count)
		}
		return b.String()
	}
	if mutation.On("share-user") {
		return nil
	}
	texts := [][2]string{{"uid_map", own(n.UIDMap, os.Geteuid())}, {"gid_map", own(n.GIDMap, os.Getegid())}}
	if !mayMapGroups() {
		texts = append([][2]string{{"setgroups", "deny"}}, texts...)
	}
	for _, t := range texts {
		if err := writeProc(pid, t[0], t[1], in); err != nil {
			return &Error{Step: StepMaps, Call: "write " + t[0], Errno: errnoOf(err)}
		}
	}
	return nil
}

// mayMapGroups reports whether the caller may map groups and leave setgroups(2) alone:
// CAP_SETGID, which root of a container may not have.
func mayMapGroups() bool {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return unix.Capget(&hdr, &data[0]) == nil && data[0].Effective&(1<<unix.CAP_SETGID) != 0
}

func writeProc(pid int, name, text string, in *injection) error {
	if in != nil && in.step == StepMaps {
		return unix.ENOSYS
	}
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/"+name, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte(text)) // one write(2), as the kernel wants it
	return err
}

// readProc reads a file of /proc of at most a page, by one read(2): what a file has there
// is made at the first.
func readProc(name string) (string, error) {
	fd, err := unix.Open("/proc/"+name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", &os.PathError{Op: "open", Path: "/proc/" + name, Err: err}
	}
	defer unix.Close(fd)
	var buf [4096]byte
	n, err := unix.Read(fd, buf[:])
	if err != nil {
		return "", &os.PathError{Op: "read", Path: "/proc/" + name, Err: err}
	}
	return string(buf[:n]), nil
}

// pidOf is the process number behind a pidfd in the caller's own namespace, from
// /proc/self/fdinfo (pidfd_open(2), Linux 5.2). The init reaps nobody before it has the next
// word, so there is one.
func pidOf(pidfd int) (int, error) {
	text, err := readProc("self/fdinfo/" + strconv.Itoa(pidfd))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "Pid:"); ok {
			if pid, err := strconv.Atoi(strings.TrimSpace(rest)); err == nil && pid > 0 {
				return pid, nil
			}
		}
	}
	return 0, unix.ESRCH
}
