package proxy

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"strings"
)

const (
	resolvConf     = "/etc/resolv.conf"
	maxNameServers = 3 // MAXNS of resolv.h; resolv.conf(5)
)

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

func dialServer(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, network, address)
}

// remembering dials the name servers that a resolv.conf had, when it may not be read any more:
// a process that is confined keeps its right on the file that was there, and what manages it
// puts another one in its place. Package net asks this machine then (net.defaultNS), in that
// order: 127.0.0.1 and ::1.
func remembering(servers []string, forbidden func() bool, dial dialFunc) dialFunc {
	if len(servers) == 0 {
		return dial
	}
	instead := map[string]string{"127.0.0.1:53": servers[0], "[::1]:53": servers[min(1, len(servers)-1)]}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if to, ok := instead[address]; ok && forbidden() {
			address = to
		}
		return dial(ctx, network, address)
	}
}

// resolvConfForbidden reports whether this process may not read what is there now.
func resolvConfForbidden() bool {
	f, err := os.Open(resolvConf)
	if err == nil {
		_ = f.Close()
	}
	return errors.Is(err, fs.ErrPermission)
}

// nameServers reads the name servers of a resolv.conf, ADDR:53, as package net does.
func nameServers(path string) []string {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	var servers []string
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "nameserver" || len(servers) == maxNameServers {
			continue
		}
		if _, err := netip.ParseAddr(words[1]); err == nil {
			servers = append(servers, net.JoinHostPort(words[1], "53"))
		}
	}
	return servers
}
