package spawn

import (
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// giveUp leaves what only the making of the file system needed. What the command's list
// needs is kept until then: to change its ids.
func (s *setup) giveUp() {
	s.close(StepRoot, &s.init.root)
	j := s.before
	s.add(StepBounding, "prctl", unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, 0).upTo(1).orErrno(unix.EINVAL)
	j.capHdr = unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	ids := uint32(1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID)
	j.capData[0] = unix.CapUserData{Effective: ids, Permitted: ids}
	s.add(StepInit, "capset", unix.SYS_CAPSET, addr(&j.capHdr), addr(&j.capData[0]))
	s.add(StepInit, "prctl", unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1)
}

// share has the command use the init's table of descriptors, if there is a listener to be left
// in it. The numbers that the command uses are taken until then: the kernel puts the
// command's pidfd, which is the init's, on the lowest free one.
func (s *setup) share(r *Request, need []int, sock int) {
	if !r.Listener {
		return
	}
	s.init.sharing = unix.CLONE_FILES
	taken := []int{0, 1, 2}
	for _, p := range r.Pass {
		taken = append(taken, p.To)
	}
	for _, fd := range taken {
		if !slices.Contains(need, fd) {
			s.add(StepDescriptors, "dup3", unix.SYS_DUP3, uintptr(sock), uintptr(fd), unix.O_CLOEXEC)
		}
	}
}

// finish is what the init does between execve and the first wait. The descriptor of the
// command gets the number pidfd and its listener, if it has one, the next, so that all others
// can be closed.
func (s *setup) finish(pidfd, sock int, listener bool) {
	j, i := s.after, s.init
	j.capHdr = unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	j.add(StepReaper, "capset", unix.SYS_CAPSET, addr(&j.capHdr), addr(&j.capData[0]))
	j.add(StepReaper, "chdir", unix.SYS_CHDIR, j.text("/"))
	j.add(StepReaper, "dup3", unix.SYS_DUP3, addr(&i.pidfd), uintptr(pidfd), unix.O_CLOEXEC).cells(0)
	keep := []int{pidfd, sock}
	if listener {
		keep = append(keep, pidfd+1)
		j.add(StepReaper, "dup3", unix.SYS_DUP3, addr(&s.command.listener), uintptr(pidfd+1), unix.O_CLOEXEC).cells(0)
	}
	for _, g := range gaps(keep) {
		j.add(StepReaper, "close_range", unix.SYS_CLOSE_RANGE, g[0], g[1], 0)
	}
	i.rights = rights{
		size: uint64(unsafe.Offsetof(rights{}.fds)) + 4, level: unix.SOL_SOCKET, kind: unix.SCM_RIGHTS,
		fds: [2]int32{int32(pidfd), int32(pidfd + 1)},
	}
	if listener {
		i.rights.size += 4
	}
	i.iov = unix.Iovec{Base: (*byte)(unsafe.Pointer(&i.out)), Len: uint64(unsafe.Sizeof(i.out))}
	i.msg = unix.Msghdr{
		Iov: &i.iov, Iovlen: 1,
		Control: (*byte)(unsafe.Pointer(&i.rights)), Controllen: uint64(unsafe.Sizeof(i.rights)),
	}
	j.add(StepReaper, "sendmsg", unix.SYS_SENDMSG, uintptr(sock), addr(&i.msg), 0).orValue(unsafe.Sizeof(i.out))
	j.add(StepReaper, "close", unix.SYS_CLOSE, uintptr(pidfd))
	if listener {
		j.add(StepReaper, "close", unix.SYS_CLOSE, uintptr(pidfd+1))
	}
	// The caller knows the process by now, so its number may be given away.
	j.add(StepReaper, "read", unix.SYS_READ, uintptr(sock), addr(&i.word), 1).orValue(1)
}
