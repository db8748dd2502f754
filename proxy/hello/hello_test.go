package hello

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
)

// vec8 and vec16 put a length in front.
func vec8(b []byte) []byte { return append([]byte{byte(len(b))}, b...) }

func vec16(b ...[]byte) []byte {
	all := slices.Concat(b...)
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(all))), all...)
}

func extension(kind uint16, data []byte) []byte {
	return append(binary.BigEndian.AppendUint16(nil, kind), vec16(data)...)
}

func hostEntry(name string) []byte { return append([]byte{0}, vec16([]byte(name))...) }

func sni(names ...string) []byte {
	var list [][]byte
	for _, n := range names {
		list = append(list, hostEntry(n))
	}
	return extension(0, vec16(list...))
}

// start is what stands before the extensions.
func start() []byte {
	b := append([]byte{3, 3}, make([]byte, 32)...)
	b = append(b, vec8(make([]byte, 32))...)
	b = append(b, vec16([]byte{0x13, 0x01, 0x13, 0x02})...)
	return append(b, vec8([]byte{0})...)
}

func message(kind byte, body []byte) []byte {
	n := len(body)
	return append([]byte{kind, byte(n >> 16), byte(n >> 8), byte(n)}, body...)
}

func withExtensions(list ...[]byte) []byte {
	return message(1, append(start(), vec16(list...)...))
}

// records cuts a message into records of at most size bytes.
func records(msg []byte, size int) []byte {
	var b []byte
	for part := range slices.Chunk(msg, size) {
		b = append(append(b, 22, 3, 1), vec16(part)...)
	}
	return b
}

func one(msg []byte) []byte { return records(msg, recordMax) }

var other = extension(43, []byte{2, 3, 4})

