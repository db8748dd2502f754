package launcher

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"

	"brainbox/internal/spawn"
	"brainbox/policy"
)

// reaching is a machine where somebody serves the program's network.
func reaching(environ ...string) world {
	return world{tree: append(debian(), "/home/u/co/x"), host: host{
		abi: 7, uid: 1000, command: []string{"true"},
		change: func(f *Facts) { f.Proxy, f.Environ = &Proxy{}, append(f.Environ, environ...) },
	}}
}

const proxyMode = "[network]\nmode = \"proxy\"\nallow_hosts = [\"a.example\"]\n"

// proxyEnv are the variables of a plan whose name says proxy.
func proxyEnv(p *Plan) []string {
	return slices.DeleteFunc(slices.Clone(p.Env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return !strings.Contains(strings.ToLower(name), "proxy")
	})
}

// esc/EV-13: the caller's proxies reach nobody, and the run's own are set in mode proxy. What
// an operator writes himself is his.
func TestWhoSetsTheProxyVariables(t *testing.T) {
	const url, socks, no = "http://127.0.0.1:1023", "socks5h://127.0.0.1:1023", "localhost,127.0.0.1,::1"
	all := []string{
		"ALL_PROXY=" + socks, "HTTPS_PROXY=" + url, "HTTP_PROXY=" + url, "NO_PROXY=" + no,
		"all_proxy=" + socks, "http_proxy=" + url, "https_proxy=" + url, "no_proxy=" + no,
	}
	without := func(changes ...string) []string {
		list := slices.DeleteFunc(slices.Clone(all), func(v string) bool {
			name, _, _ := strings.Cut(v, "=")
			return slices.ContainsFunc(changes, func(c string) bool {
				other, _, _ := strings.Cut(c, "=")
				return strings.EqualFold(name, other)
			})
		})
		return append(list, changes...)
	}
	var caller []string
	for _, v := range all {
		name, _, _ := strings.Cut(v, "=")
		caller = append(caller, name+"=http://caller:1")
	}
	for _, c := range []struct {
		name, text string
		file       string // an environment file
		want       []string
		refused    string
	}{
		{"none", "", "", nil, ""},
		{"host", "[network]\nmode = \"host\"\n", "", nil, ""},
		{"ports", "[network]\nmode = \"ports\"\nconnect_tcp = [443]\n", "", nil, ""},
		{"publish", "[network]\npublish = [3000]\n", "", nil, ""},
		{"proxy", proxyMode, "", all, ""},
		{"the caller's, named", "[env]\nallow = [\"HTTPS_PROXY\", \"no_proxy\"]\n" + proxyMode, "", all, ""},
		{"the caller's, named without a proxy", "[env]\nallow = [\"HTTPS_PROXY\"]\n", "", nil, "a proxy is not taken from the caller"},
		{"set", "[env]\nset = { HTTPS_PROXY = \"http://mine:1\" }\n" + proxyMode, "", without("HTTPS_PROXY=http://mine:1"), ""},
		{"set to nothing", "[env]\nset = { no_proxy = \"\" }\n" + proxyMode, "", without("no_proxy="), ""},
		{"both set", "[env]\nset = { http_proxy = \"a\", HTTP_PROXY = \"b\" }\n" + proxyMode, "", without("http_proxy=a", "HTTP_PROXY=b"), ""},
		{"a file", proxyMode, "ALL_PROXY=http://mine:1\nhttp_proxy\n", without("ALL_PROXY=http://mine:1"), ""},
		{"set without a proxy", "[env]\nset = { HTTPS_PROXY = \"http://mine:1\" }\n", "", []string{"HTTPS_PROXY=http://mine:1"}, ""},
	} {
		w := reaching(caller...)
		change := w.change
		w.change = func(f *Facts) {
			change(f)
			if c.file != "" {
				f.EnvFiles = []EnvFile{{Name: "vars", Text: []byte(c.file)}}
			}
		}
		p, _ := insidePlan(t, w, bare+c.text)
		got := ""
		if p.Refusal != nil {
			got = p.Refusal.Message
		}
		if (c.refused == "") != (got == "") || !strings.Contains(got, c.refused) {
			t.Errorf("%s: refusal %q, want %q", c.name, got, c.refused)
			continue
		}
		slices.Sort(c.want)
		if diff := cmp.Diff(c.want, proxyEnv(p), cmpopts.EquateEmpty()); c.refused == "" && diff != "" {
			t.Errorf("%s: variables (-want +got):\n%s", c.name, diff)
		}
	}
	pol, w := resolve(t, bare+proxyMode), reaching(caller...)
	if ok, why := ExplainEnv(pol, w.facts(pol), "https_proxy"); !ok || !strings.Contains(why, "the proxy of the run") {
		t.Errorf("why: %v, %s", ok, why)
	}
}

