package shell

import "strings"

// risky reports whether a variable of this name changes which program runs, or
// makes programs run others.
func risky(name string) bool {
	switch name {
	case "PATH", "BASH_ENV", "ENV", "IFS", "PROMPT_COMMAND", "SHELL", "SHELLOPTS", "BASHOPTS", "PS4", "CDPATH",
		"BASH_CMDS", "BASH_ALIASES", "BASH_LOADABLES_PATH",
		"EDITOR", "VISUAL", "PAGER", "MANPAGER", "BROWSER", "LESSOPEN", "LESSCLOSE",
		"NODE_OPTIONS", "NODE_PATH", "PERL5OPT", "PERL5LIB", "PERL5DB", "RUBYOPT", "RUBYLIB", "JAVA_TOOL_OPTIONS",
		"_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "MAKEFLAGS", "MAKEFILES", "GOFLAGS", "RUSTC", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER",
		"GCONV_PATH", "SSH_ASKPASS", "SUDO_ASKPASS", "TAR_OPTIONS", "RSYNC_RSH", "CC", "CXX":
		return true
	}
	for _, prefix := range [...]string{"LD_", "DYLD_", "GIT_", "BASH_FUNC_", "PYTHON", "npm_config_", "NPM_CONFIG_", "CARGO_", "GLIBC_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
