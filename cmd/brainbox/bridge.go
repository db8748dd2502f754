package main

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"brainbox/bridge/envelope"
	"brainbox/bridge/spec"
	"brainbox/internal/hold"
	"brainbox/launcher"
	"brainbox/policy"
)

// bridgeRun is what one run's bridge needs besides the policy.
type bridgeRun struct {
	c        *cli.Context
	pol      *policy.Policy
	place    *launcher.Place
	envelope string // its text; empty: the host has no tools
	roots    []launcher.BridgeRoot
	held     []*os.File // of the roots, opened once
	ask      bool
	hold     *os.File // the host's end, with ask
}

// wantsBridge reports whether the program is to reach the host at all.
func wantsBridge(c *cli.Context, p *policy.Policy) bool {
	return p.Bridge.Envelope != nil || len(p.Bridge.Roots) > 0 || c.Bool("ask") || c.String("gate") != ""
}

// newBridge reads the envelope and opens the roots; nil, nil where no bridge is asked for.
// The caller closes it.
func newBridge(c *cli.Context, p *policy.Policy, place *launcher.Place) (*bridgeRun, *launcher.Bridge, error) {
	if !wantsBridge(c, p) {
		return nil, nil, nil
	}
	b := &bridgeRun{c: c, pol: p, place: place, ask: c.Bool("ask")}
	out := &launcher.Bridge{Text: "bridge", Source: -1}
	if err := b.readEnvelope(out); err != nil {
		return nil, nil, err
	}
	if err := b.openRoots(); err != nil {
		b.close()
		return nil, nil, err
	}
	out.Roots = b.roots
	for out.FD = 3; slices.ContainsFunc(c.StringSlice("pass-fd"), func(f string) bool {
		return strings.TrimSuffix(f, ":w") == strconv.Itoa(out.FD)
	}); out.FD++ {
	}
	return b, out, nil
}

func (b *bridgeRun) close() {
	if b == nil {
		return
	}
	for _, f := range b.held {
		_ = f.Close()
	}
	if b.hold != nil {
		_ = b.hold.Close()
	}
	b.held, b.hold = nil, nil
}

// readEnvelope checks the envelope before anything is started, and takes from it what the
// program is told, and what it may not be given (contract bridge-and-gate, section A.9).
func (b *bridgeRun) readEnvelope(out *launcher.Bridge) error {
	at := b.pol.Bridge.Envelope
	if at == nil {
		return nil
	}
	out.Text, out.Source = at.Text, at.Source
	text, err := readPolicy(at.Abs)
	if err != nil {
		return refuse("bridge: "+err.Error(), "--bridge names a JSON file: a wp-codebox/parent-tool-bridge/v1")
	}
	e, err := envelope.DecodeBridge(text)
	if err == nil && e != nil {
		err = e.Validate(envelope.Launch{LocalTools: spec.Names(), Strict: true})
	}
	if err != nil {
		return refuse(quote(at.Text)+": "+err.Error(), "the bridge envelope is a wp-codebox/parent-tool-bridge/v1")
	}
	if e == nil { // {}: there is none
		return nil
	}
	b.envelope = string(text)
	if out.Env, err = e.Environment("brainbox"); err != nil {
		return refuse(quote(at.Text)+": "+err.Error(), "")
	}
	out.Scrub = e.HostVariables()
	out.Secrets = e.Secrets(os.Getenv)
	return nil
}

// defaultRoot is the checkout, or the current directory, whichever the program was granted:
// nobody has named it for the host, which may read what the program may not. Else it is "".
func defaultRoot(p *policy.Policy, place *launcher.Place) string {
	for _, dir := range [...]string{place.Git, place.Cwd} {
		real := resolvedSocket(dir)
		if dir != "" && slices.ContainsFunc(p.Grants, func(g policy.Grant) bool {
			return g.Right.Grants() && policy.Below(real, resolvedSocket(g.Abs))
		}) {
			return dir
		}
	}
	return ""
}

// openRoots opens the folders of mediated writes, once: what has the name later does not
// matter. Without a list it is defaultRoot, under the name repo.
func (b *bridgeRun) openRoots() error {
	roots := b.pol.Bridge.Roots
	if len(roots) == 0 {
		dir := defaultRoot(b.pol, b.place)
		if dir == "" {
			return refuse("bridge: the program may not read the current directory, so the host does not for it",
				"name the folders of the host's tools: [bridge] roots = { repo = \"DIR\" }")
		}
		roots = map[string]policy.Path{"repo": {Text: dir, Abs: dir, Source: -1}}
	}
	var names []string
	for name := range roots {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		p := roots[name]
		fd, err := unix.Open(p.Abs, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if errors.Is(err, unix.ENOENT) && p.Skip {
			continue
		}
		if err != nil {
			return refuse("bridge: root "+quote(name)+": "+quote(p.Text)+": "+err.Error(), "a root is a folder that exists")
		}
		f := os.NewFile(uintptr(fd), p.Abs)
		b.held = append(b.held, f)
		real, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
		if err != nil {
			return refuse("bridge: root "+quote(name)+": "+err.Error(), "")
		}
		b.roots = append(b.roots, launcher.BridgeRoot{Name: name, Path: real, Source: p.Source})
	}
	return nil
}

// holder lets the host ask on this terminal: the program's end is held while it does. It
// returns the end for the one who runs the program; nil: nobody asks here.
func (b *bridgeRun) holder() (*os.File, error) {
	if b == nil || !b.ask {
		return nil, nil
	}
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, refuse("--ask: "+err.Error(), "--ask needs a terminal; brainbox approve answers from another one")
	}
	_ = tty.Close()
	host, runner, err := hold.Pair()
	if err != nil {
		return nil, err
	}
	b.hold = host
	return runner, nil
}
