package proxy

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// hops are the fields that are between two ends of one connection (RFC 9110, section 7.6.1);
// every Proxy-* is one too. Trailer is written anew where there are any.
var hops = map[string]bool{
	"Connection": true, "Keep-Alive": true, "Te": true, "Trailer": true, "Transfer-Encoding": true, "Upgrade": true,
	"Http2-Settings": true,
}

// strip removes what is not passed on, and what Connection names.
func strip(h http.Header) {
	for _, v := range h["Connection"] {
		for name := range strings.SplitSeq(v, ",") {
			h.Del(strings.Trim(name, " \t"))
		}
	}
	for name := range h {
		if hops[name] || strings.HasPrefix(name, "Proxy-") {
			delete(h, name)
		}
	}
}

// outgoing is the request as the origin gets it: the same, from nobody else. Nothing is
// added that tells of the way here (no Via, no X-Forwarded-For): the origin is a stranger.
// further: it is for another proxy, whose part it is to say "OPTIONS *".
func outgoing(ctx context.Context, req *http.Request, name string, port uint16, further bool) *http.Request {
	trailers := strings.EqualFold(req.Header.Get("Te"), "trailers")
	out := req.WithContext(ctx)
	strip(out.Header)
	if trailers {
		out.Header.Set("Te", "trailers")
	}
	if req.ProtoMinor == 0 {
		out.Header.Del("Expect") // RFC 9110, section 10.1.1
	}
	if _, ok := out.Header["User-Agent"]; !ok {
		out.Header.Set("User-Agent", "") // net/http would add its own
	}
	out.RequestURI, out.Close = "", false
	out.Host = authorityOf(name, port)
	whole := *req.URL
	out.URL = &whole
	out.URL.Scheme, out.URL.Host = "http", out.Host
	if req.Method == http.MethodOptions && req.URL.Path == "" && req.URL.RawQuery == "" {
		out.URL.Path = "*" // RFC 9112, section 3.2.4
		if further {
			out.URL.Path, out.URL.Opaque = "", "//"+out.Host
		}
	}
	return out
}

// authorityOf is the Host field for a name that was decided about.
func authorityOf(name string, port uint16) string {
	if port != 80 {
		return net.JoinHostPort(name, strconv.Itoa(int(port)))
	}
	if strings.Contains(name, ":") {
		return "[" + name + "]"
	}
	return name
}
