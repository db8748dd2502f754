package explain

import (
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"brainbox/internal/notify"
	"brainbox/launcher"
	"brainbox/seccomp"
)

// Descriptors is an observer that sees whether a process that opens a file has all descriptors
// open that it may have (EMFILE, RLIMIT_NOFILE in getrlimit(2)), and passes on what it is told.
//
// # Limits
//
// It takes Linux 6.2, where the size of /proc/PID/fd is the number of descriptors. Sockets,
// pipes and copies that find no number are not seen: none of their calls is watched.
type Descriptors struct {
	next   launcher.Observer
	soft   uint64
	report *Report
	opens  map[int]bool
}

// NewDescriptors makes one for a plan; nil report: the observer is next alone.
func NewDescriptors(next launcher.Observer, p *launcher.Plan, r *Report) launcher.Observer {
	d := &Descriptors{next: next, report: r, opens: map[int]bool{}}
	for _, l := range p.Limits {
		if l.Resource == unix.RLIMIT_NOFILE {
			d.soft = l.Cur
		}
	}
	if d.soft == 0 {
		return next
	}
	for _, name := range []string{"open", "openat", "openat2", "creat"} {
		if nr, ok := seccomp.Number(runtime.GOARCH, name); ok {
			d.opens[int(nr)] = true
		}
	}
	return d
}

// See implements [launcher.Observer].
func (d *Descriptors) See(c *notify.Call) {
	d.next.See(c)
	if !d.opens[c.Nr] {
		return
	}
	var st unix.Stat_t
	if err := unix.Stat("/proc/"+strconv.Itoa(c.TID)+"/fd", &st); err != nil || uint64(st.Size) < d.soft {
		return
	}
	var is unix.Rlimit // the program may have raised its own
	if err := unix.Prlimit(c.TID, unix.RLIMIT_NOFILE, nil, &is); err != nil || uint64(st.Size) < is.Cur {
		return
	}
	program, pid := asker(c.TID)
	d.report.Reach(Limit{
		Name: "nofile", Certainty: Likely, Flag: "--nofile " + strconv.FormatUint(2*is.Cur, 10),
		Line: "[process]\nnofile = " + strconv.FormatUint(2*is.Cur, 10),
		Text: strconv.Quote(program) + " (" + strconv.Itoa(pid) + ") had all of its " + strconv.FormatUint(is.Cur, 10) + " descriptors open",
	})
}

// Refuse implements [launcher.Observer].
func (d *Descriptors) Refuse(c *notify.Call, e syscall.Errno) { d.next.Refuse(c, e) }
