package policy

import (
	"strconv"
	"strings"
)

const hostHint = `write "api.example.com", "*.example.org", "192.0.2.1" or "[2001:db8::1]", with ":443" for one port`

// ParseHost reads an entry of [network] allow_hosts: a name, *.name for every
// name below it, or an address; then, if need be, a colon and a port. Without a
// port it stands for 443 and 80. Names are lower-cased; a name beyond ASCII has
// to be written in its xn-- form, so that what is compared is what is read.
func ParseHost(text string) (Host, error) {
	if strings.Contains(text, "//") {
		return Host{}, flawf(hostHint, "a URL where a host belongs: ", strconv.Quote(text))
	}
	name, port, err := splitPort(text)
	if err != nil {
		return Host{}, err
	}
	h := Host{Name: strings.ToLower(name)}
	if port != "" {
		if h.Port, err = ParsePort(port); err != nil {
			return Host{}, err
		}
	}
	if isAddress(name) {
		return h, nil
	}
	return h, checkHostName(text, strings.TrimPrefix(h.Name, "*."))
}

// IsAddress reports whether the entry names an address, and not a name.
func (h Host) IsAddress() bool { return isAddress(h.Name) }

// String returns the entry as ParseHost reads it.
func (h Host) String() string {
	if h.Port == 0 {
		return h.Name
	}
	if strings.Contains(h.Name, ":") {
		return "[" + h.Name + "]:" + strconv.Itoa(int(h.Port))
	}
	return h.Name + ":" + strconv.Itoa(int(h.Port))
}

// splitPort takes "name:port", "[v6]:port" and a bare v6 address apart.
func splitPort(text string) (name, port string, err error) {
	bad := flawf(hostHint, "not a host: ", strconv.Quote(text))
	if rest, ok := strings.CutPrefix(text, "["); ok {
		name, port, ok = strings.Cut(rest, "]")
		if !ok || !strings.Contains(name, ":") || (port != "" && (port[0] != ':' || port == ":")) {
			return "", "", bad
		}
		if !isAddress(name) {
			return "", "", bad
		}
		return name, strings.TrimPrefix(port, ":"), nil
	}
	if strings.Count(text, ":") > 1 {
		if !isAddress(text) {
			return "", "", bad
		}
		return text, "", nil
	}
	name, port, colon := strings.Cut(text, ":")
	if colon && port == "" {
		return "", "", bad
	}
	return name, port, nil
}

func checkHostName(text, name string) error {
	bad := flawf(hostHint, "not a host: ", strconv.Quote(text))
	for i := range len(name) {
		if name[i] >= 0x80 {
			return flawf("write its xn-- form", "a host name beyond ASCII: ", strconv.Quote(text))
		}
	}
	if strings.Contains(name, "*") {
		return flawf("* stands only for whole labels in front, as in *.example.org",
			"a pattern that is not supported: ", strconv.Quote(text))
	}
	if name == "" || len(name) > 253 {
		return bad
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if !hostLabel(label) {
			return bad
		}
	}
	if last := labels[len(labels)-1]; digits(last) || hexNumber(last) { // inet_aton(3) reads 127.1 and 0x7f as addresses
		return bad
	}
	return nil
}

// hexNumber reports whether s is a number as C writes it in base 16.
func hexNumber(s string) bool {
	rest, ok := strings.CutPrefix(s, "0x")
	return ok && strings.Trim(rest, "0123456789abcdef") == ""
}

func hostLabel(s string) bool {
	if s == "" || len(s) > 63 || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if c != '-' && c != '_' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// isAddress reports whether s is an IPv4 or IPv6 address without a zone. It
// accepts what net/netip accepts; that package costs an initialisation at every
// start of the program.
func isAddress(s string) bool {
	if !strings.Contains(s, ":") {
		return isIPv4(s)
	}
	groups := 0
	head, tail, gap := strings.Cut(s, "::")
	for i, half := range []string{head, tail} {
		if half == "" {
			if !gap && i == 0 {
				return false
			}
			continue
		}
		parts := strings.Split(half, ":")
		for j, g := range parts {
			last := j == len(parts)-1 && (i == 1 || !gap)
			switch {
			case hexGroup(g):
				groups++
			case last && isIPv4(g):
				groups += 2
			default:
				return false
			}
		}
	}
	return !gap && groups == 8 || gap && groups <= 7 // a gap is at least one group
}

func hexGroup(s string) bool {
	return s != "" && len(s) <= 4 && strings.Trim(s, "0123456789abcdefABCDEF") == ""
}

func isIPv4(s string) bool {
	parts := strings.Split(s, ".")
	for _, p := range parts {
		n, err := strconv.ParseUint(p, 10, 8)
		if err != nil || p != strconv.FormatUint(n, 10) {
			return false
		}
	}
	return len(parts) == 4
}
