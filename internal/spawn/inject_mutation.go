//go:build brainbox_mutation

package spawn

import (
	"slices"

	"golang.org/x/sys/unix"

	"brainbox/internal/mutation"
)

// envInjection leaves out what a build for tests is told to leave out.
func envInjection() *injection {
	var drop []func(*call) bool
	named := func(name string, which func(*call) bool) {
		if mutation.On(name) {
			drop = append(drop, which)
		}
	}
	named("keep-fds", func(c *call) bool { return c.nr == unix.SYS_CLOSE_RANGE })
	named("keep-caps", func(c *call) bool {
		return c.nr == unix.SYS_CAPSET || c.step == StepBounding
	})
	named("keep-privs", func(c *call) bool { return c.step == StepNoNewPrivs || isNoNewPrivs(c) })
	named("keep-session", func(c *call) bool { return c.step == StepSession })
	named("nested", func(c *call) bool { return c.step == StepNested })
	named("share-user", func(c *call) bool { return c.step == StepNested })
	if len(drop) == 0 {
		return nil
	}
	return &injection{edit: func(lists []*[]call) {
		for _, list := range lists {
			*list = slices.DeleteFunc(*list, func(c call) bool {
				return slices.ContainsFunc(drop, func(which func(*call) bool) bool { return which(&c) })
			})
		}
	}}
}

func isNoNewPrivs(c *call) bool { return c.nr == unix.SYS_PRCTL && c.a[0] == unix.PR_SET_NO_NEW_PRIVS }

// mutatedFlags takes namespaces out. In the caller's user namespace nothing may be written to
// its limits: they would be the machine's.
func mutatedFlags(flags uint64, lists ...[]call) uint64 {
	if mutation.On("share-pid") {
		flags &^= unix.CLONE_NEWPID
	}
	nested := slices.ContainsFunc(lists, func(l []call) bool {
		return slices.ContainsFunc(l, func(c call) bool { return c.step == StepNested })
	})
	if mutation.On("share-user") && !nested {
		flags &^= unix.CLONE_NEWUSER
	}
	return flags
}
