package main

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"brainbox/internal/spawn"
)

// passed reads the --pass-fd flags. Only what cannot be widened inside is taken:
// regular files opened one way, pipes, and connected sockets. A folder, a device or a
// listening socket would be a grant that no clause knows of.
func passed(flags []string) ([]spawn.Pass, error) {
	var list []spawn.Pass
	for _, f := range flags {
		num, write := strings.CutSuffix(f, ":w")
		fd, err := strconv.Atoi(num)
		if err != nil || fd < 3 || fd > 255 || strconv.Itoa(fd) != num {
			return nil, refuse("--pass-fd "+quote(f)+" is no descriptor from 3 to 255", "--pass-fd 3, or --pass-fd 3:w for writing")
		}
		if why := unpassable(fd, write); why != "" {
			return nil, refuse("--pass-fd "+f+": "+why,
				"regular files opened read-only (write-only with :w), pipes and connected sockets can be passed")
		}
		list = append(list, spawn.Pass{From: fd, To: fd})
	}
	return list, nil
}

// inherited reports whether a descriptor came from the caller: what this process opened
// itself is close-on-exec, and what survived execve(2) is not. The runtime and the held
// paths of the plan have numbers too.
func inherited(fd int) bool {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	return err == nil && flags&unix.FD_CLOEXEC == 0
}

// unpassable says why a descriptor cannot be passed, "" if it can.
func unpassable(fd int, write bool) string {
	var st unix.Stat_t
	if !inherited(fd) || unix.Fstat(fd, &st) != nil {
		return "it is not open, or it is brainbox's own"
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_PATH != 0 {
		return "it cannot be read or written"
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		mode := flags & unix.O_ACCMODE
		if write && mode != unix.O_WRONLY || !write && mode != unix.O_RDONLY {
			return "the file is not opened " + map[bool]string{true: "write-only", false: "read-only"}[write]
		}
	case unix.S_IFIFO:
	case unix.S_IFSOCK:
		if _, err := unix.Getpeername(fd); err != nil {
			return "the socket is not connected"
		}
		// A datagram socket, connected or not, sends to any address that sendto(2) names.
		if kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE); err != nil || kind != unix.SOCK_STREAM && kind != unix.SOCK_SEQPACKET {
			return "the socket is no stream and no seqpacket socket"
		}
	default:
		return "it is a folder or a device"
	}
	return ""
}
