package strictjson

import "strconv"

// Null returns the value null.
func Null() Value { return Value{} }

// Bool returns b as a value.
func Bool(b bool) Value { return Value{Kind: KindBool, Bool: b} }

// Int returns n as a value.
func Int(n int64) Value { return Value{Kind: KindNumber, Text: strconv.FormatInt(n, 10)} }

// Uint returns n as a value.
func Uint(n uint64) Value { return Value{Kind: KindNumber, Text: strconv.FormatUint(n, 10)} }

// Text returns s as a value.
func Text(s string) Value { return Value{Kind: KindString, Text: s} }

// Array returns an array of items.
func Array(items ...Value) Value { return Value{Kind: KindArray, Items: items} }

// Texts returns an array of strings, empty for nil.
func Texts(list []string) Value {
	items := make([]Value, len(list))
	for i, s := range list {
		items[i] = Text(s)
	}
	return Array(items...)
}

// Object returns an object of members, in their order. A key must not occur
// twice.
func Object(members ...Member) Value { return Value{Kind: KindObject, Members: members} }

// Pair returns the member of an object.
func Pair(key string, v Value) Member { return Member{Key: key, Value: v} }

// Add appends a member to the object v and returns v. A null becomes an object.
func (v *Value) Add(key string, member Value) *Value {
	if v.Kind != KindObject {
		*v = Object()
	}
	v.Members = append(v.Members, Pair(key, member))
	return v
}
