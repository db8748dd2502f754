package names

import (
	"encoding/binary"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"brainbox/proxy/allow"
)

// Bytes in, an answer to them or nothing out: never a panic, never an address for a name that
// the rules do not list, never more than one record.
func FuzzAnswer(f *testing.F) {
	for _, seed := range [][]byte{
		raw([4]byte{1}, okA), raw([4]byte{1}, noA), raw([4]byte{1, 0, 0, 1}, okA+opt), raw([4]byte{1, 0, 0, 1}, noA+opt1),
		raw([4]byte{2}, okA+noA), raw([4]byte{1}, "\xc0\x0c"+inA), raw([4]byte{1}, "\x07ok.test\x00"+inA),
		query(f, "a.wild.test.", dnsmessage.TypeAAAA), query(f, "evilok.test.", dnsmessage.TypeA),
		query(f, "app.localhost.", dnsmessage.TypeA), query(f, "1.0.18.198.in-addr.arpa.", dnsmessage.TypePTR),
		query(f, "1.0.0.127.in-addr.arpa.", dnsmessage.TypePTR), query(f, "192.0.2.1.", dnsmessage.TypeA),
	} {
		f.Add(seed)
	}
	w := newWorld(f, nil)
	f.Fuzz(func(t *testing.T, msg []byte) {
		w.take()
		got := w.answer(w.ctx, msg)
		notes := w.take()
		if len(notes) > 1 {
			t.Fatalf("%d records of one question", len(notes))
		}
		if got == nil {
			return
		}
		var m dnsmessage.Message
		if err := m.Unpack(got); err != nil || len(got) > 1024 {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
		if m.ID != binary.BigEndian.Uint16(msg) || !m.Response {
			t.Fatalf("the answer to %x has the header %+v", msg[:2], m.Header)
		}
		for _, addr := range addrs(&m) {
			if addr.IsLoopback() {
				continue // of localhost, which TestLocalhostIsTheProgramsOwn is about
			}
			verdict := w.config.Rules.Decide(allow.Query{Host: m.Questions[0].Name.String(), Path: allow.Lookup})
			holder, ok := w.table.holder(addr)
			if !verdict.Allowed() || !ok || holder != verdict.Name || len(notes) != 0 {
				t.Fatalf("%q is answered with %v of %q, which is %q", m.Questions[0].Name, addr, holder, verdict.Reason)
			}
		}
	})
}
