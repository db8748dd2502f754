package strictjson

import "unicode/utf8"

// The default limits of contract bridge-and-gate, section A.3.
const (
	DefaultBytes  = 1 << 20
	DefaultDepth  = 64
	DefaultKeys   = 10_000
	DefaultValues = 50_000
)

// Limits bounds one text. A field that is zero or negative means its default.
type Limits struct {
	Bytes  int // length of the text; default 1 MiB
	Depth  int // arrays and objects inside each other; default 64, which is also the most
	Keys   int // object keys in the whole text; default 10,000
	Values int // values in the whole text, containers included; default 50,000

	// Result says that the text is a dispatcher's answer: one that is too long is
	// result_too_large instead of frame_too_large.
	Result bool

	// Proto keeps a key __proto__, for a caller that judges it itself: one that
	// compares two texts must see what is in both.
	Proto bool
}

// fill replaces what is unset. Depth cannot be raised: building the tree
// recurses, and its stack is bounded by this.
func (l Limits) fill() Limits {
	if l.Bytes <= 0 {
		l.Bytes = DefaultBytes
	}
	if l.Depth <= 0 || l.Depth > DefaultDepth {
		l.Depth = DefaultDepth
	}
	if l.Keys <= 0 {
		l.Keys = DefaultKeys
	}
	if l.Values <= 0 {
		l.Values = DefaultValues
	}
	return l
}

// Decode reads data as exactly one JSON value within lim. The error is an
// [*Error] with the first code of contract bridge-and-gate, section A.3, that
// applies; the value is nil then. Decode takes time linear in len(data) and
// keeps no reference to data.
func Decode(data []byte, lim Limits) (*Value, error) {
	lim = lim.fill()
	if len(data) > lim.Bytes {
		code := CodeFrameTooLarge
		if lim.Result {
			code = CodeResultTooLarge
		}
		return nil, &Error{Code: code, Offset: int64(lim.Bytes), Msg: "longer than the limit"}
	}
	if err := checkEncoding(data); err != nil {
		return nil, err
	}
	s := scanner{data: data, lim: lim}
	syntax := s.document()
	switch {
	case s.surrogate != nil:
		return nil, s.surrogate
	case syntax != nil:
		return nil, syntax
	case s.complex != nil:
		return nil, s.complex
	}
	b := builder{src: string(data)}
	v := b.value()
	switch {
	case b.duplicate != nil:
		return nil, b.duplicate
	case b.proto != nil && !lim.Proto:
		return nil, b.proto
	}
	return &v, nil
}

// checkEncoding refuses a byte order mark and bytes that are not UTF-8.
func checkEncoding(data []byte) error {
	if len(data) >= 3 && data[0] == 0xEF && data[1] == 0xBB && data[2] == 0xBF {
		return &Error{Code: CodeEncodingInvalid, Msg: "byte order mark"}
	}
	if utf8.Valid(data) {
		return nil
	}
	at := 0
	for at < len(data) {
		r, n := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	return &Error{Code: CodeEncodingInvalid, Offset: int64(at), Msg: "not UTF-8"}
}
