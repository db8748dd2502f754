package strictjson

// Fields binds one contract object by exact keys. A failure does not stop the
// binding: what was refused reads as its zero value, and [Fields.Err] gives the
// failure that comes first in the table of contract bridge-and-gate, section
// A.3, over all objects bound from one root. Nothing that was read may be used
// when Err is not nil.
type Fields struct {
	v    *Value
	path string // dotted, ending in a dot unless empty
	bind *binding
}

// binding is what all objects of one root share.
type binding struct {
	err     *Error
	lenient bool
}

// Bind binds the object v, in which only the keys known may occur. If v is no
// object, Err is schema_invalid.
func Bind(v *Value, known ...string) *Fields {
	return root(v, &binding{}, known)
}

// BindLenient is [Bind] for responses and events, whose unknown members a client
// ignores (contract bridge-and-gate, section E.5).
func BindLenient(v *Value) *Fields {
	return root(v, &binding{lenient: true}, nil)
}

func root(v *Value, b *binding, known []string) *Fields {
	f := &Fields{v: v, bind: b}
	if v == nil || v.Kind != KindObject {
		offset := 0
		if v != nil {
			offset = v.Start
		}
		f.v = &Value{Kind: KindObject}
		f.fail(CodeSchemaInvalid, "", offset, "not an object")
		return f
	}
	f.checkKnown(known)
	return f
}

// checkKnown refuses the first key that is not byte-equal to one of known. The
// key __proto__ is refused even when a lenient reader would skip it: a tree
// need not come from Decode.
func (f *Fields) checkKnown(known []string) {
	for i := range f.v.Members {
		m := &f.v.Members[i]
		if m.Key == "__proto__" || !f.bind.lenient && !contains(known, m.Key) {
			f.fail(CodeUnknownField, display(m.Key), m.Start, "not a field of this object")
			return
		}
	}
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// fail records a failure unless one that comes earlier in the table is there.
func (f *Fields) fail(code, field string, offset int, msg string) {
	if f.bind.err != nil && rank(f.bind.err.Code) <= rank(code) {
		return
	}
	f.bind.err = &Error{Code: code, Offset: int64(offset), Field: f.path + field, Msg: msg}
}

// Err returns the failure of the whole binding as an [*Error], or nil.
func (f *Fields) Err() error {
	if f.bind.err == nil {
		return nil
	}
	return f.bind.err
}

// Has reports whether the object has the field key. A field whose value is null
// is there, and of the wrong type for everything but [Fields.Any].
func (f *Fields) Has(key string) bool { return f.v.Get(key) != nil }

// Invalid records field_invalid for key: a check that the caller makes itself.
// The message must not repeat the value.
func (f *Fields) Invalid(key, msg string) {
	f.fail(CodeFieldInvalid, key, f.offset(key), msg)
}

func (f *Fields) offset(key string) int {
	if v := f.v.Get(key); v != nil {
		return v.Start
	}
	return f.v.Start
}

// need returns the field key if it has the kind; otherwise it records
// field_invalid and returns nil.
func (f *Fields) need(key string, kind Kind) *Value {
	v := f.v.Get(key)
	switch {
	case v == nil:
		f.Invalid(key, "missing")
		return nil
	case v.Kind != kind:
		f.Invalid(key, kind.String()+" expected, got "+v.Kind.String())
		return nil
	}
	return v
}

// Schema requires the field key to be the string want; otherwise schema_invalid.
func (f *Fields) Schema(key, want string) {
	v := f.v.Get(key)
	if v == nil || v.Kind != KindString || v.Text != want {
		f.fail(CodeSchemaInvalid, key, f.offset(key), "not "+want)
	}
}

// Version requires the field key to be spelled as the token 1; otherwise
// version_unsupported, also for 1.0, 1e0 and "1".
func (f *Fields) Version(key string) {
	v := f.v.Get(key)
	if v == nil || v.Kind != KindNumber || v.Text != "1" {
		f.fail(CodeVersionUnsupported, key, f.offset(key), "not the number 1")
	}
}
