package launcher

import (
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// Aftermath is what a run left behind that a host tool would run or trust.
type Aftermath struct {
	Protected    []Created // names of [Plan.Watch] that the run made
	Repositories []string  // repositories that it made, by the path of their git directory
	Config       []string  // executable keys that it changed: "path: key"
	Unread       []string  // folders that could not be looked at again

	// Replaced are protected names that are another file now, or gone. The program cannot do
	// that; a process of the host can, by renaming over one, and with the file the mount that
	// protects it goes (rename(2), mounts of another namespace): from then on the program may
	// have changed what has the name now.
	Replaced []string
}

// replaced compares what was held with what is there.
func (a *Aftermath) replaced(f *Facts) {
	for i := range f.Inside.Names {
		n := &f.Inside.Names[i]
		var was, is unix.Stat_t
		if n.Kind == NameAbsent || n.Err != nil || n.fd <= 0 || unix.Fstat(n.fd, &was) != nil {
			continue
		}
		if unix.Lstat(n.Path, &is) != nil || is.Dev != was.Dev || is.Ino != was.Ino {
			a.Replaced = append(a.Replaced, n.Path)
		}
	}
}

// Created is one name that was not there before the run.
type Created struct {
	Path  string
	Moved string // where it is now; "" if it is where it was made
	Err   error  // why it could not be moved
}

// After looks at what the run left, moves what it may not leave behind to quarantine, and
// compares configurations. It is called when the whole tree has ended, with the facts of
// the plan still held. Only the parents of watched names and the configurations that were
// there before are looked at.
func (p *Plan) After(f *Facts) *Aftermath {
	a := &Aftermath{}
	l := &looker{facts: f, dirs: map[string]dirState{}}
	defer l.close()
	quarantine := &quarantine{run: filepath.Base(f.RunDir), facts: f}
	defer quarantine.close()
	taken := map[string]bool{}
	for i := range p.Watch {
		w := &p.Watch[i]
		at, err := l.find(w)
		switch {
		case err != nil:
			a.unread(filepath.Dir(w.Path))
		case at == "" || taken[at]:
		case w.Whole:
			taken[at] = true
			a.Repositories = append(a.Repositories, at)
		default:
			taken[at] = true
			c := Created{Path: at}
			if !p.KeepCreated {
				c.Moved, c.Err = quarantine.take(w, at)
			}
			a.Protected = append(a.Protected, c)
		}
	}
	if f.Inside != nil {
		for i := range f.Inside.Repos {
			a.repository(&f.Inside.Repos[i])
		}
		if p.Isolation == "namespaces" {
			a.replaced(f)
		}
	}
	return a
}

func (a *Aftermath) unread(dir string) {
	if !slices.Contains(a.Unread, dir) {
		a.Unread = append(a.Unread, dir)
	}
}

// repository compares one repository with what it was: its configurations, and the git
// directories of its submodules.
func (a *Aftermath) repository(r *RepoFact) {
	for i := range r.Configs {
		c := &r.Configs[i]
		vars, ok := readConfig(c.Path)
		if !ok {
			if c.OK {
				a.Config = append(a.Config, c.Path+": it cannot be read any more")
			}
			continue
		}
		for _, key := range changedKeys(c.Vars, vars) {
			a.Config = append(a.Config, c.Path+": "+key)
		}
	}
	for _, dir := range r.ModuleDirs {
		modules, stopped := modulesBelow(dir)
		if stopped != "" {
			a.unread(stopped)
		}
		for _, module := range modules {
			if !slices.Contains(r.Modules, module) {
				a.Repositories = append(a.Repositories, module)
			}
		}
	}
}
