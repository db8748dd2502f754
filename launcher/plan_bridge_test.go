package launcher

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/broker"
)

// bridged gives facts a bridge whose envelope names a token that a variable holds.
func bridged(f *Facts) {
	f.Bridge = &BridgeFact{
		Bridge: Bridge{
			Text: "b.json", Source: -1, FD: 3, Env: []string{"WP_CODEBOX_PARENT_TOOL_DISPATCH_MODE=host_endpoint"},
			Scrub: []string{"TOKEN"}, Secrets: []string{"s3cr3t-value"},
		},
		ID: "0123456789abcdef", Dir: "/run/user/1000/brainbox/01234567",
	}
	f.Place.xdg[3] = testHome + "/.local/state"
	f.Broker = &broker.Offer{}
	f.Environ = append(f.Environ, "TOKEN=t", "NOTE=x s3cr3t-value y", "PLAIN=kept")
}

const bridgeEnv = "[env]\nallow = [\"TOKEN\", \"NOTE\", \"PLAIN\", \"LANG\"]\n"

func bridgeCases() []planCase {
	with := func(more func(*Facts)) host {
		return host{abi: 7, uid: 1000, command: []string{"true"}, change: func(f *Facts) { bridged(f); more(f) }}
	}
	return []planCase{
		{"bridge", bare + bridgeEnv, with(func(*Facts) {})},
		{"bridge-descriptor", bare, with(func(f *Facts) { f.Broker.GetFD = unix.EPERM })},
		{"bridge-long", bare, with(func(f *Facts) { f.Bridge.Long = true })},
		{"bridge-key-granted", bare + "read = [\"/home/u/.local\"]\n", with(func(*Facts) {})},
		{"bridge-sockets-granted", bare + "read = [\"/run/user/1000\"]\n", with(func(*Facts) {})},
	}
}

// What belongs to the bridge, and what holds a secret of its, is not handed on although the
// operator allows it by name.
func TestBridgeScrubsTheEnvironment(t *testing.T) {
	p := resolve(t, bare+bridgeEnv)
	h := host{abi: 7, uid: 1000, command: []string{"true"}, change: bridged}
	env := NewPlan(p, h.facts(p)).Env
	for _, v := range env {
		if strings.Contains(v, "s3cr3t") || strings.HasPrefix(v, "TOKEN=") || strings.HasPrefix(v, "NOTE=") {
			t.Errorf("the program is given %q", v)
		}
	}
	for _, want := range []string{
		"PLAIN=kept", "BRAINBOX_SESSION=0123456789abcdef", "BRAINBOX_SOCKET=/run/user/1000/brainbox/01234567/agent.sock",
		"WP_CODEBOX_PARENT_TOOL_DISPATCH_MODE=host_endpoint",
	} {
		if !slices.Contains(env, want) {
			t.Errorf("without %s: %q", want, env)
		}
	}
	h.change = func(f *Facts) { bridged(f); f.Bridge = nil } // positive control
	if env := NewPlan(p, h.facts(p)).Env; !slices.Contains(env, "TOKEN=t") || !slices.Contains(env, "NOTE=x s3cr3t-value y") {
		t.Errorf("without a bridge: %q", env)
	}
}

// A grant that holds the operator's key is refused, whatever it is called, and one with the
// key denied is not, where that can be held.
func TestBridgeKeyIsNotGranted(t *testing.T) {
	for _, c := range []struct {
		text    string
		inside  bool
		refused bool
	}{
		{"read = [\"/home/u/.local/state/brainbox\"]\n", false, true},
		{"read = [\"/home/u/.local/state/brainbox/operator.key\"]\n", false, true},
		{"read = [\"/home/u/.local/state/brainbox\"]\n", true, true},
		{"read = [\"/home/u/.local\"]\n", true, true},
		{"read = [\"/home/u/.local\"]\ndeny = [\"/home/u/.local/state/brainbox\"]\n", false, true},
		{"read = [\"/home/u/.local\"]\ndeny = [\"/home/u/.local/state/brainbox\"]\n", true, false},
		{"read = [\"/home/u/.local/share\"]\n", false, false},
	} {
		text := "[filesystem]\nexec = [\"/usr\"]\nwrite = [\"/home/u/co\"]\n" + c.text
		w := world{host: host{abi: 7, uid: 1000, command: []string{"true"}, change: bridged}, tree: append(debian(),
			"/home/u/.local/state/brainbox/operator.key", "/home/u/.local/share/x")}
		p := resolve(t, text)
		plan := newPlan(p, w.facts(p), c.inside)
		if (plan.Refusal != nil) != c.refused {
			t.Errorf("%s inside %v: %v", c.text, c.inside, plan.Refusal)
		}
	}
}

// A root of the host's that lies where the program is kept out is refused: nothing there is
// for the gate to decide.
func TestBridgeRootsAreNotKept(t *testing.T) {
	const text = "[filesystem]\nexec = [\"/usr\"]\nwrite = [\"/home/u/co\"]\ndeny = [\"/home/u/secret\"]\nprotect = [\"/home/u/kept\"]\n"
	for root, refused := range map[string]bool{
		"/home/u/secret": true, "/home/u/secret/x": true, "/home/u/kept": true, "/home/u/kept/x": true,
		"/home/u/.local/state/brainbox": true, "/run/user/1000/brainbox": true, "/run/user/1000/brainbox/01234567": true,
		"/home/u/co": false, "/home/u/co/sub": false, "/home/u/secrets": false,
	} {
		for _, inside := range []bool{false, true} {
			w := world{host: host{abi: 7, uid: 1000, command: []string{"true"}, change: func(f *Facts) {
				bridged(f)
				f.Bridge.Roots = []BridgeRoot{{Name: "r", Path: root, Source: -1}}
			}}, tree: append(debian(), "/home/u/secret/x/y", "/home/u/kept/x/y", "/home/u/co/sub/y")}
			p := resolve(t, text)
			plan := newPlan(p, w.facts(p), inside)
			if (plan.Refusal != nil) != refused || refused && plan.Refusal.Clause != "unix" {
				t.Errorf("%s inside %v: %v", root, inside, plan.Refusal)
			}
		}
	}
}

// What the program may write to is not believed, a single file neither.
func TestKeptWritesHasFiles(t *testing.T) {
	p := resolve(t, "[filesystem]\nexec = [\"/usr\"]\nwrite = [\"/home/u/co\", \"/home/u/tool\"]\nread = [\"/home/u/other\"]\n")
	w := world{host: host{abi: 7, uid: 1000, command: []string{"true"}, change: bridged}, tree: append(debian(), "/home/u/tool", "/home/u/other", "/home/u/co/x")}
	f := w.facts(p)
	got := NewPlan(p, f).Kept(f).Writes
	if !slices.Contains(got, "/home/u/tool") || !slices.Contains(got, "/home/u/co") || slices.Contains(got, "/home/u/other") {
		t.Errorf("%q", got)
	}
}