func TestRefused(t *testing.T) {
	good := withExtensions(other, sni("ok.test"))
	for name, c := range map[string]struct {
		b    []byte
		want State
	}{
		"an HTTP request":              {[]byte("GET / HTTP/1.1\r\n"), NotTLS},
		"ssh":                          {[]byte("S"), NotTLS},
		"an alert":                     {[]byte{21, 3, 3, 0, 2, 1, 0}, NotTLS},
		"data":                         {[]byte{23, 3, 3, 0, 1, 0}, NotTLS},
		"SSL 2":                        {[]byte{0x80, 0x2e, 1, 0, 2}, NotTLS},
		"a major version":              {[]byte{22, 2}, NotTLS},
		"a minor version":              {[]byte{22, 3, 5}, Malformed},
		"an empty record":              {[]byte{22, 3, 1, 0, 0}, Malformed},
		"a record too long":            {[]byte{22, 3, 1, 0x40, 1}, Malformed},
		"a ServerHello":                {one(message(2, start())), Malformed},
		"a ServerHello's first byte":   {[]byte{22, 3, 1, 1, 0, 2}, Malformed},
		"something behind it":          {one(append(bytes.Clone(good), 1)), Malformed},
		"a second hello behind it":     {one(slices.Concat(good, good)), Malformed},
		"another record's type inside": {append(records(good, 40)[:45], 23, 3, 1, 0, 1), NotTLS},
		"too long a message":           {[]byte{22, 3, 1, 0x40, 0, 1, 0, 0x3f, 0xfd}, Malformed},
		"a message of 16 MiB":          {[]byte{22, 3, 1, 0x40, 0, 1, 0xff, 0xff, 0xff}, Malformed},
		"too many records":             {records(withExtensions(extension(21, make([]byte, 300))), 1), Malformed},

		"nothing in it":            {one(message(1, nil)), Malformed},
		"a long session id":        {one(message(1, slices.Concat(start()[:34], vec8(make([]byte, 33)), start()[67:]))), Malformed},
		"half a cipher suite":      {one(message(1, slices.Concat(start()[:67], vec16([]byte{1, 2, 3}), vec8([]byte{0})))), Malformed},
		"no cipher suite":          {one(message(1, slices.Concat(start()[:67], vec16(), vec8([]byte{0})))), Malformed},
		"no compression":           {one(message(1, slices.Concat(start()[:73], vec8(nil)))), Malformed},
		"extensions cut":           {one(message(1, append(start(), 0, 9, 0, 0))), Malformed},
		"half a length":            {one(message(1, append(start(), 0))), Malformed},
		"bytes behind extensions":  {one(message(1, slices.Concat(start(), vec16(sni("ok.test")), []byte{0}))), Malformed},
		"an extension cut":         {one(withExtensions(sni("ok.test"), []byte{0, 43, 0, 9, 1})), Malformed},
		"half an extension's type": {one(withExtensions(sni("ok.test"), []byte{7})), Malformed},

		"two names":                 {one(withExtensions(sni("ok.test", "evil.test"))), Malformed},
		"the same name twice":       {one(withExtensions(sni("ok.test", "ok.test"))), Malformed},
		"two extensions":            {one(withExtensions(sni("ok.test"), other, sni("evil.test"))), Malformed},
		"two extensions, one empty": {one(withExtensions(sni("ok.test"), extension(0, nil))), Malformed},
		"an empty extension":        {one(withExtensions(extension(0, nil))), Malformed},
		"an empty list":             {one(withExtensions(sni())), Malformed},
		"an empty name":             {one(withExtensions(sni(""))), Malformed},
		"another type of name":      {one(withExtensions(extension(0, vec16([]byte{1}, vec16([]byte("ok.test")))))), Malformed},
		"a name cut":                {one(withExtensions(extension(0, vec16([]byte{0, 0, 9, 'o', 'k'})))), Malformed},
		"a list cut":                {one(withExtensions(extension(0, append([]byte{0, 20}, hostEntry("ok.test")...)))), Malformed},
		"bytes behind the list":     {one(withExtensions(extension(0, append(vec16(hostEntry("ok.test")), 0)))), Malformed},
		"NUL in the name":           {one(withExtensions(sni("ok.test\x00.evil"))), Malformed},
		"a space in the name":       {one(withExtensions(sni("ok .test"))), Malformed},
		"no ASCII in the name":      {one(withExtensions(sni("bücher.test"))), Malformed},
		"a name of 256":             {one(withExtensions(sni(strings.Repeat("a", 256)))), Malformed},
	} {
		t.Run(name, func(t *testing.T) {
			if got, s := ServerName(c.b); s != c.want || got != "" {
				t.Errorf("ServerName = %q, %d, want state %d", got, s, c.want)
			}
			first(t, c.b)
		})
	}
	if got, s := ServerName(one(good)); s != Found || got != "ok.test" {
		t.Errorf("positive control: ServerName = %q, %d", got, s)
	}
}

func TestAccepted(t *testing.T) {
	long := strings.Repeat("a", 255)
	for name, c := range map[string]struct {
		b    []byte
		name string
		want State
	}{
		"a name":                    {one(withExtensions(sni("ok.test"))), "ok.test", Found},
		"in front":                  {one(withExtensions(sni("ok.test"), other)), "ok.test", Found},
		"case is the caller's":      {one(withExtensions(other, sni("OK.Test."))), "OK.Test.", Found},
		"the longest":               {one(withExtensions(other, sni(long))), long, Found},
		"no extension":              {one(withExtensions()), "", Absent},
		"no list of extensions":     {one(message(1, start())), "", Absent},
		"others alone":              {one(withExtensions(other)), "", Absent},
		"a record for every byte":   {records(withExtensions(other, sni("ok.test")), 1), "ok.test", Found},
		"the head in two":           {records(withExtensions(other, sni("ok.test")), 3), "ok.test", Found},
		"the largest, two records":  {one(withExtensions(extension(21, make([]byte, 16272)), sni("ok.test"))), "ok.test", Found},
		"the largest, 256 records":  {records(withExtensions(extension(21, make([]byte, 16272)), sni("ok.test")), 64), "ok.test", Found},
		"early data in the next":    {append(one(withExtensions(sni("ok.test"))), 23, 3, 3, 0, 1, 0), "ok.test", Found},
		"a session id of no length": {one(message(1, slices.Concat(start()[:34], []byte{0}, start()[67:], vec16(sni("a"))))), "a", Found},
	} {
		t.Run(name, func(t *testing.T) {
			if got, s := ServerName(c.b); s != c.want || got != c.name {
				t.Errorf("ServerName = %q, %d, want %q, %d", got, s, c.name, c.want)
			}
			first(t, c.b)
		})
	}
}

