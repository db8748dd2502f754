// Command backend is a host for an agent, as short as one can be that holds every promise:
// a model for your own.
//
//	backend [-isolation auto] [-receipt FILE] PROJECT AGENT [ARG...]
//
// It starts AGENT in a sandbox where PROJECT can be read and nothing can be written, and
// serves a socket that the agent, and whatever it starts, finds there. Over it the agent asks
// questions and proposes edits. What became of each call is in the receipt. The status is the agent's, or
// 125.
//
// Read main.go, then the others as they are called:
//
//	main.go     one session from its start to its end
//	policy.go   what the agent may do: the rules, and the sandbox
//	session.go  the bridge: which tools there are, and the gate in front of them
//	person.go   who is asked
//	receipt.go  what was decided and done
//
// # Limits
//
// The person is a function that always says the same. A real host asks one: with package
// gate/tty on a terminal, or over a second socket that bridge.Server.ServeUI serves. A host
// that does more than this uses a launcher.Host: launcher.Plan.Run reaps every child of the
// process it is called in.
package main
