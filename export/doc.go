// Package export says a compiled plan in the words of other tools: the configuration of an
// OCI runtime bundle (runtime-spec, config.md), and the seccomp profile that docker takes.
//
//	facts, err := launcher.Observe(pol, place, launcher.Request{Untried: true})
//	export.Target(facts)
//	in := export.Input{Policy: pol, Plan: launcher.NewPlan(pol, facts), Facts: facts}
//	in.Rootfs, in.Command = "/srv/images/debian", []string{"make"}
//	spec, gaps, err := export.OCI(in)
//	if left := export.Open(gaps, nil); len(left) > 0 {
//		return left // each: clause, entry, and why a runtime cannot hold it
//	}
//
// What a runtime cannot hold is a [Gap], by clause and entry; nothing is left out in silence.
// The gaps of a configuration are in its annotations too.
//
// Where things come from: the root file system is the given one, read-only, and stands for
// the system folders that a built-in profile grants (/usr, /etc/…): its programs may be read
// and executed, all of them. What an operator's policy grants, what is written with ~ or
// relative (the checkout, toolchains of the home folder), every write grant, and what is below
// /sys is bound from the host, at its own place. HOME and TMPDIR are file systems in memory,
// at [Home] and [Tmp].
//
// # Limits
//
// The paths of a configuration are looked up again by the runtime when the container starts,
// and what is protected, denied or masked is what had a name when the plan was made: it
// belongs to one start in a checkout that nobody changes in between. A path that is masked
// and is gone then is passed over by the runtime. The runtime makes the places that it mounts
// to, in the root file system.
//
// What is bound with all that is mounted below it is read-only down there by "rro", which
// needs runc 1.1 or crun 1.4, and Linux 5.12. An older runtime holds the top alone.
//
// A runtime has no Landlock, no self-test, no supervisor and no init; the program is process
// 1, and its standard descriptors are the ones that the runtime gives. Root's program has no
// user namespace, unlike under brainbox run: its uid 0 is the host's, without a capability. As an ordinary user the
// program sees itself as user 0, who is the caller outside.
package export
