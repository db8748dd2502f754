package spawn

// badNr is a system call number that no kernel has; it answers ENOSYS.
const badNr = ^uintptr(0) >> 1

// into replaces the first call of the step by one that fails, in lists that are walked
// one after the other. A nil injection does nothing.
func (in *injection) into(lists ...*[]call) {
	if in == nil {
		return
	}
	if in.edit != nil {
		in.edit(lists)
		return
	}
	for _, calls := range lists {
		for i := range *calls {
			if (*calls)[i].step == in.step {
				(*calls)[i].fail()
				return
			}
		}
	}
}

func (c *call) fail() { c.nr, c.want = badNr, wantZero }

// injected is what fails: what a test asked for, or what a build for tests reads from the
// environment.
func (r *Request) injected() *injection {
	if r.inject != nil {
		return r.inject
	}
	return envInjection()
}

// Inject returns a copy of r in which the first call of step fails with ENOSYS; for
// tests of what a failed step leaves behind. A step that r does not have is not
// added.
func Inject(r Request, step Step) Request {
	r.inject = &injection{step: step}
	return r
}
