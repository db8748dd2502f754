package landlock

import (
	"fmt"
	"os"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// Build makes the ruleset and returns its descriptor, which is close-on-exec
// and the caller's to close. It restricts no thread.
//
// It returns an *[UnenforceableError] for a Spec that the kernel cannot hold,
// and the failing rule's index with the system call when the kernel refuses a
// rule: EBADF for a descriptor that is not open, EINVAL for a file with Dir set.
// The descriptor is -1 with every error.
func Build(spec Spec, sup Support) (fd int, err error) {
	abi := sup.Used()
	if abi < 1 {
		return -1, &UnenforceableError{Feature: Files}
	}
	for f := range Feature(features) {
		if spec.asks(f) && spec.state(f, abi) == Refused {
			return -1, &UnenforceableError{Feature: f, Mechanism: sup.Mechanism()}
		}
	}
	if err := spec.check(); err != nil {
		return -1, fmt.Errorf("landlock: %w", err)
	}
	attr := attrFor(&spec, abi)
	fd, err = ll.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return -1, fmt.Errorf("landlock: %w", os.NewSyscallError("landlock_create_ruleset", err))
	}
	if err := addAll(fd, &spec, &attr, abi); err != nil {
		_ = unix.Close(fd)
		return -1, fmt.Errorf("landlock: %w", err)
	}
	return fd, nil
}

// attrFor is the ruleset's handled access: all that the ABI knows of the
// filesystem, the rest as asked.
func attrFor(spec *Spec, abi int) ll.RulesetAttr {
	attr := ll.RulesetAttr{HandledAccessFS: handledFS(abi)}
	if spec.asks(TCP) {
		attr.HandledAccessNet = handledTCP(abi)
	}
	if spec.asks(ScopeAbstractUnix) && abi >= ScopeAbstractUnix.ABI() {
		attr.Scoped |= ll.ScopeAbstractUnixSocket
	}
	if spec.asks(ScopeSignal) && abi >= ScopeSignal.ABI() {
		attr.Scoped |= ll.ScopeSignal
	}
	return attr
}

// accessFor is the access bits of one rule.
func accessFor(r Rule, abi int) uint64 {
	bits := Access(r.Right, r.Dir, abi)
	if r.Device {
		bits |= ll.AccessFSIoctlDev
	}
	if r.Unix {
		bits |= ll.AccessFSResolveUnix
	}
	return bits & handledFS(abi)
}

// addAll adds every rule to the ruleset.
func addAll(fd int, spec *Spec, attr *ll.RulesetAttr, abi int) error {
	var beneath ll.PathBeneathAttr
	for i, r := range spec.Rules {
		beneath.AllowedAccess, beneath.ParentFd = accessFor(r, abi), r.FD
		if err := ll.LandlockAddPathBeneathRule(fd, &beneath, 0); err != nil {
			return fmt.Errorf("rule %d: %w", i, os.NewSyscallError("landlock_add_rule", err))
		}
	}
	if attr.HandledAccessNet == 0 {
		return nil // nothing to open: TCP is left alone, or degraded
	}
	if err := addPorts(fd, "connect", spec.ConnectTCP, ll.AccessNetConnectTCP); err != nil {
		return err
	}
	return addPorts(fd, "bind", spec.BindTCP, ll.AccessNetBindTCP)
}

// addPorts opens TCP ports for one kind of access.
func addPorts(fd int, verb string, ports []uint16, access uint64) error {
	for _, port := range ports {
		rule := ll.NetPortAttr{AllowedAccess: access, Port: uint64(port)}
		if err := ll.LandlockAddNetPortRule(fd, &rule, 0); err != nil {
			return fmt.Errorf("%s port %d: %w", verb, port, os.NewSyscallError("landlock_add_rule", err))
		}
	}
	return nil
}
