package landlock

import (
	"errors"
	"fmt"
)

// Rule grants a right on what a descriptor stands for: a file, or a folder and
// everything below it.
type Rule struct {
	FD     int   // held by the caller, O_PATH is enough; Build does not close it
	Dir    bool  // whether FD is a folder
	Right  Right // zero is Read
	Device bool  // also ioctl(2) on the device files there (ABI 5)
	Unix   bool  // also connect(2) to the Unix sockets there (ABI 9)
}

// Spec is one ruleset. The zero value refuses everything Landlock can refuse.
type Spec struct {
	Rules []Rule

	// OpenTCP leaves TCP alone. Otherwise bind and connect are refused but for
	// the listed ports.
	OpenTCP    bool
	ConnectTCP []uint16
	BindTCP    []uint16 // 0 is a port that the kernel chooses

	// OpenSignal and OpenAbstractUnix leave signals and abstract Unix sockets
	// alone. Otherwise those of processes outside are refused.
	OpenSignal       bool
	OpenAbstractUnix bool

	// ResolveUnixElsewhere says that something else refuses Unix sockets by
	// path, so that a kernel below ABI 9 will do. From ABI 9 on Landlock
	// refuses them in any case, but for rules with Unix.
	ResolveUnixElsewhere bool

	// Degraded are the features that may be missing. They stay open then.
	Degraded Features
}

// asks says whether the Spec wants the feature held.
func (s *Spec) asks(f Feature) bool {
	switch f {
	case TCP:
		return !s.OpenTCP
	case ScopeAbstractUnix:
		return !s.OpenAbstractUnix
	case ScopeSignal:
		return !s.OpenSignal
	case ResolveUnix:
		return !s.ResolveUnixElsewhere
	case Files, Truncate, IoctlDev:
		return true
	}
	return true
}

// state is what becomes of one feature that the Spec asks for.
func (s *Spec) state(f Feature, abi int) State {
	switch {
	case abi >= f.ABI():
		return Enforced
	case s.Degraded.Has(f):
		return Open
	}
	return Refused
}

// check finds what no kernel could make sense of.
func (s *Spec) check() error {
	for i, r := range s.Rules {
		switch {
		case r.Right > WriteExec:
			return fmt.Errorf("rule %d: right %d does not exist", i, r.Right)
		case r.FD < 0:
			return fmt.Errorf("rule %d: descriptor %d is not open", i, r.FD)
		}
	}
	if s.OpenTCP && len(s.ConnectTCP)+len(s.BindTCP) > 0 {
		return errors.New("ports are listed, but tcp is open")
	}
	for _, port := range s.ConnectTCP {
		if port == 0 {
			return errors.New("connect to port 0")
		}
	}
	return nil
}
