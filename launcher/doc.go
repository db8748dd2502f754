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
// With isolation auto Observe makes namespaces and ends them, to find out whether they are
// offered; [Plan.Isolation] is then what holds. A caller who starts at once leaves that to
// the start ([Request.Untried]) and finds the plan that was carried out in [Result.Plan].
//
// [Worker] is the closed form of a run, for one turn of an agent: it has no policy, and is
// probed before each launch.
//
// A program in namespaces that reaches hosts by name, or whose ports are published, needs
// somebody outside who serves that: [Proxy]. The launcher makes the sockets in the program's
// network before it starts, and knows nothing of what is said on them.
//
// The package also holds the contract of a configured exec wrapper and its killer:
// [ValidateExecWrapper], [WrapCommand], [KillWrapped].
//
// # Limits
//
// What a clause cannot hold in the plan's isolation is refused, or declared open in the
// plan; nothing is left out in silence. The trial of namespaces is a fork of the calling
// process, which takes long in a large one: there, Request.Untried and a [Host]. [Plan.Run] makes the calling process
// a subreaper for the run and reaps all of its children, one run at a time: a program with
// children of its own uses a [Host], which has a small brainbox command do that. A Host
// serves no network.
//
// A [Judge] goes by paths, where Landlock goes by files: it does not know of a granted file that
// was replaced meanwhile, nor of its other hard links. It says nothing of the modes of files,
// of mounts of the host inside a granted tree, nor of who a process below /proc belongs to.
package launcher
