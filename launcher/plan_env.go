package launcher

import (
	"errors"
	"path/filepath"
	"strconv"
	"strings"

	"brainbox/envfilter"
	"brainbox/policy"
)

// homeDir and tmpDir are where the program finds its private folders.
func (f *Facts) homeDir() string {
	// A wrapper keeps one home for each user anyway.
	if f.Home.Kind == "run" || f.Exec && f.Home.Kind == "keep" {
		return f.RunDir + "/home"
	}
	return f.Home.Dir
}

func (f *Facts) tmpDir() string {
	switch {
	case f.CallerTmp.Target != "":
		return f.CallerTmp.Target
	case f.Home.Kind == homeScratch:
		return "/tmp"
	}
	return f.RunDir + "/tmp"
}

// environment decides the clause env.
func (d *planner) environment() {
	c := Clause{Name: "env", State: StateEnforced, Mechanism: "filter"}
	if bare := d.pol.Bare; bare != nil {
		c.Mechanism, d.plan.Env = "the given variables alone", bare.Env
		d.add(c)
		return
	}
	in, err := d.envInput()
	var notes []envfilter.Note
	if err == nil {
		d.plan.Env, notes, err = envfilter.Build(in)
	}
	if err != nil {
		c.State, c.Requirement, c.mistaken = StateRefused, strings.TrimPrefix(err.Error(), "envfilter: "), true
		c.Route = "brainbox why env NAME says what a variable is given, and why"
		var ne *envfilter.NameError
		if errors.As(err, &ne) && ne.Hint != "" {
			c.Route = ne.Hint
		}
	}
	for _, n := range notes {
		c.Entries = append(c.Entries, Entry{Value: n.Name, State: StateEnforced, Note: n.Text, Source: -1})
	}
	d.scrub(&c)
	d.add(c)
}

// envInput is what the environment is made of; why env asks the same question.
func (d *planner) envInput() (envfilter.Input, error) {
	f, p := d.facts, &d.pol.Env
	in := envfilter.Input{
		Caller: f.Environ, User: f.Place.User, Shell: f.Place.Shell, Home: f.homeDir(), Tmp: f.tmpDir(),
		PathOK:    func(dir string) bool { return strings.Contains(":"+f.Path+":", ":"+dir+":") },
		Toolchain: f.toolchain(),
		Sockets:   d.socketVars(),
		Proxies:   d.proxyVars(),
		Fixed:     d.bridgeVars(),
	}
	if len(f.GitConfig) > 0 {
		in.GitConfig = f.RunDir + "/gitconfig"
	}
	if f.Identity != nil {
		in.User = f.Identity.User
	}
	if !f.shellGranted() {
		in.Shell = ""
	}
	for _, a := range p.Allow {
		in.Allow = append(in.Allow, a.V)
	}
	for _, s := range p.Set {
		in.Set = append(in.Set, envfilter.Var{Name: s.V.Name, Value: s.V.Value})
	}
	for _, file := range f.EnvFiles {
		vars, err := envfilter.ParseFile(file.Text)
		if err != nil {
			return in, errors.New(strconv.Quote(file.Name) + ": " + strings.TrimPrefix(err.Error(), "envfilter: "))
		}
		in.Files = append(in.Files, envfilter.File{Name: file.Name, Vars: vars})
	}
	if p.CABundle != nil {
		in.CABundle = p.CABundle.Abs
	}
	return in, nil
}

// shellGranted reports whether the user's own shell can be executed inside.
func (f *Facts) shellGranted() bool {
	for i, w := range f.Wants {
		if f.Paths[i].Err == nil && w.Right.Execs() && policy.Below(f.Place.shell, f.Paths[i].Target) {
			return true
		}
	}
	return false
}

// toolchain points each granted toolchain of the home folder at where it really is: the
// program's HOME is private, and cargo, go and the version managers look there first.
func (f *Facts) toolchain() []envfilter.Var {
	var vars []envfilter.Var
	for _, t := range [...][3]string{
		{".rustup", "RUSTUP_HOME", ""},
		{"go/pkg/mod", "GOMODCACHE", ""},
		{".pyenv", "PYENV_ROOT", ""},
		{".rbenv", "RBENV_ROOT", ""},
		{".nvm/versions", "NVM_DIR", ".nvm"},
		{".asdf/installs", "ASDF_DATA_DIR", ".asdf"},
		{".local/share/mise/installs", "MISE_DATA_DIR", ".local/share/mise"},
		{".volta/tools", "VOLTA_HOME", ".volta"},
		{".local/lib", "PYTHONUSERBASE", ".local"},
		{".nodenv/versions", "NODENV_ROOT", ".nodenv"},
		{".local/share/uv/python", "UV_PYTHON_INSTALL_DIR", ""},
		{".cache/node-gyp", "npm_config_devdir", ""},
		{".cache/ms-playwright", "PLAYWRIGHT_BROWSERS_PATH", ""},
		{".cache/puppeteer", "PUPPETEER_CACHE_DIR", ""},
		{".cache/Cypress", "CYPRESS_CACHE_FOLDER", ""},
	} {
		value := f.Place.Home + "/" + firstOf(t[2], t[0])
		if f.granted(f.Place.Home + "/" + t[0]) {
			vars = append(vars, envfilter.Var{Name: t[1], Value: value})
		}
	}
	if f.granted(f.Place.Home+"/.cargo/registry") || f.granted(f.Place.Home+"/.cargo/git") {
		vars = append(vars, envfilter.Var{Name: "CARGO_HOME", Value: f.homeDir() + "/.cargo"})
	}
	return vars
}

// socketVars are the caller's variables that name a listed socket: who lists his agent's
// socket wants ssh-add to find it.
func (d *planner) socketVars() []envfilter.Var {
	var vars []envfilter.Var
	for _, name := range [...]string{"DOCKER_HOST", "SSH_AUTH_SOCK"} {
		value := lookup(d.facts.Environ, name)
		path := value
		if name == "DOCKER_HOST" {
			path, _ = strings.CutPrefix(value, "unix://")
		}
		if filepath.IsAbs(path) && d.plan.connects(filepath.Clean(path)) {
			vars = append(vars, envfilter.Var{Name: name, Value: value})
		}
	}
	return vars
}

// connects reports whether the clause unix lists a path, as it is written or as it resolves,
// and grants it.
func (p *Plan) connects(path string) bool {
	for i := range p.Clauses {
		if p.Clauses[i].Name != "unix" {
			continue
		}
		for _, e := range p.Clauses[i].Entries {
			if e.Source >= 0 && (e.State == StateEnforced || e.State == StateOpen) && (e.Path == path || e.Target == path) {
				return true
			}
		}
	}
	return false
}

// granted reports whether the policy names exactly this path and it was opened.
func (f *Facts) granted(path string) bool {
	if f.Place.Home == "" {
		return false
	}
	for i, w := range f.Wants {
		if w.Abs == path && f.Paths[i].Err == nil && w.Right.Grants() {
			return true
		}
	}
	return false
}
