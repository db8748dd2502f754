package envfilter

// ownVars returns the variables that every run has, whatever the policy.
func ownVars(in Input, callerPath string) []choice {
	var list []choice
	add := func(why, name, value string) {
		list = append(list, choice{name: name, value: value, why: why, layer: own})
	}
	if in.User != "" {
		add("the user of the run", "USER", in.User)
		add("the user of the run", "LOGNAME", in.User)
	}
	shell := in.Shell
	if shell == "" {
		shell = "/bin/sh"
	}
	add("the shell of the run", "SHELL", shell)
	path := Path(callerPath, in.PathOK)
	if path == "" {
		// An empty PATH means the working directory to many programs; nothing can be
		// found below a file that is a device.
		path = "/dev/null"
	}
	add("rebuilt from what may be executed and not written", "PATH", path)

	add("the private home", "HOME", in.Home)
	for _, name := range [...]string{"TMPDIR", "TMP", "TEMP"} {
		add("the private temporary folder", name, in.Tmp)
	}
	add("the private temporary folder", "TMPPREFIX", in.Tmp+"/zsh")
	for _, dir := range [...][2]string{
		{"XDG_CACHE_HOME", "/.cache"},
		{"XDG_CONFIG_HOME", "/.config"},
		{"XDG_DATA_HOME", "/.local/share"},
		{"XDG_STATE_HOME", "/.local/state"},
		{"GOCACHE", "/.cache/go-build"},
		{"PIP_CACHE_DIR", "/.cache/pip"},
		{"npm_config_cache", "/.npm"},
	} {
		add("a folder of the private home", dir[0], in.Home+dir[1])
	}
	if in.GitConfig != "" {
		add("the filtered git identity", "GIT_CONFIG_GLOBAL", in.GitConfig)
	}
	for _, v := range in.Toolchain {
		add("where a granted toolchain is", v.Name, v.Value)
	}
	for _, v := range in.Sockets {
		add("it names a socket that the policy lists", v.Name, v.Value)
	}
	for _, v := range in.Proxies {
		add("the proxy of the run", v.Name, v.Value)
	}
	if in.CABundle != "" {
		for _, name := range caVars() {
			add("the certificates of ca_bundle", name, in.CABundle)
		}
	}
	return list
}

// caVars lists the variables by which TLS libraries and tools take a file of
// certificates.
func caVars() []string {
	return []string{
		"AWS_CA_BUNDLE", "BUNDLE_SSL_CA_CERT", "CARGO_HTTP_CAINFO", "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE",
		"CURL_CA_BUNDLE", "DENO_CERT", "GIT_SSL_CAINFO", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
		"NIX_SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE",
		"npm_config_cafile",
	}
}

// pathSource returns the PATH that is rebuilt: the last that an operator wrote,
// else the caller's.
func (d *decision) pathSource(in Input) string {
	path := ""
	if i := find(d.caller, "PATH"); i >= 0 {
		path = d.caller[i].value
	}
	pick := func(v Var) {
		if v.Name == "PATH" && !v.FromCaller {
			path = v.Value
		}
	}
	for _, f := range in.Files {
		for _, v := range f.Vars {
			pick(v)
		}
	}
	for _, v := range in.Set {
		pick(v)
	}
	return path
}
