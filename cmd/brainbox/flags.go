package main

import (
	"github.com/urfave/cli/v2"

	"brainbox/policy"
)

// listFlag adds one element to a list of the policy each time it is given.
type listFlag struct {
	name, key, value, usage string
	right                   policy.Right
}

// listFlags are the flags that add. Their names are those that landrun uses, where it
// has them.
func listFlags() []listFlag {
	return []listFlag{
		{name: "ro", right: policy.RightRead, value: "PATH", usage: "grant reading"},
		{name: "rox", right: policy.RightExec, value: "PATH", usage: "grant reading and executing"},
		{name: "rw", right: policy.RightWrite, value: "PATH", usage: "grant reading and writing"},
		{name: "rwx", right: policy.RightWriteExec, value: "PATH", usage: "grant reading, writing and executing"},
		{name: "protect", right: policy.RightProtect, value: "PATH", usage: "keep read-only inside a write grant"},
		{name: "deny", right: policy.RightDeny, value: "PATH", usage: "hide, whatever grants it"},
		{name: "no-protect", key: "sandbox.allow_protected", value: "PATH", usage: "insist on a write grant that would be refused"},
		{name: "env", key: "env", value: "NAME[=VALUE]", usage: "pass a variable on, or set it"},
		{name: "env-file", key: "env.files", value: "FILE", usage: "variables from a file, one NAME=VALUE a line"},
		{name: "connect-tcp", key: "network.connect_tcp", value: "PORT", usage: "with --net ports: connect to this port of any host"},
		{name: "bind-tcp", key: "network.bind_tcp", value: "PORT", usage: "with --net ports: bind to this port"},
		{name: "publish", key: "network.publish", value: "PORT", usage: "reach a port of the program from the host's loopback"},
		{name: "allow-host", key: "network.allow_hosts", value: "NAME[:PORT]", usage: "with --net proxy: reach this host"},
		{name: "unix", key: "network.unix", value: "PATH", usage: "connect to this Unix socket"},
		{name: "allow-degraded", key: "sandbox.degraded", value: "CLAUSE", usage: "accept that this clause stays open"},
	}
}

// scalarFlag replaces one value of the policy; the last one given wins.
type scalarFlag struct{ name, key, value, usage string }

func scalarFlags() []scalarFlag {
	return []scalarFlag{
		{"net", "network.mode", "MODE", "none, ports, proxy or host"},
		{"resolver", "network.resolver", "ADDR[:PORT]", "with --net proxy: the DNS server that looks names up, not the host's"},
		{"dns", "network.dns", "MODE", "with --net ports: none, or host (opens UDP)"},
		{"seccomp", "process.seccomp", "PROFILE", "default, debug, none, or an OCI profile `FILE`"},
		{"isolation", "sandbox.isolation", "KIND", "auto, landlock or namespaces"},
		{"home", "sandbox.home", "HOME", "run, keep, or a folder"},
		{"cwd", "sandbox.cwd", "DIR", "start the program here"},
		{"timeout", "process.timeout", "DURATION", "end the run after this time, with status 124"},
		{"kill-after", "process.kill_after", "DURATION", "time from TERM to KILL (5s)"},
		{"memory", "process.memory", "SIZE", "memory of the whole tree (cgroup v2)"},
		{"cpu", "process.cpu", "N", "processors for the whole tree (cgroup v2)"},
		{"pids", "process.pids", "N", "processes and threads of the whole tree (cgroup v2)"},
		{"nofile", "process.nofile", "N", "open descriptors of each process"},
		{"fsize", "process.fsize", "SIZE", "size of each file written"},
		{"output-limit", "process.output_limit", "SIZE", "bytes of output before the run is ended"},
		{"bridge", "bridge.envelope", "FILE", "let the program call the host's tools of the envelope `FILE`"},
	}
}

// policyFlags are those of every verb that needs a plan.
func policyFlags() []cli.Flag {
	flags := []cli.Flag{
		newStringFlag("policy", "policy `FILE` (also $BRAINBOX_POLICY)"),
		newStringFlag("gate", "what may be called, JSON permissions or TOML with [gate], from `FILE`"),
		newStringFlag("profile", "built-in profile `NAME` to start from"),
	}
	for _, f := range listFlags() {
		flags = append(flags, newListFlag(f.name, f.usage+" `"+f.value+"`"))
	}
	for _, f := range scalarFlags() {
		flags = append(flags, newStringFlag(f.name, f.usage))
	}
	return append(flags,
		newBoolFlag("git-config", "let the program change .git/config"),
		newBoolFlag("keep-created", "leave protected files that the program made"),
		newBoolFlag("ask", "let the program ask for leave, and ask for it on this terminal"),
	)
}

// flagsOf gives the flags of one verb.
func flagsOf(verb string) []cli.Flag {
	switch verb {
	case "run":
		return append(policyFlags(),
			newListFlag("pass-fd", "hand descriptor `N[:w]` to the program"),
			newStringFlag("status-fd", "write status lines, JSON, to descriptor `N`"),
			newBoolFlag("dry-run", "print the plan and start nothing (= check)"),
			newBoolFlag("explain", "watch the program, and say at its end what was denied and what would allow it"),
			newBoolFlag("sanitize", "show control characters in the output as text"),
			newBoolFlag("quiet", "say nothing of what stays open", "q"),
			newBoolFlag("verbose", "say what stays open", "v"),
		)
	case "check":
		return append(policyFlags(),
			newBoolFlag("json", "print the plan as JSON"),
			newBoolFlag("exec", "print the plan of brainbox-exec"),
			newBoolFlag("tree", "walk the write grants for hard links, set-id files and sockets"),
		)
	case "why":
		return append(policyFlags(),
			newBoolFlag("json", "print the answer as JSON"),
			newBoolFlag("verify", "ask the kernel too, in a sandbox that starts nothing"),
		)
	case "learn":
		return learnFlags()
	case "probe":
		return []cli.Flag{newBoolFlag("json", "print the answers as JSON")}
	}
	if isOperator(verb) {
		return operatorFlags(verb)
	}
	return insideFlags(verb)
}
