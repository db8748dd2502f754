// Package dispatch carries calls of tools out of the sandbox: to an endpoint on the network,
// to a command of the host, or to functions of this program (contract bridge-and-gate,
// sections A.5 to A.8).
//
//	endpoint := dispatch.NewEndpoint(dispatch.EndpointConfig{URLEnv: "TOOLS_URL", TokenEnv: "TOOLS_TOKEN"}, os.Getenv)
//	command, err := dispatch.NewCommand(dispatch.CommandConfig{Argv: []string{"tools", "serve"}, Keeper: "/proc/self/exe"}, os.Getenv)
//	if err != nil {
//		return err // *ConfigError: the launch is refused
//	}
//	defer command.Close()
//	functions := dispatch.Func(map[string]dispatch.Handler{"clock.now": now}, 0)
//
// Each is an [envelope.Dispatcher]: whatever happens, there is one whole result that matches
// the request. Everything that the host decides is decided when the dispatcher is made; nothing
// in a request chooses a program, an argument, a folder, a variable or an address. A request is
// written anew from what was understood of it, and travels as a body, on standard input or in a
// file.
//
// One deadline covers a whole call. A caller that is gone is the same as the deadline, and its
// result, failed with caller_gone, is for the transcript alone.
//
// # An endpoint
//
// Its address and its token are read once. Without them, or with an address that may not be
// used, every call is unavailable and no name is looked up. A connection is made for each call
// and used once: no redirect is followed, nothing is repeated, no proxy is asked, nothing is
// compressed, no cookie kept. Plain http goes to the addresses of this machine alone, which is
// looked at again when the connection is made. When a connection broke before anything was sent,
// the result is endpoint_unreachable and the call may be made again; after that it is
// endpoint_http_error, since the call may have taken effect.
//
// # A command
//
// The program is found once, in a PATH that is fixed, and held by its descriptor. It is refused
// if it, a folder or a link on the way to it, or the interpreter of a script could be changed
// from inside a sandbox, and looked at again before each call. It runs by the descriptor, a
// script by its name, with no shell, in a folder that no sandbox writes to, and with the
// variables that were named, not those of the launcher.
//
// Every call has a process of its own between the dispatcher and the command, the keeper
// (package internal/keeper): a subreaper, to which every descendant comes whose parent ends,
// however often it forked and whatever session it made for itself. Subreaping in the dispatcher
// itself would mix the orphans of concurrent calls, and take the exit status of children that
// other code of the process has. The call is over when the keeper has no child left. If the
// dispatcher dies, the keeper kills everything; if the keeper is killed, the command dies. With
// a cgroup the kernel ends what is in it besides.
//
// After the program has exited its pipes are read for 250 ms more, then what is left is killed.
// A result that was complete counts, with diagnostics.leftover_processes.
//
// # Limits
//
// A command is trusted: it has the rights of the user who runs the host. One that attacks
// brainbox itself is not contained (see package keeper). That a tree is mounted a second time,
// or a program has another name inside a tree (link(2)), is not seen. PATH in CommandConfig.Env
// is for the command alone; a program that it finds there is not looked at.
//
// A result may hold secrets: package bridge/redact takes them out, and is given those of
// Secrets. Standard error, which goes to diagnostics.stderr, is cut before that: what is left
// after 64 KiB ends at the last space, so that half a secret is not shown.
//
// A function that does not heed its context goes on after its call was answered.
package dispatch
