package landlock

import (
	"os"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// Probe asks the kernel for its Landlock ABI and its fixed errata
// (landlock_create_ruleset(2), Linux 5.13). The error is a *[NotAvailableError].
// A kernel that has no flag for errata reports none.
func Probe() (Support, error) {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil {
		err = os.NewSyscallError("landlock_create_ruleset", err)
		return Support{}, &NotAvailableError{Reason: reasonFor(err), Err: err}
	}
	errata, err := ll.LandlockGetErrata()
	if err != nil {
		errata = 0 // EINVAL: the flag came with Linux 6.15
	}
	return Support{ABI: abi, Errata: uint32(errata)}, nil
}
