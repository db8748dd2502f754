package policy

import "strings"

// Builtin returns a new copy of a built-in profile. Profiles are Go data, so
// that starting costs no parsing. What is there whatever the policy (the devices,
// /proc, a private HOME and TMPDIR) is added by package launcher and is in none
// of them.
func Builtin(name string) (*Layer, bool) {
	switch name {
	case "debug":
		return debugProfile(), true
	case "default":
		return developer("default").l, true
	case "go":
		return goProfile(), true
	case "minimal":
		return minimalProfile(), true
	case "node":
		return nodeProfile(), true
	case "offline-build":
		return offlineBuildProfile(), true
	case "python":
		return pythonProfile(), true
	case "readonly":
		return readonlyProfile(), true
	case "rust":
		return rustProfile(), true
	}
	return nil, false
}

// BuiltinNames returns the names that Builtin knows, sorted.
func BuiltinNames() []string {
	return []string{"debug", "default", "go", "minimal", "node", "offline-build", "python", "readonly", "rust"}
}

// profile builds a layer whose values all come from one source.
type profile struct{ l *Layer }

func newProfile(name string) profile {
	l := &Layer{Kind: KindProfile, Name: name}
	l.Policy.Sources = []Source{{Kind: KindProfile, Name: name}}
	l.Policy.Grants = make([]Grant, 0, 192) // the default has 187
	l.Policy.Network.Mode = Value[NetworkMode]{V: NetNone, Set: true}
	l.Policy.Process.Seccomp = Value[Seccomp]{V: Seccomp{Kind: "default"}, Set: true}
	return profile{l}
}

// grant adds paths below dir; what is absent stays absent.
func (p profile) grant(r Right, dir string, names ...string) {
	all := dir + strings.Join(names, "\x00"+dir) // one allocation for all of them
	for range names {
		var text string
		text, all, _ = strings.Cut(all, "\x00")
		p.l.Policy.Grants = append(p.l.Policy.Grants, Grant{
			Path:  Path{Text: text, Skip: true, Optional: r == RightProtect},
			Right: r,
		})
	}
}

func (p profile) optional(clauses ...string) {
	for _, c := range clauses {
		p.l.Policy.Optional = append(p.l.Policy.Optional, Item[string]{V: c})
	}
}

func (p profile) env(names ...string) {
	for _, n := range names {
		p.l.Policy.Env.Allow = append(p.l.Policy.Env.Allow, Item[string]{V: n})
	}
}

// SystemFolders returns where programs and their libraries are installed, which the
// built-in profiles grant reading and executing. Some may be absent, or links.
func SystemFolders() []string {
	return []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/snap",
		"/home/linuxbrew/.linuxbrew",
	}
}

func (p profile) systemFolders() { p.grant(RightExec, "", SystemFolders()...) }

// loader grants what a dynamic program reads before it runs.
func (p profile) loader() {
	p.grant(RightRead, "/etc/", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ld.so.preload", "alternatives")
}

func (p profile) genericEnv() {
	p.env("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "TZ", "TERM", "COLORTERM",
		"NO_COLOR", "CI", "COLUMNS", "LINES")
}

// minimalProfile is the base to extend when only what the file says shall be
// granted beside the system folders.
func minimalProfile() *Layer {
	p := newProfile("minimal")
	p.systemFolders()
	p.loader()
	p.genericEnv()
	p.optional("metadata", "processes", "tree", "shared_memory")
	return p.l
}

// developer is the default, which `brainbox run` uses without a policy file, and what the
// profiles of ecosystems begin with.
func developer(name string) profile {
	p := newProfile(name)
	p.system()
	p.toolchains()
	p.grant(RightWriteExec, "@cwd", "")
	p.protectedNames()
	p.genericEnv()
	p.optionalAll()
	return p
}

// system grants what is installed, and what it reads of the machine.
func (p profile) system() {
	p.systemFolders()
	p.loader()
	p.grant(RightRead, "/etc/", etcNames()...)
	p.sys()
}

func (p profile) sys() {
	p.grant(RightRead, "/sys/", "devices/system/cpu", "kernel/mm/transparent_hugepage", "fs/cgroup")
}

func (p profile) protectedNames() {
	for _, top := range [...]string{"@cwd/", "@git/"} {
		p.grant(RightProtect, top, ProtectedNames()...)
	}
}

func (p profile) optionalAll() {
	p.optional("protect", "metadata", "processes", "tree", "shared_memory")
}

// etcNames is the named part of /etc: root, running brainbox, still shows no shadow file
// and no host key.
func etcNames() []string {
	return []string{
		"nsswitch.conf", "host.conf", "hosts", "resolv.conf", "gai.conf", "services", "protocols",
		"passwd", "group", "localtime", "timezone",
		"ssl/certs", "ssl/cert.pem", "ssl/openssl.cnf", "ca-certificates", "ca-certificates.conf",
		"pki/tls/certs", "pki/tls/openssl.cnf", "pki/ca-trust", "crypto-policies", "mime.types",
		// What distribution this is: pip, for one, ends with an error if it may not read it.
		"os-release", "lsb-release", "debian_version", "redhat-release", "system-release", "alpine-release",
		"magic", "magic.mime", "manpath.config", "man_db.conf", "groff",
		"locale.conf", "locale.alias", "locale.gen", "gitconfig", "inputrc", "terminfo", "fonts",
		"java", "java-8-openjdk", "java-11-openjdk", "java-17-openjdk", "java-21-openjdk", "java-25-openjdk",
		"python", "python2", "python2.7", "python3", "python3.8", "python3.9", "python3.10", "python3.11",
		"python3.12", "python3.13", "python3.14", "python3.15",
	}
}

// toolchains grants the parts of the home folder that hold programs, never a
// folder that holds credentials.
func (p profile) toolchains() {
	p.grant(RightExec, "~/",
		".cargo/bin", ".cargo/registry", ".cargo/git", ".rustup", "go/bin", "go/pkg/mod",
		".nvm/versions", ".pyenv", ".rbenv",
		".asdf/shims", ".asdf/installs", ".asdf/lib", ".asdf/plugins",
		".local/share/mise/shims", ".local/share/mise/installs",
		".volta/bin", ".volta/tools", ".local/bin", ".local/lib")
}

// ProtectedNames returns what the default profile protects at the top level of
// the checkout: what a host tool would later run or trust. ".git" stands for its
// hooks, config, config.worktree, info/attributes, modules/*/{config,hooks} and
// for the name itself; package launcher takes it apart. The rows are those of
// contract bridge-and-gate C.2.
func ProtectedNames() []string {
	return []string{
		".git", ".vscode", ".idea", ".husky", ".cargo", ".devcontainer", ".yarn", ".mvn", ".claude",
		".config/git",
		".gitconfig", ".gitmodules", ".bashrc", ".bash_profile", ".bash_login", ".bash_aliases",
		".bash_logout", ".zshrc", ".zprofile", ".zshenv", ".zlogin", ".zlogout", ".profile", ".envrc",
		".npmrc", ".yarnrc", ".yarnrc.yml", ".pnp.cjs", ".pnp.loader.mjs", ".pnpmfile.cjs",
		"bunfig.toml", ".bunfig.toml", ".bazelrc", ".bazelversion", ".bazeliskrc",
		".pre-commit-config.yaml", "lefthook.yml", "lefthook.yaml", ".lefthook.yml", ".lefthook.yaml",
		"gradle-wrapper.properties", "maven-wrapper.properties", ".devcontainer.json", ".ripgreprc",
		"pyrightconfig.json", ".mcp.json", ".claude.json",
	}
}
