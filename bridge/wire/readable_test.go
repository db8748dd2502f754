package wire

import (
	"errors"
	"strings"
	"testing"

	"brainbox/internal/strictjson"
)

// agree fails unless Unreadable says of a result what becomes of its frame.
func agree(t *testing.T, v *strictjson.Value) (readable bool) {
	t.Helper()
	m := Message{Kind: Result, ID: "1", Result: v}
	frame := m.Append(nil)
	if len(frame) > MaxFrame {
		return false
	}
	_, err := DecodeReply(frame[:len(frame)-1])
	want := ""
	var e *strictjson.Error
	if errors.As(err, &e) {
		want = e.Code
	}
	if got := Unreadable(v); got != want {
		t.Fatalf("%q, but reading it: %v\n%.300s", got, err, frame)
	}
	return err == nil
}

// nested is a value with n arrays around it.
func nested(n int) strictjson.Value {
	v := strictjson.Text("x")
	for range n {
		v = strictjson.Array(v)
	}
	return v
}

func numbered(n int) strictjson.Value {
	v := strictjson.Object()
	for i := range n {
		v.Add(strings.Repeat("k", i%50)+string(rune('0'+i)), strictjson.Null())
	}
	return v
}

// The bounds are met to the one: a value more, and no client could read it.
func TestUnreadable(t *testing.T) {
	for name, tt := range map[string]struct {
		v    strictjson.Value
		want bool
	}{
		"depth":           {nested(strictjson.DefaultDepth - 1), true},
		"too deep":        {nested(strictjson.DefaultDepth), false},
		"values":          {strictjson.Array(make([]strictjson.Value, strictjson.DefaultValues-4)...), true},
		"too many values": {strictjson.Array(make([]strictjson.Value, strictjson.DefaultValues-3)...), false},
		"keys":            {numbered(strictjson.DefaultKeys - 3), true},
		"too many keys":   {numbered(strictjson.DefaultKeys - 2), false},
		"a key twice":     {strictjson.Object(strictjson.Pair("a", strictjson.Null()), strictjson.Pair("a", strictjson.Null())), false},
		"proto":           {strictjson.Object(strictjson.Pair("__proto__", strictjson.Null())), true},
	} {
		if got := agree(t, &tt.v); got != tt.want {
			t.Errorf("%s: readable %v", name, got)
		}
	}
	twice := numbered(100)
	twice.Add(twice.Members[7].Key, strictjson.Null())
	if agree(t, &twice) || !agree(t, nil) {
		t.Error("among many, or nothing")
	}
}

func FuzzUnreadable(f *testing.F) {
	f.Add(`{"a":[1,{"__proto__":null}]}`, 3)
	f.Add(`[[],{},"\u0000"]`, 62)
	f.Fuzz(func(t *testing.T, text string, n int) {
		v, err := strictjson.Decode([]byte(text), strictjson.Limits{Proto: true})
		if err != nil {
			return
		}
		for range n % 70 {
			*v = strictjson.Object(strictjson.Pair("", *v))
		}
		agree(t, v)
	})
}
