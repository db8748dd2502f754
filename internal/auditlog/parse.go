package auditlog

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
)

// The types of records that are read (linux/audit.h).
const (
	typeCall   = 1300 // AUDIT_SYSCALL
	typeEnd    = 1320 // AUDIT_EOE
	typeAccess = 1423 // AUDIT_LANDLOCK_ACCESS
	typeDomain = 1424 // AUDIT_LANDLOCK_DOMAIN
)

// Access is one refusal.
type Access struct {
	Domain   uint64
	Blockers []string // what was missing: "fs.make_reg", "net.connect_tcp", "scope.signal"
	Path     string   // "" if it was about no file
	Dev      string
	Inode    uint64
	Port     uint16 // 0: it was about none
}

// domain is the record that comes with the first refusal of a domain, or at its end.
type domain struct {
	id      uint64
	made    bool // else it is gone
	pid     int  // of the process that made it
	exe     string
	denials uint64 // that it had at its end
}

// call is the system call that an event belongs to.
type call struct {
	pid  int
	comm string
}

var (
	errForm  = errors.New("auditlog: no audit record")
	errField = errors.New("auditlog: a field that is missing or malformed")
)

// field is one name=value. A value in quotes has none of its own, nor a control character: the
// kernel writes such a string as hexadecimal digits (audit_log_untrustedstring).
type field struct {
	value  string
	quoted bool
}

// parse takes the text of a record apart: "audit(SECONDS.MS:SERIAL): name=value …".
func parse(text []byte) (serial uint64, fields map[string]field, err error) {
	text = bytes.TrimRight(text, "\x00\n")
	rest, ok := bytes.CutPrefix(text, []byte("audit("))
	stamp, rest, closed := bytes.Cut(rest, []byte("): "))
	clock, number, colon := bytes.Cut(stamp, []byte(":"))
	seconds, ms, dot := bytes.Cut(clock, []byte("."))
	if !ok || !closed || !colon || !dot || !digits(seconds) || !digits(ms) || !digits(number) {
		return 0, nil, errForm
	}
	if serial, err = strconv.ParseUint(string(number), 10, 64); err != nil {
		return 0, nil, errForm
	}
	fields = map[string]field{}
	for len(rest) > 0 {
		name, f, after, err := one(rest)
		if err != nil {
			return 0, nil, err
		}
		if _, twice := fields[name]; twice {
			return 0, nil, errForm
		}
		fields[name], rest = f, after
	}
	return serial, fields, nil
}

// one takes the first field off.
func one(text []byte) (name string, f field, rest []byte, err error) {
	key, after, ok := bytes.Cut(text, []byte("="))
	if !ok || len(key) == 0 || bytes.ContainsFunc(key, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-'
	}) {
		return "", f, nil, errForm
	}
	end := len(after)
	if len(after) > 0 && after[0] == '"' {
		n := bytes.IndexByte(after[1:], '"')
		if n < 0 {
			return "", f, nil, errForm
		}
		f.quoted, f.value, end = true, string(after[1:1+n]), n+2
	} else {
		if n := bytes.IndexByte(after, ' '); n >= 0 {
			end = n
		}
		f.value = string(after[:end])
	}
	rest = after[end:]
	if len(rest) > 0 && rest[0] != ' ' || strings.ContainsFunc(f.value, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return "", f, nil, errForm
	}
	return string(key), f, bytes.TrimPrefix(rest, []byte(" ")), nil
}

func digits(text []byte) bool {
	return len(text) > 0 && !bytes.ContainsFunc(text, func(c rune) bool { return c < '0' || c > '9' })
}

// reader takes values out of fields, and remembers whether one was wrong.
type reader struct {
	fields map[string]field
	bad    bool
}

func (r *reader) number(name string, base, bits int) uint64 {
	f, ok := r.fields[name]
	n, err := strconv.ParseUint(f.value, base, bits)
	if !ok || f.quoted || err != nil {
		r.bad = true
	}
	return n
}

// text is a string that somebody else chose: in quotes, or as digits.
func (r *reader) text(name string) string {
	f, ok := r.fields[name]
	if !ok {
		r.bad = true
		return ""
	}
	if f.quoted || f.value == "(null)" || f.value == "(none)" {
		return strings.TrimSuffix(strings.TrimSuffix(f.value, "(null)"), "(none)")
	}
	raw, err := hex.DecodeString(f.value)
	if err != nil || len(raw) == 0 || bytes.IndexByte(raw, 0) >= 0 {
		r.bad = true
		return ""
	}
	return string(raw)
}

func (r *reader) has(name string) bool { _, ok := r.fields[name]; return ok }

func (r *reader) err() error {
	if r.bad {
		return errField
	}
	return nil
}

func parseAccess(fields map[string]field) (*Access, error) {
	r := &reader{fields: fields}
	a := &Access{Domain: r.number("domain", 16, 64), Blockers: strings.Split(fields["blockers"].value, ",")}
	for _, b := range a.Blockers {
		class, what, dot := strings.Cut(b, ".")
		if b != "ptrace" && (!dot || class == "" || !word(what)) {
			r.bad = true
		}
	}
	if r.has("path") {
		a.Path = r.text("path")
		if a.Path != "" && a.Path[0] != '/' {
			a.Path = "" // "(unreachable)" and the like are no names
		}
	}
	if r.has("dev") {
		a.Dev = r.text("dev")
	}
	if r.has("ino") {
		a.Inode = r.number("ino", 10, 64)
	}
	for _, name := range []string{"dest", "src"} { // of a connect, of a bind
		if a.Port == 0 && r.has(name) {
			a.Port = uint16(r.number(name, 10, 16))
		}
	}
	return a, r.err()
}

func word(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool { return (c < 'a' || c > 'z') && c != '_' })
}

func parseDomain(fields map[string]field) (*domain, error) {
	r := &reader{fields: fields}
	d := &domain{id: r.number("domain", 16, 64)}
	switch fields["status"].value {
	case "allocated":
		d.made, d.pid, d.exe = true, int(r.number("pid", 10, 31)), r.text("exe")
	case "deallocated":
		d.denials = r.number("denials", 10, 64)
	default:
		r.bad = true
	}
	return d, r.err()
}

func parseCall(fields map[string]field) (*call, error) {
	r := &reader{fields: fields}
	c := &call{pid: int(r.number("pid", 10, 31)), comm: r.text("comm")}
	return c, r.err()
}
