package spawn

import (
	"os"

	"golang.org/x/sys/unix"
)

// mover gives descriptors numbers above every number that the program will use, so
// that the child can put them in place in any order without losing one.
type mover struct {
	above int
	moved map[int]int
}

// highest is the largest descriptor number that the program will have.
func (r *Request) highest() int {
	top := 2
	for _, p := range r.Pass {
		top = max(top, p.To)
	}
	return top
}

// move returns fd if its number is out of the way, else a close-on-exec duplicate.
func (m *mover) move(fd int) (int, error) {
	if fd > m.above {
		return fd, nil
	}
	if to, ok := m.moved[fd]; ok {
		return to, nil
	}
	to, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, m.above+1)
	if err != nil {
		return -1, os.NewSyscallError("fcntl", err)
	}
	if m.moved == nil {
		m.moved = make(map[int]int)
	}
	m.moved[fd] = to
	return to, nil
}

// moveAll moves everything that r needs until execve. A standard descriptor that is
// already in its place stays there.
func (m *mover) moveAll(r *Request) error {
	need := []int{}
	for to, from := range r.Stdio {
		if to != from {
			need = append(need, from)
		}
	}
	for _, p := range r.Pass {
		need = append(need, p.From)
	}
	if r.Ruleset > 0 {
		need = append(need, r.Ruleset)
	}
	if r.Dir > 0 && r.Namespaces == nil {
		need = append(need, r.Dir)
	}
	for _, fd := range need {
		if _, err := m.move(fd); err != nil {
			return err
		}
	}
	return nil
}

// to is where fd is while the list runs.
func (m *mover) to(fd int) int {
	if to, ok := m.moved[fd]; ok {
		return to
	}
	return fd
}

func (m *mover) close() {
	for _, fd := range m.moved {
		unix.Close(fd)
	}
	m.moved = nil
}