// esc/NW-19: a published port that the program can't listen on is refused, whatever may stay
// open: those of the proxy and of the resolver would be everybody's on the host.
func TestPublishedPortsAreTheProgramsOwn(t *testing.T) {
	for _, mode := range []string{"none", "proxy"} {
		for port, ok := range map[int]bool{1: false, 53: false, 80: false, ProxyPort: false, 1024: true, 65535: true} {
			text := fmt.Sprintf("[network]\nmode = %q\npublish = [3000, %d]\n[sandbox]\ndegraded = [\"hosts\"]\n", mode, port)
			p, _ := insidePlan(t, reaching(), bare+text)
			if started := p.Refusal == nil && p.Network != nil; started != ok {
				t.Errorf("mode %s, port %d: it starts: %v, want %v", mode, port, started, ok)
			}
			if ok {
				continue
			}
			if p.Network != nil {
				t.Errorf("mode %s, port %d: %+v is to be served", mode, port, p.Network)
			}
			if r := p.Refusal; r != nil && (r.Clause != "hosts" || !strings.Contains(r.Message, fmt.Sprintf(`"publish %d"`, port)) || r.Hint == "") {
				t.Errorf("mode %s, port %d: %+v", mode, port, r)
			}
		}
	}
}

// What a run's network does not take is refused by the plan, which check shows, and not by
// whoever serves it.
func TestAsManyPortsAsArePublished(t *testing.T) {
	for n, ok := range map[int]bool{mostPublished: true, mostPublished + 1: false} {
		var ports []string
		for i := range n {
			ports = append(ports, fmt.Sprint(20000+i))
		}
		p, _ := insidePlan(t, reaching(), bare+"[network]\npublish = ["+strings.Join(ports, ", ")+"]\n")
		if started := p.Refusal == nil && p.Network != nil; started != ok {
			t.Errorf("%d ports: it starts: %v, want %v", n, started, ok)
		}
		if r := p.Refusal; !ok && (r == nil || r.Clause != "hosts" || r.Hint != "publish fewer") {
			t.Errorf("%d ports: %+v", n, r)
		}
	}
}

// esc/NW-19: what needs a network namespace is refused where there is none, whatever may stay
// open, and isolation auto takes no other one.
func TestHostsWithoutANetworkNamespace(t *testing.T) {
	no := &Attempt{Step: spawn.StepNamespaces, Errno: unix.EPERM}
	accepted := "[sandbox]\ndegraded = [\"hosts\", \"network\"]\n"
	for name, network := range map[string]string{
		"by name": proxyMode, "an empty list": "[network]\nmode = \"proxy\"\n", "published": "[network]\npublish = [3000]\n",
	} {
		for _, c := range []struct {
			name, sandbox string
			refused       *Attempt
			unserved      bool
			isolation     string
			want          string // a part of the hint; "": it starts
		}{
			{"offered", accepted, nil, false, "namespaces", ""},
			{"not offered", accepted, no, false, "landlock", "brainbox probe"},
			{"landlock", accepted + "isolation = \"landlock\"\n", nil, false, "landlock", "--isolation namespaces"},
			{"nobody serves", accepted, nil, true, "namespaces", "brainbox run"},
			{"a library's", accepted + "isolation = \"namespaces\"\n", nil, true, "namespaces", "brainbox run"},
		} {
			w := reaching()
			change := w.change
			w.change = func(f *Facts) {
				change(f)
				if c.unserved {
					f.Proxy = nil
				}
			}
			p := resolve(t, bare+network+c.sandbox)
			f := w.facts(p)
			f.Refused = c.refused
			plan := NewPlan(p, f)
			if plan.Isolation != c.isolation || (plan.Network != nil) != (c.want == "") {
				t.Errorf("%s, %s: isolation %s, network %+v", name, c.name, plan.Isolation, plan.Network)
			}
			switch r := plan.Refusal; {
			case (r == nil) != (c.want == ""):
				t.Errorf("%s, %s: %+v", name, c.name, r)
			case r != nil && (r.Clause != "hosts" || r.Status != StatusRefused || !strings.Contains(r.Hint, c.want)):
				t.Errorf("%s, %s: %+v, want a hint with %q", name, c.name, r, c.want)
			}
		}
	}
}

