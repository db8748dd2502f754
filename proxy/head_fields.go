package proxy

import (
	"net/http"
	"strconv"
	"strings"
)

// fields are the values of each header field, by its name in lower case.
type fields map[string][]string

// parseFields takes the field lines apart. A line that begins with a blank is folded
// (RFC 9112, section 5.2), and a blank before the colon is an attack (section 5.1).
func parseFields(lines []string) (fields, error) {
	if len(lines) > maxFields {
		return nil, &badHead{http.StatusRequestHeaderFieldsTooLarge, "the request has too many header fields"}
	}
	f := make(fields, len(lines))
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		switch {
		case strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t"):
			return nil, bad("a header field is folded")
		case !ok || !isToken(name):
			return nil, bad("a header field has no proper name")
		case !isValue(value):
			return nil, bad("a header field has a control character")
		}
		name = strings.ToLower(name)
		f[name] = append(f[name], strings.Trim(value, " \t"))
	}
	return f, nil
}

// setFraming says where the body ends: by one length or by one chunked coding, never by
// both (RFC 9112, section 6.3).
func (h *head) setFraming(f fields) error {
	lengths, codings := f["content-length"], f["transfer-encoding"]
	switch {
	case len(lengths) > 1:
		return bad("the request has two lengths")
	case len(codings) > 1 || len(codings) == 1 && !strings.EqualFold(codings[0], "chunked"):
		return bad("the one transfer coding of a request is chunked")
	case len(codings) == 1 && len(lengths) == 1:
		return bad("the request has a length and a transfer coding")
	case len(codings) == 1 && h.minor == 0:
		return bad("HTTP/1.0 has no transfer coding")
	case len(codings) == 1:
		h.chunked = true
	case len(lengths) == 1:
		// Signs, blanks and lists are what readers differ about; ParseUint takes digits alone.
		n, err := strconv.ParseUint(lengths[0], 10, 63)
		if err != nil {
			return bad("the length of the request is no number")
		}
		h.length = int64(n)
	}
	if h.connect() && (h.chunked || h.length > 0) {
		return bad("CONNECT has no body")
	}
	return nil
}

// onlyH2C reports whether nothing but HTTP/2 in the clear is offered, which may be left out of
// what is passed on like any Upgrade (RFC 9110, section 7.8). Other protocols are what a client
// came for: it is told.
func onlyH2C(values []string) bool {
	for _, v := range values {
		for protocol := range strings.SplitSeq(v, ",") {
			if !strings.EqualFold(strings.Trim(protocol, " \t"), "h2c") {
				return false
			}
		}
	}
	return true
}

// check refuses what the proxy does not do, in place of passing it on half understood.
func (f fields) check() error {
	if !onlyH2C(f["upgrade"]) {
		return &badHead{http.StatusNotImplemented, "this proxy passes no Upgrade; CONNECT reaches any protocol"}
	}
	for _, v := range f["expect"] {
		if !strings.EqualFold(v, "100-continue") {
			return &badHead{http.StatusExpectationFailed, "the one expectation is 100-continue"}
		}
	}
	for _, v := range f["trailer"] {
		for name := range strings.SplitSeq(v, ",") {
			switch strings.ToLower(strings.Trim(name, " \t")) {
			case "transfer-encoding", "content-length", "trailer", "host":
				return bad("a trailer would say how the request is read")
			}
		}
	}
	return nil
}
