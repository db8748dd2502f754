package proxy

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// setTarget finds host and port in the target: authority-form for CONNECT, absolute-form
// for every other method (RFC 9112, section 3.2). The host stays as it was written:
// package allow judges it.
func (h *head) setTarget() error {
	authority, absolute := h.target, "http://"+h.target
	if !h.connect() {
		var err error
		if authority, err = ofAbsolute(h.target); err != nil {
			return err
		}
		absolute = h.target
	} else if strings.ContainsAny(h.target, "/?") {
		return bad("the target of CONNECT is host:port")
	}
	// What is in front of an @ is no host, however much it looks like one.
	if strings.ContainsAny(authority, `@\`) || strings.Contains(h.target, "#") {
		return bad("the target has more than a host, a port, a path and a query")
	}
	var ok bool
	if h.host, h.port, ok = splitAuthority(authority); !ok || h.connect() && h.port == 0 {
		return bad("the target has no proper host and port")
	}
	if h.port == 0 {
		h.port = 80
	}
	// net/http reads the target again, and has to read the same.
	u, err := url.ParseRequestURI(absolute)
	if err != nil || u.Opaque != "" || u.User != nil || !strings.EqualFold(u.Host, unzoned(authority)) {
		return bad("the target is not a proper URI")
	}
	return nil
}

// ofAbsolute is the authority of an absolute-form target.
func ofAbsolute(target string) (string, error) {
	if strings.HasPrefix(target, "/") || target == "*" {
		return "", bad("this is a proxy: it wants a whole URL as the target, or CONNECT")
	}
	scheme, rest, ok := strings.Cut(target, "://")
	switch {
	case !ok || !isToken(scheme):
		return "", bad("this is a proxy: it wants a whole URL as the target, or CONNECT")
	case !strings.EqualFold(scheme, "http"):
		return "", &badHead{http.StatusNotImplemented, "this proxy fetches http URLs; CONNECT reaches any other protocol"}
	}
	if end := strings.IndexAny(rest, "/?"); end >= 0 {
		rest = rest[:end]
	}
	return rest, nil
}

// unzoned is the authority as package url has it: the one escape a host may have is the
// percent sign before a zone (RFC 6874).
func unzoned(authority string) string {
	if strings.HasPrefix(authority, "[") {
		return strings.Replace(authority, "%25", "%", 1)
	}
	return authority
}

// splitAuthority takes host:port apart; the brackets of an address stay. A port that is not
// there is 0.
func splitAuthority(s string) (host string, port uint16, ok bool) {
	host, digits, colon := strings.Cut(s, ":")
	if strings.HasPrefix(s, "[") {
		end := strings.IndexByte(s, ']') + 1
		if host, digits = s[:end], s[end:]; end == 0 {
			return "", 0, false
		}
		if digits, colon = strings.CutPrefix(digits, ":"); !colon && digits != "" {
			return "", 0, false
		}
	}
	if host == "" || !colon {
		return host, 0, host != ""
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || n == 0 || digits[0] == '0' {
		return "", 0, false
	}
	return host, uint16(n), true
}

// checkHost wants the Host field to name what the target names (RFC 9112, section 3.2): one
// field, and exactly one in HTTP/1.1. Clients leave its port away with CONNECT.
func (h *head) checkHost(values []string) error {
	switch {
	case len(values) > 1:
		return bad("the request has two Host fields")
	case len(values) == 0 && h.minor == 0:
		return nil
	case len(values) == 0:
		return bad("the request has no Host field")
	}
	host, port, ok := splitAuthority(values[0])
	if port == 0 {
		if port = 80; h.connect() {
			port = h.port
		}
	}
	if !ok || port != h.port || !strings.EqualFold(host, h.host) {
		return bad("the Host field does not name what the target names")
	}
	return nil
}
