package strictjson

// Kind is the JSON type of a [Value].
type Kind uint8

// The kinds. The zero Kind is null.
const (
	KindNull Kind = iota
	KindBool
	KindNumber
	KindString
	KindArray
	KindObject
)

// String returns the JSON name of k.
func (k Kind) String() string {
	switch k {
	case KindNull:
		return "null"
	case KindBool:
		return "boolean"
	case KindNumber:
		return "number"
	case KindString:
		return "string"
	case KindArray:
		return "array"
	case KindObject:
		return "object"
	}
	return "unknown kind"
}

// Value is one JSON value and everything in it. The zero Value is null.
type Value struct {
	Kind    Kind
	Bool    bool     // with KindBool
	Text    string   // KindString: unescaped. KindNumber: as it stood in the source
	Items   []Value  // with KindArray
	Members []Member // with KindObject, in source order, keys unique

	// Start and End are the bytes of the source that hold the value, End
	// excluded. Both are 0 in a value that was built.
	Start, End int
}

// Member is one key of an object with its value.
type Member struct {
	Key   string // unescaped
	Value Value
	Start int // byte offset of the key in the source
}

// Get returns the member of v named key, compared byte by byte, or nil when
// there is none or v is no object.
func (v *Value) Get(key string) *Value {
	if v == nil || v.Kind != KindObject {
		return nil
	}
	for i := range v.Members {
		if v.Members[i].Key == key {
			return &v.Members[i].Value
		}
	}
	return nil
}

// Size returns how many bytes of the source hold v; 0 for a value that was
// built.
func (v *Value) Size() int { return v.End - v.Start }
