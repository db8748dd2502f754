package main

import (
	"fmt"
	"os"
	"path/filepath"

	"brainbox/launcher"
	"brainbox/policy"
)

// sameBinds gives bwrap the namespaces and the file system of a run: every bind, file
// system, mask and link that brainbox makes for the policy, from the same plan. file is "" for
// the default policy. What bwrap makes for --dev takes the place of what brainbox makes in
// /dev, and a folder that stays that of the private ones.
func (p *place) sameBinds(env []string, dir, file string) ([]string, error) {
	mounts, err := p.mounts(env, dir, file)
	if err != nil {
		return nil, err
	}
	argv := []string{"/usr/bin/bwrap", "--unshare-all", "--die-with-parent", "--dev", "/dev"}
	for i := range mounts {
		words, err := p.bwrapWords(&mounts[i])
		if err != nil {
			return nil, err
		}
		argv = append(argv, words...)
	}
	return append(argv, "--chdir", dir, "--", "/bin/true"), nil
}

// mounts is what brainbox would mount.
func (p *place) mounts(env []string, dir, file string) ([]launcher.Mount, error) {
	back, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	if err := os.Chdir(dir); err != nil {
		return nil, err
	}
	defer func() { _ = os.Chdir(back) }()
	look, err := launcher.Look(env)
	if err != nil {
		return nil, err
	}
	var layer *policy.Layer
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if layer, err = policy.Parse(policy.KindFile, file, text); err != nil {
			return nil, err
		}
	}
	flags := policy.NewFlagLayer()
	if err := flags.Set("sandbox.isolation", "--isolation namespaces", "namespaces"); err != nil {
		return nil, err
	}
	layers, err := policy.Layers("", layer, flags)
	if err != nil {
		return nil, err
	}
	resolved, err := policy.Resolve(policy.Input{Vars: look.Vars()}, layers...)
	if err != nil {
		return nil, err
	}
	facts, err := launcher.Observe(resolved, look, launcher.Request{Command: []string{"/bin/true"}})
	if err != nil {
		return nil, err
	}
	defer facts.Close()
	plan := launcher.NewPlan(resolved, facts)
	if plan.Refusal != nil {
		return nil, plan.Refusal
	}
	return plan.Mounts, nil
}

// bwrapWords are the options that make bwrap do what m does. A place to bind to it makes
// itself.
func (p *place) bwrapWords(m *launcher.Mount) ([]string, error) {
	bind := "--ro-bind"
	if m.Writable {
		bind = "--bind"
	}
	switch {
	case m.Kind == launcher.MountGrant, policy.Below(m.Path, "/dev") && m.Path != "/dev/shm":
		return nil, nil
	case m.Kind == launcher.MountDir:
		return []string{"--dir", m.Path}, nil
	case m.Kind == launcher.MountLink:
		return []string{"--symlink", m.Source, m.Path}, nil
	case m.Kind == launcher.MountFile && len(m.Data) == 0:
		return nil, nil
	case m.Kind == launcher.MountFile:
		name := filepath.Join(p.root, "standin", filepath.Base(m.Path))
		return []string{bind, name, m.Path}, write(name, string(m.Data))
	case m.Kind == launcher.MountFS && m.FSType == "proc":
		return []string{"--proc", m.Path}, nil
	case m.Kind == launcher.MountFS:
		return []string{"--tmpfs", m.Path}, nil
	case m.Kind == launcher.MountMask:
		return []string{"--ro-bind", "/dev/null", m.Path}, nil
	case m.Kind == launcher.MountSelf:
		return []string{bind, m.Path, m.Path}, nil
	case m.Held.In == launcher.HeldHome, m.Held.In == launcher.HeldTmp:
		name := filepath.Join(p.root, "standin", "private", filepath.Base(m.Path))
		return []string{bind, name, m.Path}, os.MkdirAll(name, 0o700)
	case m.Held.In == launcher.HeldGitConfig:
		name := filepath.Join(p.root, "standin", "gitconfig")
		return []string{bind, name, m.Path}, write(name, "")
	case m.Kind == launcher.MountBind:
		return []string{bind, m.Source, m.Path}, nil
	}
	return nil, fmt.Errorf("bwrap has nothing for %s %q", m.Kind, m.Path)
}
