package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"brainbox/envfilter"
	"brainbox/launcher"
	"brainbox/policy"
)

// maxPolicy bounds a policy text, in bytes.
const maxPolicy = 1 << 20

// flagLayer turns the command line into the last layer of the policy.
func flagLayer(c *cli.Context) (*policy.Layer, error) {
	l := policy.NewFlagLayer()
	for _, f := range listFlags() {
		for _, v := range c.StringSlice(f.name) {
			typed := "--" + f.name + " " + v
			var err error
			switch {
			case f.right != policy.RightNone:
				err = l.AddGrant(typed, v, f.right)
			case f.key == "env":
				err = l.AddEnv(typed, v)
			default:
				err = l.Set(f.key, typed, v)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	for _, f := range scalarFlags() {
		if !c.IsSet(f.name) {
			continue
		}
		if err := l.Set(f.key, "--"+f.name+" "+c.String(f.name), c.String(f.name)); err != nil {
			return nil, err
		}
	}
	for name, key := range map[string]string{"git-config": "sandbox.git_config", "keep-created": "sandbox.keep_created"} {
		if c.Bool(name) {
			if err := l.Set(key, "--"+name, "true"); err != nil {
				return nil, err
			}
		}
	}
	return l, nil
}

// resolve finds the policy that applies here: --policy, $BRAINBOX_POLICY, the caller's
// own file, else the built-in default; then the flags, then the project's file, which
// can only narrow.
//
// more come between the file and the flags.
func resolve(c *cli.Context, place *launcher.Place, more ...*policy.Layer) (*policy.Policy, error) {
	flags, err := flagLayer(c)
	if err != nil {
		return nil, err
	}
	file, err := policyFile(c, place)
	if err != nil {
		return nil, err
	}
	layers, err := policy.Layers(c.String("profile"), file, flags)
	if err != nil {
		return nil, err
	}
	layers = slices.Insert(layers, len(layers)-1, more...) // the flags are always there, and last
	if layers, err = withGate(c, layers); err != nil {
		return nil, err
	}
	return resolveLayers(place, layers)
}

// resolveLayers merges layers and applies the project's own file.
func resolveLayers(place *launcher.Place, layers []*policy.Layer) (*policy.Policy, error) {
	in := policy.Input{Vars: place.Vars(), Read: readPolicy, Inside: launcher.Inside}
	p, err := policy.Resolve(in, layers...)
	if err != nil {
		return nil, err
	}
	return narrow(p, in, place)
}

// withGate puts the file of --gate before the flags.
func withGate(c *cli.Context, layers []*policy.Layer) ([]*policy.Layer, error) {
	name := c.String("gate")
	if name == "" {
		return layers, nil
	}
	text, err := readPolicy(name)
	if err != nil {
		return nil, refuse("gate: "+err.Error(), "--gate names permissions as JSON, or TOML with [gate]")
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	gate, err := policy.ParseGate(abs, text)
	if err != nil {
		return nil, err
	}
	return slices.Insert(layers, len(layers)-1, gate), nil // the flags are always there, and last
}

func policyFile(c *cli.Context, place *launcher.Place) (*policy.Layer, error) {
	name := c.String("policy")
	if name == "" {
		name = os.Getenv("BRAINBOX_POLICY")
	}
	if name == "" && place.ConfigDir() != "" {
		own := place.ConfigDir() + "/policy.toml"
		if _, err := os.Lstat(own); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		name = own
	}
	if name == "" {
		return nil, nil
	}
	text, err := readPolicy(name)
	if err != nil {
		return nil, refuse("policy: "+err.Error(), "--policy names a TOML file; brainbox.toml(5) has one to start from")
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	return policy.Parse(policy.KindFile, abs, text)
}

// readPolicy reads a policy text of bounded size.
func readPolicy(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxPolicy+1))
	if err == nil && len(text) > maxPolicy {
		err = &fs.PathError{Op: "read", Path: name, Err: unix.EFBIG}
	}
	return text, err
}

// narrow applies the project's own file, from the current directory or the top of the
// checkout. It is opened without following a link: the project could point it anywhere.
func narrow(p *policy.Policy, in policy.Input, place *launcher.Place) (*policy.Policy, error) {
	for _, dir := range []string{place.Cwd, place.Git} {
		if dir == "" {
			continue
		}
		name := filepath.Join(dir, launcher.ProjectPolicy)
		fd, err := unix.Open(name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			return nil, refuse(quote(name)+": "+err.Error(), "a project's policy is a regular file, not a link")
		}
		f := os.NewFile(uintptr(fd), name)
		defer f.Close()
		if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
			return nil, refuse(quote(name)+" is not a regular file", "a project's policy is a regular file, not a link")
		}
		text, err := io.ReadAll(io.LimitReader(f, maxPolicy+1))
		if err == nil && len(text) > maxPolicy {
			// What is cut off could be what narrows.
			err = refuse(quote(name)+" is larger than 1 MiB", "a project's policy is a short text")
		}
		if err != nil {
			return nil, err
		}
		layer, err := policy.Parse(policy.KindProject, name, text)
		if err != nil {
			return nil, err
		}
		in.Vars.ProjectDir = dir
		return policy.Narrow(p, layer, in)
	}
	return p, nil
}

// planned is what a command line would do.
type planned struct {
	pol     *policy.Policy
	facts   *launcher.Facts
	plan    *launcher.Plan
	bridge  *bridgeRun  // nil: there is none
	network *networkRun // nil: nobody serves it
}

func (p *planned) close() {
	p.facts.Close()
	p.bridge.close()
}

// plan decides what a command line would do. The caller closes it.
func plan(c *cli.Context, r launcher.Request) (*planned, error) {
	place, err := launcher.Look(os.Environ())
	if err != nil {
		return nil, err
	}
	return planOf(c, place, r, func() (*policy.Policy, error) { return resolve(c, place) })
}

// planOf decides what a command line would do under the policy that resolve gives.
func planOf(c *cli.Context, place *launcher.Place, r launcher.Request, resolve func() (*policy.Policy, error)) (*planned, error) {
	p, err := resolve()
	if err != nil {
		return nil, err
	}
	b, asked, err := newBridge(c, p, place)
	if err != nil {
		return nil, err
	}
	if b != nil {
		// The host is started for one plan: which one it is must be known before.
		r.Bridge, r.Untried = asked, false
		asked.Serve = b.serve
	}
	n := newNetwork(c, p)
	r.Proxy = n.asked()
	f, err := launcher.Observe(p, place, r)
	if err != nil {
		b.close()
		return nil, err
	}
	all := &planned{p, f, launcher.NewPlan(p, f), b, n}
	if served := all.plan.Network; served != nil {
		if _, err := hostRules(served); err != nil {
			all.close()
			return nil, err
		}
	}
	return all, nil
}

// secretHint says what to write instead of a secret on the command line, "" if none
// is there.
func secretHint(c *cli.Context) string {
	for _, v := range c.StringSlice("env") {
		name, _, ok := cutEnv(v)
		if ok && envfilter.LooksSecret(name) {
			return "--env " + name + "=… shows the value in the process list; --env " + name + " passes yours on"
		}
	}
	return ""
}

func cutEnv(v string) (name, value string, ok bool) {
	for i := range len(v) {
		if v[i] == '=' {
			return v[:i], v[i+1:], true
		}
	}
	return v, "", false
}
