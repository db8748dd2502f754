package broker

import (
	"encoding/binary"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// address builds a socket address: family, then the rest.
func address(family uint16, rest string) []byte {
	return append(binary.NativeEndian.AppendUint16(nil, family), rest...)
}

// inet builds an Internet address of size bytes.
func inet(family uint16, port uint16, size int) []byte {
	b := binary.NativeEndian.AppendUint16(nil, family)
	b = binary.BigEndian.AppendUint16(b, port)
	return append(b, make([]byte, 128)...)[:size]
}

func TestDecide(t *testing.T) {
	var (
		stream  = kind{unix.AF_UNIX, unix.SOCK_STREAM, 0}
		packet  = kind{unix.AF_UNIX, unix.SOCK_SEQPACKET, 0}
		dgram   = kind{unix.AF_UNIX, unix.SOCK_DGRAM, 0}
		tcp     = kind{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_TCP}
		tcp6    = kind{unix.AF_INET6, unix.SOCK_STREAM, unix.IPPROTO_TCP}
		mptcp   = kind{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP}
		udp     = kind{unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_UDP}
		ping    = kind{unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP}
		route   = kind{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}
		vsock   = kind{unix.AF_VSOCK, unix.SOCK_STREAM, 0}
		none    = Rules{}
		ports   = Rules{Ports: []uint16{443}}
		dns     = Rules{Ports: []uint16{443}, UDP: true}
		all     = Rules{All: true}
		direct  = verdict{direct: true}
		long    = strings.Repeat("x", 108)
		refused = refuse(unix.EACCES)
		bad     = refuse(unix.EINVAL)
	)
	for name, tt := range map[string]struct {
		r    Rules
		k    kind
		a    []byte
		want verdict
	}{
		"nothing":                         {none, stream, nil, bad},
		"half a family":                   {none, stream, []byte{1}, bad},
		"a family alone":                  {none, stream, address(1, ""), bad},
		"another family":                  {none, stream, address(2, "/x"), bad},
		"no family":                       {all, stream, address(0, "/x"), bad},
		"a path":                          {none, stream, address(1, "/run/x\x00"), verdict{path: "/run/x"}},
		"a path without an end":           {none, stream, address(1, "/run/x"), verdict{path: "/run/x"}},
		"a path with something behind":    {none, stream, address(1, "/a\x00/b"), verdict{path: "/a"}},
		"a relative path":                 {none, packet, address(1, "x"), verdict{path: "x"}},
		"the longest path":                {none, stream, address(1, long), verdict{path: long}},
		"a longer one":                    {none, stream, address(1, long+"x"), bad},
		"an abstract name":                {all, stream, address(1, "\x00x"), refuse(unix.EPERM)},
		"the empty abstract name":         {none, stream, address(1, "\x00"), refuse(unix.EPERM)},
		"a datagram socket":               {all, dgram, address(1, "/run/x"), refused},
		"TCP without ports":               {none, tcp, inet(2, 443, 16), refused},
		"TCP to a port":                   {ports, tcp, inet(2, 443, 16), direct},
		"TCP to a port, a longer address": {ports, tcp, inet(2, 443, 128), direct},
		"TCP to another port":             {ports, tcp, inet(2, 80, 16), refused},
		"TCP with the bytes swapped":      {ports, tcp, inet(2, 443<<8&0xff00|443>>8, 16), refused},
		"TCP, a short address":            {ports, tcp, inet(2, 443, 15), bad},
		"TCP, an address of six":          {ports, tcp, inet(10, 443, 28), bad},
		"TCP, a path":                     {ports, tcp, address(1, "/run/x"), bad},
		"TCP, the end of a connection":    {none, tcp, inet(0, 0, 16), direct},
		"TCP over six":                    {ports, tcp6, inet(10, 443, 24), direct},
		"TCP over six, a short address":   {ports, tcp6, inet(10, 443, 23), bad},
		"TCP over six, another port":      {ports, tcp6, inet(10, 80, 28), refused},
		"MPTCP":                           {dns, mptcp, inet(2, 443, 16), refused},
		"UDP":                             {ports, udp, inet(2, 443, 16), refused},
		"UDP for names":                   {dns, udp, inet(2, 53, 16), direct},
		"a ping":                          {dns, ping, inet(2, 0, 16), refused},
		"all: TCP":                        {all, tcp, inet(2, 80, 16), direct},
		"all: a ping":                     {all, ping, inet(2, 0, 16), direct},
		"all: routes":                     {all, route, address(16, "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"), direct},
		"routes":                          {dns, route, address(16, "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"), refused},
		"another family of sockets":       {dns, vsock, inet(40, 0, 16), refused},
	} {
		if got := tt.r.decide(tt.k, tt.a); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}

func FuzzDecide(f *testing.F) {
	f.Add(1, 1, 0, []byte("\x01\x00/run/x\x00"), uint16(443), false)
	f.Add(2, 1, 6, inet(2, 443, 16), uint16(443), true)
	f.Fuzz(func(t *testing.T, domain, typ, protocol int, a []byte, port uint16, udp bool) {
		r := Rules{Ports: []uint16{port}, UDP: udp}
		v := r.decide(kind{domain, typ, protocol}, a)
		n := 0
		for _, is := range []bool{v.errno != 0, v.path != "", v.direct} {
			if is {
				n++
			}
		}
		if n != 1 {
			t.Fatalf("%+v is not one verdict", v)
		}
		if v.direct && domain != unix.AF_INET && domain != unix.AF_INET6 {
			t.Fatalf("%+v for a socket of family %d", v, domain)
		}
		if v.path != "" && (domain != unix.AF_UNIX || strings.ContainsRune(v.path, 0) || len(v.path) > 108) {
			t.Fatalf("%+v", v)
		}
	})
}

func TestYama(t *testing.T) {
	for scope, want := range map[string][2]bool{"0": {true, true}, "1": {true, true}, "2": {false, true}, "3": {false, false}, "x": {false, false}} {
		if got := [2]bool{yama(scope, false) == nil, yama(scope, true) == nil}; got != want {
			t.Errorf("scope %s: %v, want %v (without, with CAP_SYS_PTRACE)", scope, got, want)
		}
	}
}
