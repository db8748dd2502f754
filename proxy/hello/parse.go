package hello

// parse reads a whole ClientHello (RFC 8446, 4.1.2; the same since TLS 1.0 with RFC 3546).
func parse(msg []byte) (string, State) {
	in := reader{rest: msg}
	in.take(2 + 32) // legacy_version, random
	session := in.vector8()
	suites := in.vector16()
	compression := in.vector8()
	if in.short || len(session) > 32 || len(suites) < 2 || len(suites)%2 != 0 || len(compression) == 0 {
		return "", Malformed
	}
	if len(in.rest) == 0 {
		return "", Absent // before RFC 3546 there were no extensions
	}
	extensions := reader{rest: in.vector16()}
	if in.short || len(in.rest) != 0 {
		return "", Malformed
	}
	return find(extensions)
}

// find walks all the extensions: a second server name behind the first is what one reader
// takes and another does not.
func find(in reader) (name string, s State) {
	s = Absent
	for len(in.rest) > 0 {
		kind := in.uint16()
		data := in.vector16()
		switch {
		case in.short:
			return "", Malformed
		case kind != 0: // server_name
			continue
		case s != Absent:
			return "", Malformed
		}
		var ok bool
		if name, ok = hostName(reader{rest: data}); !ok {
			return "", Malformed
		}
		s = Found
	}
	return name, s
}

// hostName reads a list of exactly one host_name. RFC 6066 has room for others, of which
// none was ever defined.
func hostName(in reader) (string, bool) {
	list := reader{rest: in.vector16()}
	kind := list.uint8()
	name := list.vector16()
	if in.short || list.short || len(in.rest) != 0 || len(list.rest) != 0 || kind != 0 {
		return "", false
	}
	if len(name) == 0 || len(name) > 255 {
		return "", false
	}
	for _, c := range name {
		if c <= ' ' || c >= 0x7f {
			return "", false
		}
	}
	return string(name), true
}

// reader takes pieces off the front. After the first that is not there everything is empty.
type reader struct {
	rest  []byte
	short bool
}

func (r *reader) take(n int) []byte {
	if n > len(r.rest) {
		r.rest, r.short = nil, true
		return nil
	}
	piece := r.rest[:n]
	r.rest = r.rest[n:]
	return piece
}

// uint8 and uint16 are zero where nothing is left.
func (r *reader) uint8() int {
	if b := r.take(1); b != nil {
		return int(b[0])
	}
	return 0
}

func (r *reader) uint16() int { return r.uint8()<<8 | r.uint8() }

func (r *reader) vector8() []byte { return r.take(r.uint8()) }

func (r *reader) vector16() []byte { return r.take(r.uint16()) }
