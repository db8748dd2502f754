// Package launcher joins policy and kernel: it looks at the machine once, decides
// what every entry of a policy becomes there, and starts the program so.
//
//	place, err := launcher.Look(os.Environ())
//	pol, err := policy.Resolve(policy.Input{Vars: place.Vars()}, layers...)
//	facts, err := launcher.Observe(pol, place, launcher.Request{Command: argv})
//	defer facts.Close()
//	plan := launcher.NewPlan(pol, facts)
//	result, err := plan.Run(facts, launcher.Options{})
//
// [Observe] does all the looking and keeps every named path open as a descriptor.
// [NewPlan] is pure: the same policy and the same facts give the same plan, and
// what the kernel is told, what check prints and what why answers all come from it.
//
// The package also holds the contract of a configured exec wrapper and its killer:
// [ValidateExecWrapper], [WrapCommand], [KillWrapped].
//
// # Limits
//
// Only isolation landlock. What a clause cannot hold there is refused, or declared
// open in the plan; nothing is left out in silence. [Plan.Run] makes the calling process
// a subreaper for the run and reaps all of its children, one run at a time: a program with
// children of its own uses a [Host], which has a small brainbox command do that.
package launcher
