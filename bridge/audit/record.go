package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"time"

	"brainbox/gate/show"
	"brainbox/internal/strictjson"
)

// Kind says what a line is about.
type Kind string

// The kinds of lines. The first two are the caller's.
const (
	Decision Kind = "decision" // what the gate decided
	Effect   Kind = "effect"   // what a call did
	Event    Kind = "event"    // another event of the gate's hub
	Gap      Kind = "gap"      // events of the hub that nobody can write down any more
	Lost     Kind = "lost"     // lines that could not be written
	Opened   Kind = "opened"   // a session began
	Closed   Kind = "closed"   // and ended
	Healed   Kind = "healed"   // the text before this line is torn
	Rotated  Kind = "rotated"  // the file before this one was moved away
)

// Hash is the SHA-256 of a line without its line feed. The zero Hash stands before the first.
type Hash [sha256.Size]byte

// String returns 64 hexadecimal digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// ParseHash reads what [Hash.String] wrote.
func ParseHash(s string) (Hash, error) {
	var h Hash
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(h) || hex.EncodeToString(b) != s {
		return Hash{}, errors.New("audit: no hash of 64 lower-case hexadecimal digits")
	}
	return Hash(b), nil
}

// The bounds of a line.
const (
	mostLine = 64 << 10 // bytes, line feed included
	mostData = 56 << 10 // bytes of data; what is more is left out, and named
	mostText = 4096     // characters of one text
	mostDeep = 48       // arrays and objects of data inside each other; [parse] reads 64
)

// timeForm is RFC 3339 in UTC with microseconds.
const timeForm = "2006-01-02T15:04:05.000000Z"

// entry is a line without its place in the chain.
type entry struct {
	kind Kind
	at   time.Time
	data []byte // JSON
}

// line appends e as the line with number seq after the one with hash prev.
func (e *entry) line(dst []byte, seq uint64, prev Hash, session []byte) []byte {
	dst = strconv.AppendUint(append(dst, `{"seq":`...), seq, 10)
	dst = hex.AppendEncode(append(dst, `,"prev":"`...), prev[:])
	dst = e.at.UTC().AppendFormat(append(dst, `","time":"`...), timeForm)
	dst = append(append(dst, `","session":`...), session...)
	dst = append(append(dst, `,"type":"`...), e.kind...)
	dst = append(append(dst, `","data":`...), e.data...)
	return append(dst, '}', '\n')
}

// record is what Verify and the next writer need of a line.
type record struct {
	seq  uint64
	prev Hash
	hash Hash // of this line
	kind Kind
	torn tornText
}

// tornText names what a healed line is about.
type tornText struct {
	bytes int64
	hash  Hash
}

// parse reads a line without its line feed.
func parse(line []byte) (record, error) {
	// What a call was about may have any key: a line that says so is no other one.
	v, err := strictjson.Decode(line, strictjson.Limits{Bytes: mostLine, Proto: true})
	if err != nil {
		return record{}, err
	}
	f := strictjson.Bind(v, "seq", "prev", "time", "session", "type", "data")
	r := record{seq: uint64(f.Int("seq", 1, 1<<62)), kind: Kind(f.String("type")), hash: sha256.Sum256(line)}
	prev := f.Match("prev", isHash)
	f.String("time")
	f.String("session")
	data := f.Opaque("data", 0)
	if f.Err() == nil && r.kind == Healed {
		d := strictjson.BindLenient(data)
		r.torn.bytes = d.Int("bytes", 0, mostTorn)
		text := d.Match("sha256", isHash)
		if err := d.Err(); err != nil {
			return record{}, err
		}
		r.torn.hash, _ = ParseHash(text)
	}
	if err := f.Err(); err != nil {
		return record{}, err
	}
	r.prev, _ = ParseHash(prev)
	return r, nil
}

func isHash(s string) bool {
	_, err := ParseHash(s)
	return err == nil
}

// cleaner makes data of a line: every text redacted, then bounded.
type cleaner struct{ redact func(string) string }

// data encodes v. What is too large is left out, with its size.
func (c cleaner) data(v *strictjson.Value) []byte {
	clean := c.value(v, 1)
	out := strictjson.Append(nil, &clean)
	if len(out) <= mostData {
		return out
	}
	sum := sha256.Sum256(out)
	short := strictjson.Object(
		strictjson.Pair("omitted", strictjson.Bool(true)),
		strictjson.Pair("bytes", strictjson.Int(int64(len(out)))),
		strictjson.Pair("sha256", strictjson.Text(Hash(sum).String())),
	)
	return strictjson.Append(nil, &short)
}

// value cleans one value, which has deep arrays and objects around and with it.
func (c cleaner) value(v *strictjson.Value, deep int) strictjson.Value {
	if deep > mostDeep && (v.Kind == strictjson.KindArray || v.Kind == strictjson.KindObject) {
		return strictjson.Text("(not shown: nested too deep)")
	}
	out := strictjson.Value{Kind: v.Kind, Bool: v.Bool, Text: v.Text}
	switch v.Kind {
	case strictjson.KindString:
		out.Text = c.text(v.Text, mostText)
	case strictjson.KindNumber: // digits can be a secret
		if text := c.text(v.Text, mostText); text != v.Text {
			out = strictjson.Text(text)
		}
	case strictjson.KindArray:
		for i := range v.Items {
			out.Items = append(out.Items, c.value(&v.Items[i], deep+1))
		}
	case strictjson.KindObject:
		seen := map[string]bool{}
		for i := range v.Members {
			key := c.text(v.Members[i].Key, 256)
			for seen[key] { // two keys that redaction made one
				key += "_"
			}
			seen[key] = true
			out.Members = append(out.Members, strictjson.Pair(key, c.value(&v.Members[i].Value, deep+1)))
		}
	case strictjson.KindNull, strictjson.KindBool:
	}
	return out
}

// text redacts before it cuts: half of a secret would not be found. Where redaction fails
// nothing is shown.
func (c cleaner) text(s string, most int) (out string) {
	if s == "" {
		return s
	}
	if c.redact != nil {
		out = "(not shown: redaction failed)"
		defer func() { _ = recover() }()
		s = c.redact(s)
	}
	return show.Short(s, most)
}
