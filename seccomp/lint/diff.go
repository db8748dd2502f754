package lint

import (
	"brainbox/seccomp"
)

// unlisted stands for the numbers that no name has.
const unlisted = "unlisted numbers"

// difference compares the program with the default filter, for every number.
func (j *judge) difference() {
	if j.Default == nil {
		return
	}
	named := map[uint32]string{}
	for _, name := range seccomp.Names(j.Arch) {
		if nr, ok := seccomp.Number(j.Arch, name); ok {
			named[nr] = name
		}
	}
	other := false
	for nr := range uint32(numbers) {
		name, ok := named[nr]
		if !ok {
			if other {
				continue
			}
			name, other = unlisted, true
		}
		j.differ(nr, name)
	}
}

// differ compares one call.
func (j *judge) differ(nr uint32, name string) {
	var wider, narrower *seccomp.Data
	all := [2]bool{true, true} // every case is wider, or narrower
	try := func(d seccomp.Data) {
		mine, theirs := j.program.Eval(d).Runs(), j.Default.Eval(d).Runs()
		if mine && !theirs {
			if wider == nil {
				wider = &d
			}
		} else {
			all[0] = false
		}
		if theirs && !mine {
			if narrower == nil {
				narrower = &d
			}
		} else {
			all[1] = false
		}
	}
	if !seccomp.Cases(nr, j.audit, maxPairs, try, j.program, j.Default) {
		j.partial(name)
	}
	change := func(d *seccomp.Data, whole bool) Change {
		c := Change{Call: name, Some: !whole}
		if c.Some {
			c.Example = arguments(*d)
		}
		return c
	}
	if wider != nil {
		j.report.Wider = append(j.report.Wider, change(wider, all[0]))
	}
	if narrower != nil {
		j.report.Narrower = append(j.report.Narrower, change(narrower, all[1]))
	}
}
