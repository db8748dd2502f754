package explain

import (
	"os"
	"runtime"

	"brainbox/landlock"
	"brainbox/launcher"
	"brainbox/seccomp"
)

// For is the configuration for the program of a plan: all but the judge, the sink and Uses.
func For(p *launcher.Plan, f *launcher.Facts) (Config, error) {
	filter, err := p.FilterProgram()
	if err != nil {
		return Config{}, err
	}
	arch, err := seccomp.AuditArch(runtime.GOARCH)
	if err != nil {
		return Config{}, err
	}
	return Config{
		NoNames:    p.OwnNetwork && (p.Network == nil || !p.Network.Proxy),
		Inside:     p.Isolation == "namespaces",
		Movable:    Movable(filter, arch),
		OwnNetwork: p.OwnNetwork,
		OtherUser:  p.Identity != nil && int(p.Identity.UID) != os.Geteuid(),
		Abstract: f.Landlock.Used() >= landlock.ScopeAbstractUnix.ABI() &&
			p.Landlock.Degraded&landlock.Set(landlock.ScopeAbstractUnix) == 0,
	}, nil
}