// first reads b byte by byte: More until the answer is there, and the same one ever after.
func first(t *testing.T, b []byte) {
	t.Helper()
	name, want := ServerName(b)
	decided := false
	for n := range len(b) + 1 {
		got, s := ServerName(b[:n])
		if s == More {
			if decided || n >= Limit || got != "" {
				t.Fatalf("after %d of %d bytes: more, %q", n, len(b), got)
			}
			continue
		}
		decided = true
		if s != want || got != name {
			t.Fatalf("after %d of %d bytes: %q, %d, after all: %q, %d", n, len(b), got, s, name, want)
		}
	}
}

// TestBounded: whatever a client sends, a reader of Limit bytes has an answer, and what is
// read again with every byte costs no memory.
func TestBounded(t *testing.T) {
	msg := withExtensions(extension(21, make([]byte, 16272)), sni("ok.test"))
	if len(msg) > maxMessage || len(msg) < maxMessage-64 {
		t.Fatalf("a message of %d bytes is not the largest", len(msg))
	}
	for _, size := range []int{1, 63, 64, recordMax} {
		b := records(msg, size)
		if _, s := ServerName(b[:min(len(b), Limit)]); s == More {
			t.Errorf("records of %d bytes: more than Limit is asked for", size)
		}
		part := b[:min(len(b), Limit)-1]
		if n := testing.AllocsPerRun(10, func() { ServerName(part) }); n != 0 {
			t.Errorf("records of %d bytes: %v allocations for a part", size, n)
		}
	}
	exact := withExtensions(extension(21, make([]byte, maxMessage-len(withExtensions(extension(21, nil))))))
	late := append(records(exact[:maxMessage-64], 64), records(exact[maxMessage-64:maxMessage-1], 64)...)
	if _, s := ServerName(late); s != Malformed || len(exact) != maxMessage || len(late) != Limit-1 {
		t.Errorf("%d bytes in all records there may be, one short of a message of %d: state %d", len(late), len(exact), s)
	}
	if _, s := ServerName(late[:len(late)-1]); s != More {
		t.Errorf("positive control: state %d", s)
	}
	whole := records(msg, 64)
	if n := testing.AllocsPerRun(10, func() { ServerName(whole) }); n > 2 { // the message in one piece, and the name
		t.Errorf("%v allocations for the largest", n)
	}
}

// FuzzServerName: no panic, one answer that stands, a name that is one, and the same for
// the same message however it is cut.
func FuzzServerName(f *testing.F) {
	f.Add(one(withExtensions(other, sni("ok.test"))), uint8(7))
	f.Add(one(withExtensions(sni("ok.test", "evil.test"))), uint8(1))
	f.Add(one(message(1, start())), uint8(3))
	f.Add(records(withExtensions(sni("ok.test"), sni("a")), 9), uint8(200))
	f.Add([]byte("GET / HTTP/1.1\r\n"), uint8(1))
	f.Fuzz(func(t *testing.T, b []byte, size uint8) {
		name, s := ServerName(b)
		if (name != "") != (s == Found) || len(name) > 255 || strings.ContainsAny(name, "\x00\n \x7f") {
			t.Fatalf("ServerName = %q, %d", name, s)
		}
		if len(b) < 2048 {
			first(t, b)
		}
		if s != Found && s != Absent {
			return
		}
		l, _ := scan(b)
		msg := slices.Concat([]byte{1, 0, byte((l.size - 4) >> 8), byte(l.size - 4)}, l.body(b))
		if again, s2 := ServerName(records(msg, max(int(size), 64))); again != name || s2 != s {
			t.Errorf("cut otherwise: %q, %d, before %q, %d", again, s2, name, s)
		}
	})
}
