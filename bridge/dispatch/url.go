package dispatch

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"brainbox/bridge/envelope"
)

const (
	maxURL   = 8 << 10 // bytes
	maxToken = 8 << 10 // bytes
)

// address is where an endpoint is.
type address struct {
	url   *url.URL
	local bool // plain http: only to this machine
}

// parseURL reads the address of an endpoint (section A.6). It returns a code, which is empty
// for one that may be used. It looks no name up.
func parseURL(text string) (address, string) {
	if len(text) > maxURL || strings.ContainsAny(text, "#\\") {
		return address{}, envelope.CodeEndpointURLInvalid
	}
	for i := range len(text) {
		if text[i] <= ' ' || text[i] >= 0x7f {
			return address{}, envelope.CodeEndpointURLInvalid
		}
	}
	u, err := url.Parse(text)
	if err != nil || u.User != nil || u.Opaque != "" || !hostOK(u) {
		return address{}, envelope.CodeEndpointURLInvalid
	}
	switch u.Scheme {
	case "https":
		return address{url: u}, ""
	case "http":
		if !loopbackName(u.Hostname()) {
			return address{}, envelope.CodeEndpointInsecure
		}
		return address{url: u, local: true}, ""
	}
	return address{}, envelope.CodeEndpointURLInvalid
}

// hostOK accepts a name of letters, digits, hyphens and dots, or an address, and a port.
func hostOK(u *url.URL) bool {
	host, port := u.Hostname(), u.Port()
	if host == "" || strings.HasSuffix(u.Host, ":") {
		return false
	}
	if port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return false
		}
	}
	if strings.HasPrefix(u.Host, "[") {
		a, err := netip.ParseAddr(host)
		return err == nil && a.Is6() && a.Zone() == ""
	}
	for i := range len(host) {
		c := host[i] | 0x20
		letter := 'a' <= c && c <= 'z' || '0' <= host[i] && host[i] <= '9'
		if !letter && host[i] != '-' && host[i] != '.' {
			return false
		}
	}
	return true
}

// loopbackName accepts localhost, which must be looked at again when it has become an address,
// and the addresses of this machine.
func loopbackName(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

// tokenOK accepts what can be sent as a bearer token as it is.
func tokenOK(token string) bool {
	if len(token) > maxToken {
		return false
	}
	for i := range len(token) {
		if token[i] <= ' ' || token[i] >= 0x7f {
			return false
		}
	}
	return true
}
