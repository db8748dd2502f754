package launcher

import (
	"golang.org/x/sys/unix"

	"brainbox/internal/sys"
)

// sweep removes what runs left behind that were ended by SIGKILL: their lock is free. It
// is called while the program runs, so that no start waits for it.
//
// groups is where the runs' cgroups are, "" if they have none: what is left of a killed
// run's tree is ended there.
func sweep(dir, groups string) {
	base, err := openBase(dir)
	if err != nil {
		return
	}
	defer unix.Close(base)
	names, err := sys.Names(base, dir)
	if err != nil {
		return
	}
	for _, name := range names {
		fd, err := openFolder(base, name, name)
		if err != nil {
			continue
		}
		if stale(fd) && unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) == nil {
			removeTree(dir, name)
			if groups != "" {
				removeStaleGroup(groups + "/" + groupPrefix + name)
			}
		}
		unix.Close(fd)
	}
}

// staleAfter is how old an unlocked run must be, in seconds: a run that is being made
// has no lock for a moment.
const staleAfter = 60

func stale(fd int) bool {
	var st unix.Stat_t
	var now unix.Timespec
	return unix.Fstat(fd, &st) == nil && unix.ClockGettime(unix.CLOCK_REALTIME, &now) == nil &&
		now.Sec-st.Mtim.Sec > staleAfter
}
