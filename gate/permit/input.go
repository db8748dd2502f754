package permit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"brainbox/internal/strictjson"
)

// Limits of an input, in bytes of JSON text.
const (
	MaxInput = 16 << 20 // of a call
	MaxEdit  = 1 << 20  // of an edit
)

// Input is the arguments of one call, decoded once and never changed. The zero value is
// null.
type Input struct{ root *strictjson.Value }

// ParseInput reads any JSON value of at most [MaxInput] bytes. A key that occurs twice in
// an object is refused: two readers would see two values. Numbers keep their text.
func ParseInput(text []byte) (Input, error) { return parse(text, MaxInput) }

func parse(text []byte, most int) (Input, error) {
	// __proto__ stays, for CheckEdit to see.
	root, err := strictjson.Decode(text, strictjson.Limits{Bytes: most, Proto: true})
	if err != nil {
		return Input{}, fmt.Errorf("permit: input: %w", err)
	}
	return Input{root}, nil
}

// snapshot makes an input from a value of the caller's: it is encoded once and decoded
// once, and nothing of it is kept.
func snapshot(v any, most int) (in Input, err error) {
	defer func() { // a method of the caller's, which encoding/json calls
		if p := recover(); p != nil {
			in, err = Input{}, errors.New("permit: input: encoding it panicked")
		}
	}()
	text, raw := v.(json.RawMessage)
	if !raw {
		if text, err = json.Marshal(v); err != nil {
			return Input{}, fmt.Errorf("permit: input: %w", err)
		}
	}
	return parse(text, most)
}

// IsObject reports whether the input is a JSON object.
func (in Input) IsObject() bool { return in.root != nil && in.root.Kind == strictjson.KindObject }

// String gives the string at a key of the object itself.
func (in Input) String(key string) (string, bool) {
	if v := in.get(key); v != nil && v.Kind == strictjson.KindString {
		return v.Text, true
	}
	return "", false
}

// Doubtful reports whether another reader could find another text at a key than String
// does: there is a value that is none, or the key in another case, as encoding/json takes.
func (in Input) Doubtful(key string) bool {
	if !in.IsObject() {
		return false
	}
	for i := range in.root.Members {
		m := &in.root.Members[i]
		if strings.EqualFold(m.Key, key) && (m.Key != key || m.Value.Kind != strictjson.KindString) {
			return true
		}
	}
	return false
}

func (in Input) get(key string) *strictjson.Value {
	if in.root == nil {
		return nil
	}
	return in.root.Get(key)
}

// JSON is the input as text, the same for equal trees. The caller may keep it.
func (in Input) JSON() json.RawMessage { return strictjson.Append(nil, in.root) }

// MarshalJSON is JSON.
func (in Input) MarshalJSON() ([]byte, error) { return in.JSON(), nil }

// Decode fills v as [json.Unmarshal] does, with numbers as [json.Number] where v does not
// say. Keys are compared as that does: a struct's field also takes a key in another case.
func (in Input) Decode(v any) error {
	d := json.NewDecoder(bytes.NewReader(in.JSON()))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("permit: input: %w", err)
	}
	return nil
}

// hasKey looks for one of the keys in every object of the tree.
func hasKey(v *strictjson.Value, keys []string) bool {
	if v == nil {
		return false
	}
	for i := range v.Items {
		if hasKey(&v.Items[i], keys) {
			return true
		}
	}
	for i := range v.Members {
		for _, k := range keys {
			if v.Members[i].Key == k {
				return true
			}
		}
		if hasKey(&v.Members[i].Value, keys) {
			return true
		}
	}
	return false
}
