package supervise

import "brainbox/internal/procfs"

// stat reads the parent and the state of p; -1 and 0: there is no such process.
func (p process) stat() (parent int, state byte) {
	s, ok := procfs.ReadStat(p.pid)
	if !ok {
		return -1, 0
	}
	return s.Parent, s.State
}
