package policy

import (
	"slices"
	"strings"
)

// keysOf returns the keys of a table, nil for what is none. The root is "".
func keysOf(table string) []string {
	switch table {
	case "":
		return []string{"version", "extends", "filesystem", "network", "env", "process", "sandbox", "gate", "bridge"}
	case "filesystem":
		return []string{"read", "exec", "write", "write_exec", "protect", "deny", "remove"}
	case "filesystem.remove":
		return []string{"read", "exec", "write", "write_exec", "protect", "deny"}
	case "network":
		return []string{
			"mode", "connect_tcp", "bind_tcp", "publish", "dns", "allow_hosts", "upstream", "resolver", "unix", "remove",
		}
	case "network.remove":
		return []string{"connect_tcp", "bind_tcp", "publish", "allow_hosts", "unix"}
	case "env":
		return []string{"allow", "set", "files", "ca_bundle", "remove"}
	case "env.remove":
		return []string{"allow", "set", "files"}
	case "process":
		return []string{
			"timeout", "kill_after", "memory", "cpu", "pids", "nofile", "fsize", "output_limit", "seccomp",
		}
	case "sandbox":
		return []string{
			"isolation", "home", "degraded", "identity", "git_config", "allow_protected", "cwd",
			"keep_created", "callers", "tmp_root",
		}
	case "gate":
		return []string{"allowed_tools", "confirm", "confirm_more", "rule"}
	case "bridge":
		return []string{"envelope", "roots"}
	}
	return nil
}

func isTable(key string) bool { return key != "" && keysOf(key) != nil }

// execKeys are the keys of exec.toml: what holds without a supervisor.
var execKeys = [...]string{
	"env", "env.allow", "env.ca_bundle", "env.files", "env.remove", "env.remove.allow", "env.remove.files",
	"env.remove.set", "env.set", "extends", "filesystem", "filesystem.exec", "filesystem.read",
	"filesystem.remove", "filesystem.remove.exec", "filesystem.remove.read", "filesystem.remove.write",
	"filesystem.remove.write_exec", "filesystem.write", "filesystem.write_exec", "network",
	"network.bind_tcp", "network.connect_tcp", "network.dns", "network.mode", "network.remove",
	"network.remove.bind_tcp", "network.remove.connect_tcp", "process", "process.fsize",
	"process.nofile", "process.seccomp", "sandbox", "sandbox.callers", "sandbox.degraded", "sandbox.home",
	"sandbox.identity", "sandbox.tmp_root", "version",
}

// forbidden says why key may not stand in a text of this kind, or "" and "".
func forbidden(kind SourceKind, key string) (msg, hint string) {
	switch kind {
	case KindExec:
		if !slices.Contains(execKeys[:], key) {
			return "exec.toml cannot hold " + key + ": nothing supervises the program",
				"`brainbox run` enforces it"
		}
		return "", ""
	case KindProject:
		return forbiddenInProject(key)
	case KindFile, KindFlag, KindProfile:
	}
	if key == "sandbox.callers" || key == "sandbox.tmp_root" {
		return key + " belongs into exec.toml", "it has a meaning for brainbox-exec only"
	}
	return "", ""
}

func forbiddenInProject(key string) (msg, hint string) {
	const narrow = "a project file can only narrow; put it into the policy file of the operator"
	switch key {
	case "extends":
		return "a project file stands alone, without extends", "only .brainbox.toml itself is protected from the program"
	case "network.upstream", "network.resolver", "network.unix", "env.set", "env.files", "env.ca_bundle",
		"sandbox.home", "sandbox.degraded", "sandbox.identity", "sandbox.allow_protected", "sandbox.cwd",
		"sandbox.callers", "sandbox.tmp_root", "gate.allowed_tools", "bridge":
		return "a project file may not set " + key, narrow
	}
	if strings.HasSuffix(key, ".remove") {
		return "a project file may not set " + key, narrow
	}
	return "", ""
}
