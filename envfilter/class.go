package envfilter

import "strings"

// class says what a name can do wherever its value comes from.
type class uint8

const (
	plain   class = iota
	control       // steers brainbox itself, or the wrapper and killer of its host
	loader        // makes the next loader or shell run or read something else
	tool          // makes one tool run or read something else
	proxy         // leads network traffic elsewhere
	socket        // names a folder of sockets of the caller's session
)

// classOf sorts name into its class. The names are those of contract brainkit,
// section 2.3, and of the escape matrix, EV-02 to EV-08, EV-13 and EV-14, with
// their near relations. Names are compared exactly; only proxies are known in
// both spellings, as curl(1) reads them.
func classOf(name string) class {
	switch {
	case isControl(name):
		return control
	case isLoader(name):
		return loader
	case isTool(name):
		return tool
	case isProxy(name):
		return proxy
	case name == "XDG_RUNTIME_DIR":
		return socket
	}
	return plain
}

// extraControl is the escape hatch: the variable that lists the extra names.
const extraControl = "BRAIN_UI_SUBPROCESS_ENV_EXTRA"

func isControl(name string) bool {
	switch name {
	case extraControl, "BRAIN_UI_EXEC_WRAPPER", "BRAIN_UI_EXEC_KILLER":
		return true
	}
	return strings.HasPrefix(name, "BRAINBOX_")
}

// isLoader knows what ld.so(8) honours or unsets for set-user-ID programs, what
// shells run at start or before a prompt, and the rest of section 2.3.
func isLoader(name string) bool {
	switch name {
	case "GLIBC_TUNABLES", "GCONV_PATH", "GETCONF_DIR", "LOCPATH", "NLSPATH", "NIS_PATH", "TZDIR",
		"HOSTALIASES", "RES_OPTIONS", "RESOLV_HOST_CONF", "LOCALDOMAIN",
		"BASH_ENV", "ENV", "PROMPT_COMMAND", "SHELLOPTS", "BASHOPTS", "PS4", "IFS", "CDPATH", "ZDOTDIR",
		"BASH_LOADABLES_PATH", "FPATH",
		"GIT_EXEC_PATH", "NODE_OPTIONS", "PYTHONSTARTUP", "PERL5OPT":
		return true
	}
	return hasAnyPrefix(name, "LD_", "MALLOC_", "BASH_FUNC_", "GIT_CONFIG", "GIT_SSH")
}

// isTool knows what makes an interpreter, a compiler, git, a pager or an editor
// run or load something else.
func isTool(name string) bool {
	switch name {
	case "PYTHONPATH", "PYTHONHOME", "PYTHONINSPECT", "PYTHONBREAKPOINT",
		"NODE_PATH", "NODE_EXTRA_CA_CERTS", "ELECTRON_RUN_AS_NODE",
		"PERL5LIB", "PERLLIB", "PERL5DB", "RUBYOPT", "RUBYLIB",
		"JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH", "DOTNET_STARTUP_HOOKS",
		"GOFLAGS", "GOENV", "RUSTC", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "RUSTFLAGS",
		"CC", "CXX", "MAKEFLAGS", "GNUMAKEFLAGS", "LUA_INIT", "PHPRC", "PHP_INI_SCAN_DIR",
		"PAGER", "LESSOPEN", "LESSCLOSE", "MANPAGER", "EDITOR", "VISUAL", "BROWSER", "SSH_ASKPASS", "SUDO_ASKPASS",
		"OPENSSL_CONF", "OPENSSL_MODULES", "OPENSSL_ENGINES", "SSL_CERT_FILE", "SSL_CERT_DIR",
		"CURL_HOME", "TERMINFO", "TERMINFO_DIRS", "TERMCAP":
		return true
	}
	return hasAnyPrefix(name, "GIT_", "CARGO_")
}

// isProxy knows http_proxy, ALL_PROXY, npm_config_https_proxy and the like in any
// mix of case.
func isProxy(name string) bool {
	return hasSuffixFold(name, "_proxy")
}

func hasAnyPrefix(s string, prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// hasSuffixFold compares ASCII letters without regard to case; suffix is in
// lower case.
func hasSuffixFold(s, suffix string) bool {
	if len(s) < len(suffix) {
		return false
	}
	s = s[len(s)-len(suffix):]
	for i := range len(s) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != suffix[i] {
			return false
		}
	}
	return true
}
