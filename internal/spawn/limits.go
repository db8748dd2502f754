package spawn

import "golang.org/x/sys/unix"

func (j *job) setLimits(list []Limit) {
	limits := make([]unix.Rlimit, len(list))
	j.limits = append(j.limits, limits) // keeps it
	for i, l := range list {
		limits[i] = unix.Rlimit{Cur: l.Cur, Max: l.Max}
		j.add(StepLimits, "prlimit64", unix.SYS_PRLIMIT64, 0, uintptr(l.Resource), addr(&limits[i]), 0)
	}
}

// limits are those of r for the number of descriptors, or the others.
func (r *Request) limits(descriptors bool) []Limit {
	var list []Limit
	for _, l := range r.Limits {
		if (l.Resource == unix.RLIMIT_NOFILE) == descriptors {
			list = append(list, l)
		}
	}
	return list
}
