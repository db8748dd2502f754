package main

import (
	"math/rand/v2"
	"net"
	"strconv"
	"testing"

	"brainbox/internal/netask"
	"brainbox/launcher"
	"brainbox/policy"
	"brainbox/proxy/allow"
)

// pick takes one of a list.
func pick(r *rand.Rand, list ...string) string { return list[r.IntN(len(list))] }

// why host says of any host what brainbox-host decides, which has the entries as they are sent
// to it.
func TestWhyHostIsWhatIsDecided(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // no secret
	name := func() string {
		out := pick(r, "a", "b", "A", "xn--k-0ga", "127", "0x7f", "_srv")
		for range r.IntN(3) {
			out += pick(r, ".", ".", ".", "..") + pick(r, "a", "b", "B", "test", "1", "ö")
		}
		return pick(r, out, out, out+".", "127.0.0.1", "127.1", "10.0.0.1", "::1", "::ffff:10.0.0.1", "*."+out)
	}
	seen := map[bool]int{}
	for range 3000 {
		p := &launcher.Plan{Network: &launcher.NetworkPlan{Proxy: true}}
		for range r.IntN(4) {
			text := name() + pick(r, "", "", ":443", ":80", ":22")
			h, err := policy.ParseHost(text)
			if err == nil {
				p.Network.Hosts = append(p.Network.Hosts, policy.Item[policy.Host]{V: h})
			}
		}
		if _, err := hostRules(p.Network); err != nil {
			continue // refused at the start
		}
		c, err := netask.DecodeConfig(networkConfig(p.Network).Encode())
		if err != nil {
			t.Fatal(err)
		}
		var sent []allow.Rule
		for _, one := range c.Rules {
			sent = append(sent, allow.Rule{Name: one.Name, Port: one.Port})
		}
		theirs, err := allow.New(sent)
		if err != nil {
			t.Fatalf("%v: brainbox-host refuses: %v", p.Network.Hosts, err)
		}
		host, port := name(), pick(r, "443", "80", "22", "8080")
		v, err := whyHost(&policy.Policy{Network: policy.Network{Mode: policy.Value[policy.NetworkMode]{V: policy.NetProxy}}}, p, net.JoinHostPort(host, port))
		if err != nil {
			t.Fatal(err)
		}
		n, _ := strconv.Atoi(port)
		want := theirs.Decide(allow.Query{Host: host, Port: uint16(n), Path: allow.Connect}).Allowed()
		if (v.status == whyAllowed) != want {
			t.Errorf("%v: %s:%s: why says %d, %s; allowed is %v", p.Network.Hosts, host, port, v.status, v.reason, want)
		}
		seen[want]++
	}
	if seen[true] == 0 || seen[false] == 0 {
		t.Errorf("nothing is compared: %v", seen)
	}
}
