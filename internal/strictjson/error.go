package strictjson

import "strconv"

// The codes of contract bridge-and-gate, section A.3, in the order in which they
// are checked.
const (
	CodeFrameTooLarge      = "frame_too_large"
	CodeResultTooLarge     = "result_too_large"
	CodeEncodingInvalid    = "encoding_invalid"
	CodeNotJSON            = "not_json"
	CodeTooComplex         = "too_complex"
	CodeDuplicateKey       = "duplicate_key"
	CodeUnknownField       = "unknown_field"
	CodeSchemaInvalid      = "schema_invalid"
	CodeVersionUnsupported = "version_unsupported"
	CodeFieldInvalid       = "field_invalid"
)

// Error says why a text was refused. Its message holds no byte of the text that
// a terminal could act on.
type Error struct {
	Code   string // one of the Code constants
	Offset int64  // byte of the source, counted from 0
	Field  string // dotted path of the field, escaped for display; empty before binding
	Msg    string // what was wrong, without the text itself
}

// Error returns the code, the place and the reason.
func (e *Error) Error() string {
	s := "strictjson: " + e.Code + " at byte " + strconv.FormatInt(e.Offset, 10)
	if e.Field != "" {
		s += ": field " + e.Field
	}
	return s + ": " + e.Msg
}

// rank orders the codes as the table does: the lowest is reported.
func rank(code string) int {
	switch code {
	case CodeFrameTooLarge, CodeResultTooLarge:
		return 0
	case CodeEncodingInvalid:
		return 1
	case CodeNotJSON:
		return 2
	case CodeTooComplex:
		return 3
	case CodeDuplicateKey:
		return 4
	case CodeUnknownField:
		return 5
	case CodeSchemaInvalid:
		return 6
	case CodeVersionUnsupported:
		return 7
	}
	return 8
}