// Isolation landlock is no way out for a program that needs a network of its own.
func TestNoHintLeadsToLandlock(t *testing.T) {
	insisted := "[sandbox]\nisolation = \"namespaces\"\n"
	for text, ok := range map[string]bool{insisted: true, insisted + proxyMode: false, insisted + "[network]\npublish = [3000]\n": false} {
		for _, step := range []spawn.Step{spawn.StepNamespaces, spawn.StepRoot} {
			p, w := resolve(t, bare+text), reaching()
			f := w.facts(p)
			f.Refused = &Attempt{Step: step, Errno: unix.EPERM}
			plan := NewPlan(p, f)
			hints := []*Refusal{plan.Refusal}
			plan.Refusal = nil
			var r *Refusal
			if errors.As(plan.startError(&spawn.Error{Step: step, Errno: unix.EPERM}), &r) {
				hints = append(hints, r)
			}
			for _, r := range hints {
				if r == nil || r.Hint == "" || strings.Contains(r.Hint, hintLandlock) != ok {
					t.Errorf("%q, %v: %+v", text, step, r)
				}
			}
		}
	}
}

// esc/PX-20: a list without an entry lets nothing through, and is no mistake. esc/PX-21: what
// is served was decided once; nothing that changes afterwards changes it.
func TestWhatIsServedIsDecidedOnce(t *testing.T) {
	for _, text := range []string{"[network]\nmode = \"proxy\"\n", "[network]\nmode = \"proxy\"\nallow_hosts = []\n"} {
		p, _ := insidePlan(t, reaching(), bare+text)
		if p.Refusal != nil || p.Network == nil || !p.Network.Proxy || len(p.Network.Hosts) > 0 {
			t.Errorf("%q: %+v, %+v", text, p.Refusal, p.Network)
		}
	}
	pol := resolve(t, bare+"[network]\nmode = \"proxy\"\nallow_hosts = [\"A.example:8443\", \"*.b.example\"]\npublish = [3000]\n"+
		"upstream = \"http://proxy.corp:3128\"\nresolver = \"192.0.2.53\"\n")
	w := reaching()
	f := w.facts(pol)
	plan := NewPlan(pol, f)
	want := &NetworkPlan{
		Hosts: []policy.Item[policy.Host]{
			{V: policy.Host{Name: "a.example", Port: 8443}, Source: 4}, {V: policy.Host{Name: "*.b.example"}, Source: 5},
		},
		Upstream: "http://proxy.corp:3128", Resolver: "192.0.2.53:53", Publish: []uint16{3000}, Proxy: true,
	}
	for range 2 {
		if diff := cmp.Diff(want, plan.Network); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		pol.Network.AllowHosts[0].V.Name, pol.Network.Publish[0].V = "other.example", 1
		pol.Network.Upstream.V, pol.Network.Resolver.V, pol.Network.Mode.V = "", "", policy.NetHost
	}
}

func TestPlainNode(t *testing.T) {
	for name, want := range map[string]string{
		"room": "room", "room.Example-1": "room.Example-1", "": "", "a b": "", "a\tb": "", "a\nnameserver x": "", "x#y": "", "\x1b[2J": "", "raum-ä": "",
	} {
		if got := plainNode(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// A file of the host's that programs look names up by leads past the run's resolver.
func TestGrantsOfTheFilesOfLookupsAreTold(t *testing.T) {
	for grant, want := range map[string]int{"/etc": 2, "/etc/resolv.conf": 1, "/etc/hosts": 0, "/srv/a": 0} {
		w := reaching()
		w.tree = append(w.tree, "/etc/nsswitch.conf")
		p, _ := insidePlan(t, w, "extends = [\"default\"]\n[filesystem]\nread = ["+quotePath(grant)+"]\n"+proxyMode)
		got := 0
		for _, n := range p.Notes {
			if strings.Contains(n, "is the host's, as granted") {
				got++
			}
		}
		if got != want || p.Refusal != nil {
			t.Errorf("%s: %d notes, want %d: %q, %+v", grant, got, want, p.Notes, p.Refusal)
		}
	}
}
