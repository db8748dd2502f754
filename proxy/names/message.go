package names

import (
	"errors"
	"net/netip"

	"golang.org/x/net/dns/dnsmessage"
)

const (
	// ttl is how long an answer holds, in seconds.
	ttl = 60
	// payload is what is said to fit into one datagram (RFC 6891, section 6.2.3). Every answer
	// is shorter than the 512 bytes that need no saying, so nothing is ever truncated.
	payload = 1232
	// badVersion is BADVERS, the extended code 16 (RFC 6891, section 9).
	badVersion dnsmessage.RCode = 16
	// typeIXFR to typeMAILA are transfers and old mail questions: QTYPEs that are no types
	// (RFC 1035, section 3.2.3; RFC 1995).
	typeIXFR  dnsmessage.Type = 251
	typeMAILA dnsmessage.Type = 254
)

// question is one message, as read.
type question struct {
	header dnsmessage.Header
	asked  []dnsmessage.Question // one, or none: that could not be read
	edns   bool                  // with OPT, and so is the answer
	wrong  dnsmessage.RCode      // what the message itself is answered with; zero: it asks a question
}

// parse reads a message. It is false for what gets no answer at all: what has no header, and
// what is an answer itself, so that two resolvers never talk to each other without end.
func parse(msg []byte) (*question, bool) {
	var parser dnsmessage.Parser
	header, err := parser.Start(msg)
	if err != nil || header.Response {
		return nil, false
	}
	q := &question{header: header}
	if header.OpCode != 0 {
		q.wrong = dnsmessage.RCodeNotImplemented
		return q, true
	}
	q.wrong = dnsmessage.RCodeFormatError
	asked, err := parser.Question()
	if err != nil {
		return q, true
	}
	if _, err := parser.Question(); !errors.Is(err, dnsmessage.ErrSectionDone) {
		return q, true
	}
	q.asked = []dnsmessage.Question{asked}
	if !q.rest(&parser) {
		return q, true
	}
	if q.wrong != badVersion {
		q.wrong = unasked(asked)
	}
	return q, true
}

// rest reads what follows the question: nothing, but for additional records.
func (q *question) rest(parser *dnsmessage.Parser) bool {
	if _, err := parser.AnswerHeader(); !errors.Is(err, dnsmessage.ErrSectionDone) {
		return false
	}
	if _, err := parser.AuthorityHeader(); !errors.Is(err, dnsmessage.ErrSectionDone) {
		return false
	}
	for {
		h, err := parser.AdditionalHeader()
		if errors.Is(err, dnsmessage.ErrSectionDone) {
			return true
		}
		if err != nil || parser.SkipAdditional() != nil {
			return false
		}
		if h.Type != dnsmessage.TypeOPT {
			continue
		}
		if q.edns || h.Name.String() != "." { // at most one, and the root's (RFC 6891, section 6.1)
			return false
		}
		q.edns = true
		if version := h.TTL >> 16 & 0xff; version != 0 {
			q.wrong = badVersion
		}
	}
}

// unasked is how a question is answered that is none about a name of the internet.
func unasked(asked dnsmessage.Question) dnsmessage.RCode {
	switch {
	case asked.Class != dnsmessage.ClassINET:
		return dnsmessage.RCodeRefused
	case asked.Type == dnsmessage.TypeALL:
		return dnsmessage.RCodeNotImplemented // RFC 8482 leaves it to the server
	case asked.Type >= typeIXFR && asked.Type <= typeMAILA, asked.Type == dnsmessage.TypeOPT:
		return dnsmessage.RCodeRefused
	}
	return dnsmessage.RCodeSuccess
}

// reply is the answer to a question. A success with neither address nor name says that there
// is no record of that type.
type reply struct {
	code dnsmessage.RCode
	addr netip.Addr // of an A or AAAA record
	name string     // of a PTR record, without a dot at the end
}

// pack writes an answer to q.
func (q *question) pack(r reply) ([]byte, error) {
	known := r.code == dnsmessage.RCodeSuccess || r.code == dnsmessage.RCodeNameError
	b := dnsmessage.NewBuilder(make([]byte, 0, 512), dnsmessage.Header{
		ID: q.header.ID, Response: true, OpCode: q.header.OpCode, RCode: r.code & 0xf,
		Authoritative:    known, // nobody knows these names better
		RecursionDesired: q.header.RecursionDesired, RecursionAvailable: true,
		CheckingDisabled: q.header.CheckingDisabled,
	})
	b.EnableCompression()
	err := b.StartQuestions()
	for _, asked := range q.asked {
		err = first(err, b.Question(asked))
		err = first(err, q.answer(&b, asked, r, known))
	}
	if q.edns {
		err = first(err, b.StartAdditionals())
		var h dnsmessage.ResourceHeader
		err = first(err, h.SetEDNS0(payload, r.code, false))
		err = first(err, b.OPTResource(h, dnsmessage.OPTResource{}))
	}
	msg, finished := b.Finish()
	return msg, first(err, finished)
}

// answer writes the record, or the SOA record that says for how long there is none (RFC 2308,
// section 5).
func (q *question) answer(b *dnsmessage.Builder, asked dnsmessage.Question, r reply, known bool) error {
	h := dnsmessage.ResourceHeader{Name: asked.Name, Class: dnsmessage.ClassINET, TTL: ttl}
	switch {
	case !known:
		return nil
	case r.addr.Is4():
		return first(b.StartAnswers(), b.AResource(h, dnsmessage.AResource{A: r.addr.As4()}))
	case r.addr.Is6():
		return first(b.StartAnswers(), b.AAAAResource(h, dnsmessage.AAAAResource{AAAA: r.addr.As16()}))
	case r.name != "":
		to, err := dnsmessage.NewName(r.name + ".")
		return first(err, b.StartAnswers(), b.PTRResource(h, dnsmessage.PTRResource{PTR: to}))
	}
	h.Name = dnsmessage.MustNewName(".")
	return first(b.StartAuthorities(), b.SOAResource(h, dnsmessage.SOAResource{
		NS: dnsmessage.MustNewName("localhost."), MBox: dnsmessage.MustNewName("nobody.invalid."),
		Serial: 1, Refresh: ttl, Retry: ttl, Expire: ttl, MinTTL: ttl,
	}))
}

// first is the first error.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
