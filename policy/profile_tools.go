package policy

import "slices"

// A profile of an ecosystem is the default and what its tools are found by: folders of the
// home that hold programs and no credentials, variables that name no other code, and the
// hosts of its public registry. Caches lie in the private home whatever the profile is.

// nodeProfile is for node, npm, pnpm, yarn, bun and deno.
func nodeProfile() *Layer {
	p := developer("node")
	p.nodeTools()
	p.env("FORCE_COLOR", "NODE_ENV")
	p.registry("registry.npmjs.org", "registry.yarnpkg.com")
	return p.l
}

// nodeTools grants what version managers install, the headers for native modules and the
// browsers that test tools fetch.
func (p profile) nodeTools() {
	p.grant(RightExec, "~/",
		".bun/bin", ".deno/bin", ".local/share/pnpm", ".local/share/fnm/node-versions", ".nodenv/versions",
		".cache/node-gyp", ".cache/ms-playwright", ".cache/puppeteer", ".cache/Cypress")
}

// pythonProfile is for python, pip, uv, pipx, poetry and pipenv.
func pythonProfile() *Layer {
	p := developer("python")
	p.pythonTools()
	p.env("PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "PYTHONUNBUFFERED", "PYTHONUTF8", "PYTHONWARNINGS")
	p.registry("pypi.org", "files.pythonhosted.org")
	return p.l
}

// pythonTools grants interpreters and environments that tools keep outside of the checkout.
// ~/.local/share/uv as a whole holds credentials.
func (p profile) pythonTools() {
	p.grant(RightExec, "~/",
		".local/share/uv/python", ".local/share/uv/tools", ".local/share/pipx/venvs", ".local/pipx/venvs",
		".local/share/pypoetry/venv", ".cache/pypoetry/virtualenvs", ".local/share/virtualenvs")
}

// goProfile is for go. GOFLAGS may name other code and is not taken from the caller.
func goProfile() *Layer {
	p := developer("go")
	p.goTools()
	p.env("CGO_ENABLED", "GOARCH", "GOEXPERIMENT", "GOMAXPROCS", "GOOS", "GOPRIVATE", "GOTOOLCHAIN")
	p.registry("proxy.golang.org", "sum.golang.org")
	return p.l
}

func (p profile) goTools() {
	p.grant(RightExec, "~/", "sdk", ".gvm/gos", ".goenv/versions")
}

// rustProfile is for cargo and rustc; the default grants their folders.
func rustProfile() *Layer {
	p := developer("rust")
	p.env("RUST_BACKTRACE", "RUST_LOG", "RUSTUP_TOOLCHAIN")
	p.registry("index.crates.io", "static.crates.io")
	return p.l
}

// debugProfile is for gdb, strace, delve and LeakSanitizer: ptrace(2) is open to the
// processes of the run.
func debugProfile() *Layer {
	p := developer("debug")
	p.grant(RightRead, "/etc/", "gdb")
	p.l.Policy.Process.Seccomp.V.Kind = "debug"
	return p.l
}

// readonlyProfile is the default with a checkout that can only be read and executed: what
// is to be written goes through the bridge, which asks. The protected names stay for
// whoever adds a write grant of his own.
func readonlyProfile() *Layer {
	p := newProfile("readonly")
	p.system()
	p.toolchains()
	p.grant(RightExec, "@cwd", "")
	p.protectedNames()
	p.genericEnv()
	p.optionalAll()
	return p.l
}

// offlineBuildProfile is for a build from what is there: nothing of what leads to other
// hosts or tells of them, and every toolchain and cache that a profile knows.
func offlineBuildProfile() *Layer {
	p := newProfile("offline-build")
	p.systemFolders()
	p.loader()
	p.grant(RightRead, "/etc/", slices.DeleteFunc(etcNames(), ofNetwork)...)
	p.sys()
	p.toolchains()
	p.nodeTools()
	p.pythonTools()
	p.goTools()
	p.grant(RightRead, "~/", ".m2/repository")
	p.grant(RightWriteExec, "@cwd", "")
	p.protectedNames()
	p.genericEnv()
	p.optionalAll()
	return p.l
}

// ofNetwork reports the names below /etc that only a program with a network has a use for.
// "localhost" is looked up in hosts, which stays.
func ofNetwork(name string) bool {
	switch name {
	case "resolv.conf", "gai.conf", "ssl/certs", "ssl/cert.pem", "ca-certificates", "ca-certificates.conf", "pki/tls/certs", "pki/ca-trust":
		return true
	}
	return false
}

// registry adds hosts that count in network mode proxy alone: a profile opens no network.
func (p profile) registry(hosts ...string) {
	for _, name := range hosts {
		p.l.Policy.Network.AllowHosts = append(p.l.Policy.Network.AllowHosts,
			Item[Host]{V: Host{Name: name, Port: 443}})
	}
}
