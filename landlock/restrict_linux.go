package landlock

import (
	"fmt"
	"os"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// RestrictThreadIrreversibly is irreversible: it puts the calling thread, and
// all it will start, under the ruleset (landlock_restrict_self(2), Linux 5.13).
//
// Other threads of the process stay free, and share memory with this one: it is
// of use only to a locked thread that goes on to execve(2), which ends the
// others. The thread needs no_new_privs or CAP_SYS_ADMIN, else EPERM. A process
// has at most 16 domains stacked; the next is E2BIG.
func RestrictThreadIrreversibly(fd int) error {
	if err := ll.LandlockRestrictSelf(fd, 0); err != nil {
		return fmt.Errorf("landlock: %w", os.NewSyscallError("landlock_restrict_self", err))
	}
	return nil
}
