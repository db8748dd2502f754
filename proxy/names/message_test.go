package names

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// raw is a message whose bytes dnsmessage would not write: a header with these counts, and a
// body.
func raw(counts [4]byte, body string) []byte {
	b := []byte{0xbe, 0xef, 1, 0, 0, counts[0], 0, counts[1], 0, counts[2], 0, counts[3]}
	return append(b, body...)
}

const (
	inA  = "\x00\x01\x00\x01" // type A, class IN
	okA  = "\x02ok\x04test\x00" + inA
	noA  = "\x06denied\x04test\x00" + inA
	opt  = "\x00\x00\x29\x10\x00\x00\x00\x00\x00\x00\x00"
	opt1 = "\x00\x00\x29\x10\x00\x00\x01\x00\x00\x00\x00" // version 1
)

func TestMessagesThatAreNoQuestion(t *testing.T) {
	change := func(f func(*dnsmessage.Message)) []byte { return pack(t, f) }
	for name, c := range map[string]struct {
		msg  []byte
		code dnsmessage.RCode
	}{
		"a status":             {change(func(m *dnsmessage.Message) { m.OpCode = 2 }), dnsmessage.RCodeNotImplemented},
		"an update":            {change(func(m *dnsmessage.Message) { m.OpCode = 5 }), dnsmessage.RCodeNotImplemented},
		"class CHAOS":          {change(func(m *dnsmessage.Message) { m.Questions[0].Class = dnsmessage.ClassCHAOS }), dnsmessage.RCodeRefused},
		"any class":            {change(func(m *dnsmessage.Message) { m.Questions[0].Class = dnsmessage.ClassANY }), dnsmessage.RCodeRefused},
		"ANY":                  {query(t, "ok.test.", dnsmessage.TypeALL), dnsmessage.RCodeNotImplemented},
		"AXFR":                 {query(t, "ok.test.", dnsmessage.TypeAXFR), dnsmessage.RCodeRefused},
		"IXFR":                 {query(t, "ok.test.", 251), dnsmessage.RCodeRefused},
		"MAILB":                {query(t, "ok.test.", 253), dnsmessage.RCodeRefused},
		"OPT as a question":    {query(t, "ok.test.", dnsmessage.TypeOPT), dnsmessage.RCodeRefused},
		"no question":          {raw([4]byte{}, ""), dnsmessage.RCodeFormatError},
		"two questions":        {raw([4]byte{2}, okA+noA), dnsmessage.RCodeFormatError},
		"a question cut off":   {raw([4]byte{1}, okA[:9]), dnsmessage.RCodeFormatError},
		"a second that is not": {raw([4]byte{2}, okA), dnsmessage.RCodeFormatError},
		"an answer with it":    {raw([4]byte{1, 1}, okA+"\x00"+inA+"\x00\x00\x00\x00\x00\x04abcd"), dnsmessage.RCodeFormatError},
		"an authority with it": {raw([4]byte{1, 0, 1}, okA+"\x00"+inA+"\x00\x00\x00\x00\x00\x04abcd"), dnsmessage.RCodeFormatError},
		"an additional cut":    {raw([4]byte{1, 0, 0, 1}, okA+opt[:6]), dnsmessage.RCodeFormatError},
		"two OPT":              {raw([4]byte{1, 0, 0, 2}, okA+opt+opt), dnsmessage.RCodeFormatError},
		"OPT with a name":      {raw([4]byte{1, 0, 0, 1}, okA+"\x01a"+opt), dnsmessage.RCodeFormatError},
		"a dot in a label":     {raw([4]byte{1}, "\x07ok.test\x00"+inA), dnsmessage.RCodeFormatError},    // esc/PX-06
		"an empty label":       {raw([4]byte{1}, "\x02ok\x00\x04test\x00"+inA), dnsmessage.RCodeRefused}, // esc/PX-06: the type is 0x0474
		"a reserved label":     {raw([4]byte{1}, "\x42ok\x00"+inA), dnsmessage.RCodeFormatError},
		"a pointer to itself":  {raw([4]byte{1}, "\xc0\x0c"+inA), dnsmessage.RCodeFormatError},
		"a pointer past it":    {raw([4]byte{1}, "\xc0\xff"+inA), dnsmessage.RCodeFormatError},
		"a name of 300":        {raw([4]byte{1}, strings.Repeat("\x04aaaa", 60)+"\x00"+inA), dnsmessage.RCodeFormatError},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			m := unpack(t, w.answer(w.ctx, c.msg))
			if m.RCode != c.code || len(m.Answers)+len(m.Authorities) != 0 || m.Authoritative {
				t.Errorf("answered %v with %v, AA %v; want %v", m.RCode, m.Answers, m.Authoritative, c.code)
			}
			if asked := w.sockets.asked; len(asked) != 0 || len(w.take()) != 0 {
				t.Errorf("listeners for %v, want none and no record", asked)
			}
			w.addr("ok.test.", dnsmessage.TypeA)
		})
	}
}

func TestMessagesWithoutAnAnswer(t *testing.T) {
	w := newWorld(t, nil)
	for name, msg := range map[string][]byte{
		"nothing":          {},
		"half a header":    {0xbe, 0xef, 1, 0, 0, 1},
		"an answer itself": pack(t, func(m *dnsmessage.Message) { m.Response = true }),
	} {
		if got := w.answer(w.ctx, msg); got != nil {
			t.Errorf("%s is answered: %x", name, got)
		}
	}
}

