package strictjson

import (
	"strconv"
	"strings"
)

// String returns the required string key, which holds no U+0000; a U+0000 is
// encoding_invalid, anything but a string field_invalid.
func (f *Fields) String(key string) string {
	v := f.need(key, KindString)
	if v == nil || !f.noNUL(key, v) {
		return ""
	}
	return v.Text
}

func (f *Fields) noNUL(key string, v *Value) bool {
	if strings.IndexByte(v.Text, 0) < 0 {
		return true
	}
	f.fail(CodeEncodingInvalid, key, v.Start, "U+0000 in a string")
	return false
}

// Match returns the required string key for which ok is true. Any other string
// is field_invalid; ok must refuse U+0000, as every pattern of the contracts does.
func (f *Fields) Match(key string, ok func(string) bool) string {
	v := f.need(key, KindString)
	if v == nil {
		return ""
	}
	if !ok(v.Text) {
		f.Invalid(key, "malformed")
		return ""
	}
	if !f.noNUL(key, v) {
		return ""
	}
	return v.Text
}

// Enum returns the required string key, one of allowed.
func (f *Fields) Enum(key string, allowed ...string) string {
	return f.Match(key, func(s string) bool { return contains(allowed, s) })
}

// Bool returns the required boolean key.
func (f *Fields) Bool(key string) bool {
	v := f.need(key, KindBool)
	return v != nil && v.Bool
}

// Int returns the required integer key, low and high included. A fraction or an
// exponent is field_invalid even where its value is whole.
func (f *Fields) Int(key string, low, high int64) int64 {
	v := f.need(key, KindNumber)
	if v == nil {
		return 0
	}
	n, err := strconv.ParseInt(v.Text, 10, 64)
	if err != nil || n < low || n > high {
		f.Invalid(key, "not an integer from "+strconv.FormatInt(low, 10)+" to "+strconv.FormatInt(high, 10))
		return 0
	}
	return n
}

// Any returns the required field key, of any type, null included.
func (f *Fields) Any(key string) *Value {
	v := f.v.Get(key)
	if v == nil {
		f.Invalid(key, "missing")
		return &Value{}
	}
	return v
}

// Opaque returns the required object key whose members the contract does not
// name. More than most source bytes is field_invalid; 0 means no bound but that
// of the text.
func (f *Fields) Opaque(key string, most int) *Value {
	v := f.need(key, KindObject)
	if v == nil {
		return &Value{Kind: KindObject}
	}
	if most > 0 && v.Size() > most {
		f.Invalid(key, "longer than "+strconv.Itoa(most)+" bytes")
		return &Value{Kind: KindObject}
	}
	return v
}

// Object binds the required contract object key. When it is missing or of
// another type, the fields of the object that is returned are missing too.
func (f *Fields) Object(key string, known ...string) *Fields {
	v := f.need(key, KindObject)
	if v == nil {
		v = &Value{Kind: KindObject, Start: f.offset(key)}
	}
	return f.child(key, v, known)
}

func (f *Fields) child(name string, v *Value, known []string) *Fields {
	c := &Fields{v: v, path: f.path + name + ".", bind: f.bind}
	c.checkKnown(known)
	return c
}

// array returns the items of the required array key, at most most of them.
func (f *Fields) array(key string, most int) []Value {
	v := f.need(key, KindArray)
	if v == nil {
		return nil
	}
	if len(v.Items) > most {
		f.Invalid(key, "more than "+strconv.Itoa(most)+" items")
		return nil
	}
	return v.Items
}

// Strings returns the required array key: at most most strings without U+0000.
func (f *Fields) Strings(key string, most int) []string {
	items := f.array(key, most)
	list := make([]string, 0, len(items))
	for i := range items {
		if items[i].Kind != KindString {
			f.fail(CodeFieldInvalid, key, items[i].Start, "item is no string")
			return nil
		}
		if !f.noNUL(key, &items[i]) {
			return nil
		}
		list = append(list, items[i].Text)
	}
	return list
}

// Objects binds the required array key: at most most contract objects.
func (f *Fields) Objects(key string, most int, known ...string) []*Fields {
	items := f.array(key, most)
	list := make([]*Fields, 0, len(items))
	for i := range items {
		if items[i].Kind != KindObject {
			f.fail(CodeFieldInvalid, key, items[i].Start, "item is no object")
			return nil
		}
		list = append(list, f.child(key+"["+strconv.Itoa(i)+"]", &items[i], known))
	}
	return list
}
