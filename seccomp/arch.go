package seccomp

import (
	"errors"
	"fmt"
)

// The AUDIT_ARCH_ values of the architectures this package knows
// (linux/audit.h).
const (
	auditAMD64 = 0xc000003e
	auditARM64 = 0xc00000b7
)

// x32Bit marks the numbers of the x32 ABI, which enter the kernel of an amd64
// machine under the same AUDIT_ARCH_ value as the native ones.
const x32Bit = 0x40000000

// AuditArch returns the value a filter finds in struct seccomp_data for native
// calls on goarch. For an architecture without a default filter the error wraps
// errors.ErrUnsupported.
func AuditArch(goarch string) (uint32, error) {
	switch goarch {
	case "amd64":
		return auditAMD64, nil
	case "arm64":
		return auditARM64, nil
	}
	return 0, fmt.Errorf("seccomp: architecture %q: %w", goarch, errors.ErrUnsupported)
}