func TestEDNS(t *testing.T) {
	w := newWorld(t, nil)
	for name, c := range map[string]struct {
		msg  []byte
		code dnsmessage.RCode // with its extended part
		opt  bool
	}{
		"none":                     {raw([4]byte{1}, okA), 0, false},
		"version 0":                {raw([4]byte{1, 0, 0, 1}, okA+opt), 0, true},
		"version 0, not listed":    {raw([4]byte{1, 0, 0, 1}, noA+opt), dnsmessage.RCodeNameError, true},
		"version 1":                {raw([4]byte{1, 0, 0, 1}, okA+opt1), badVersion, true}, // RFC 6891, section 6.1.3
		"with another record":      {raw([4]byte{1, 0, 0, 2}, okA+"\x00"+inA+"\x00\x00\x00\x00\x00\x04abcd"+opt), 0, true},
		"another record, no OPT":   {raw([4]byte{1, 0, 0, 1}, okA+"\x00"+inA+"\x00\x00\x00\x00\x00\x04abcd"), 0, false},
		"with bytes after the end": {raw([4]byte{1, 0, 0, 1}, okA+opt+"rest"), 0, true},
	} {
		m := unpack(t, w.answer(w.ctx, c.msg))
		if opt := len(m.Additionals) == 1; opt != c.opt {
			t.Errorf("%s: additionals %v", name, m.Additionals)
			continue
		}
		got := m.RCode
		if c.opt {
			h := m.Additionals[0].Header
			got |= dnsmessage.RCode(h.TTL >> 24 << 4)
			if h.Class != payload || h.TTL>>16&0xff != 0 {
				t.Errorf("%s: OPT with %d bytes, version %d", name, h.Class, h.TTL>>16&0xff)
			}
		}
		if got != c.code || (len(addrs(m)) == 1) != (c.code == 0) {
			t.Errorf("%s: %v with %v, want %v", name, got, m.Answers, c.code)
		}
	}
}

// Everything fits into 512 bytes: nothing is ever truncated.
func TestTheLongestAnswers(t *testing.T) {
	label := strings.Repeat("a", 61) + "."
	name := label + label + label + strings.Repeat("a", 56) + ".wild.test."
	w := newWorld(t, nil)
	addr := w.addr(name, dnsmessage.TypeAAAA)
	denied := strings.Replace(name, "wild", "mild", 1)
	for _, msg := range [][]byte{query(t, name, dnsmessage.TypeAAAA), query(t, denied, dnsmessage.TypeA), query(t, ptr(addr), dnsmessage.TypePTR)} {
		msg = append(bytes.Clone(msg), opt...)
		msg[11] = 1
		if got := w.answer(w.ctx, msg); len(got) > 512 || len(got) < 12 {
			t.Errorf("an answer has %d bytes", len(got))
		}
	}
}

func TestAddressesOfTheWholePool(t *testing.T) {
	seen := map[netip.Addr]bool{}
	for n := range poolSize {
		for _, f := range []family{v4, v6} {
			addr := address(f, n)
			if got, ok := number(addr); got != n || !ok {
				t.Fatalf("number(%v) = %d, %v, want %d", addr, got, ok, n)
			}
			if seen[addr] || !pool4.Contains(addr) && !pool6.Contains(addr) {
				t.Fatalf("%v comes twice, or is outside", addr)
			}
			if last := addr.AsSlice()[len(addr.AsSlice())-1]; last == 0 || last == 255 {
				t.Fatalf("%v looks like a network or a broadcast", addr)
			}
			seen[addr] = true
		}
	}
	for _, addr := range []string{
		"198.17.255.254", "198.20.0.1", "198.18.0.0", "198.18.0.255", "198.19.255.255",
		"fd62:7261:696e:626f::", "fd62:7261:696e:626f::1", "fd62:7261:696e:626f:1::c612:1", "fd62:7261:696e:626f::c614:1", "::ffff:198.18.0.1",
	} {
		if n, ok := number(netip.MustParseAddr(addr)); ok {
			t.Errorf("number(%s) = %d, want none", addr, n)
		}
	}
}

func TestPointers(t *testing.T) {
	six := strings.TrimSuffix(ptr(netip.MustParseAddr("2001:db8::1f")), ".")
	for name, want := range map[string]string{
		"4.3.2.1.in-addr.arpa": "1.2.3.4", six: "2001:db8::1f",
		"3.2.1.in-addr.arpa": "", "5.4.3.2.1.in-addr.arpa": "", "256.0.0.1.in-addr.arpa": "", "01.0.0.1.in-addr.arpa": "",
		"+1.0.0.1.in-addr.arpa": "", ".0.0.1.in-addr.arpa": "", "4.3.2.1in-addr.arpa": "", "in-addr.arpa": "",
		six[2:]: "", "0." + six: "", "g" + six[1:]: "", "ff" + six[1:]: "", "ok.test": "", "": "",
	} {
		addr, ok := pointed(name)
		if ok != (want != "") || ok && addr.String() != want {
			t.Errorf("pointed(%q) = %v, %v, want %q", name, addr, ok, want)
		}
	}
}
