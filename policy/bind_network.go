package policy

import (
	"strconv"
	"strings"
)

func (b *binder) network(key, name string, n *node) {
	net := &b.l.Policy.Network
	switch name {
	case "mode":
		if s, ok := b.str(key, n); ok {
			scalar(b, key, n, s, &net.Mode, b.parseMode)
		}
	case "connect_tcp":
		b.ports(key, n, &net.ConnectTCP)
	case "bind_tcp":
		b.ports(key, n, &net.BindTCP)
	case "publish":
		b.ports(key, n, &net.Publish)
	case "dns":
		if s, ok := b.str(key, n); ok {
			scalar(b, key, n, s, &net.DNS, word("none", "host"))
		}
	case "allow_hosts":
		b.list(key, n, func(n *node) {
			if s, ok := b.str(key, n); ok {
				element(b, key, n, s, &net.AllowHosts, ParseHost)
			}
		})
	case "upstream":
		if s, ok := b.str(key, n); ok {
			scalar(b, key, n, s, &net.Upstream, ParseUpstream)
		}
	case "resolver":
		if s, ok := b.str(key, n); ok {
			scalar(b, key, n, s, &net.Resolver, ParseResolver)
		}
	case "unix":
		b.paths(key, n, &net.Unix)
	}
}

func (b *binder) parseMode(s string) (NetworkMode, error) {
	m, err := ParseNetworkMode(s)
	if err == nil && m == NetProxy && b.l.Kind == KindExec {
		return m, flawf("`brainbox run` enforces it",
			"exec.toml cannot hold network mode \"proxy\": nothing supervises the program")
	}
	return m, err
}

func (b *binder) ports(key string, n *node, dst *[]Item[uint16]) {
	b.list(key, n, func(n *node) {
		if s, ok := b.number(key, n); ok {
			element(b, key, n, s, dst, ParsePort)
		}
	})
}

// ParseUpstream reads the proxy that the egress proxy goes through:
// http://HOST:PORT, without credentials or path.
func ParseUpstream(text string) (string, error) {
	bad := flawf(`write "http://proxy.example.com:3128"`, "not a proxy: ", strconv.Quote(text))
	rest, ok := strings.CutPrefix(text, "http://")
	if !ok {
		return "", bad
	}
	rest = strings.TrimSuffix(rest, "/")
	if strings.Contains(rest, "@") {
		return "", flawf("credentials do not belong into a policy", "a proxy with credentials")
	}
	h, err := ParseHost(rest)
	if err != nil || h.Port == 0 || strings.HasPrefix(h.Name, "*") {
		return "", bad
	}
	return "http://" + h.String(), nil
}

// ParseResolver reads the DNS server that names are looked up at in mode proxy: an address,
// not a name, which could not be looked up yet; then, if need be, a colon and a port. Without
// one it is 53. The result has a port: ADDRESS:PORT, an IPv6 address in brackets.
func ParseResolver(text string) (string, error) {
	h, err := ParseHost(text)
	if err != nil || !isAddress(h.Name) {
		return "", flawf(`write "192.0.2.53", "192.0.2.53:5353" or "[2001:db8::53]:53"`,
			"not the address of a name server: ", strconv.Quote(text))
	}
	if h.Port == 0 {
		h.Port = 53
	}
	return h.String(), nil
}
