package launcher

import (
	"strings"

	"golang.org/x/sys/unix"

	"brainbox/policy"
)

// The files by which the C library looks names up.
const (
	resolvConf   = "/etc/resolv.conf"
	nsswitchConf = "/etc/nsswitch.conf"
	hostsFile    = "/etc/hosts"
)

// nsswitchText asks the files that are made for the run, and for hosts then the resolver
// (nsswitch.conf(5)): no service by a socket or by D-Bus, which would look names up outside
// (escape matrix NW-08).
const nsswitchText = `passwd: files
group: files
shadow: files
gshadow: files
initgroups: files
hosts: files dns
networks: files
protocols: files
services: files
ethers: files
rpc: files
netgroup: files
`

// resolv is the host's file where its resolver can be reached, the one of the run where it
// has one (resolv.conf(5)), else a file without a server.
func (m *mounter) resolv() string {
	n := &m.d.pol.Network
	switch {
	case n.Mode.V == policy.NetHost || n.Mode.V == policy.NetPorts && n.DNS.V == "host":
		return string(m.in.Resolv)
	case n.Mode.V == policy.NetProxy:
		return "nameserver " + loopback + "\n"
	}
	return "# no name server can be reached from here\n"
}

// hosts has the names of the program's own loopback, the machine's among them, which
// programs look up to find out who they are (hosts(5)). An address of the host's file would
// lead nowhere.
func (m *mounter) hosts() string {
	own := ""
	if m.in.Node != "" && m.in.Node != "localhost" {
		own = " " + m.in.Node
	}
	return loopback + " localhost" + own + "\n::1 localhost ip6-localhost ip6-loopback" + own + "\n"
}

// nodeName is the name of the machine, "" if it is none that a line of hosts(5) could hold.
func nodeName() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return plainNode(unix.ByteSliceToString(u.Nodename[:]))
}

func plainNode(name string) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"
	if strings.Trim(name, letters) != "" {
		return ""
	}
	return name
}

// ownLookup tells an operator whose own grant stands in the way of the resolver.
func (d *planner) ownLookup() {
	for _, path := range [...]string{resolvConf, nsswitchConf} {
		if d.operatorGrants(path) {
			d.plan.Notes = append(d.plan.Notes, quotePath(path)+
				" is the host's, as granted: programs that go by it may find no name; those that use the proxy do")
		}
	}
}
