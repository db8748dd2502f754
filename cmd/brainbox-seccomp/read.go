//go:build cgo

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// maxProfile is the largest profile in bytes.
const maxProfile = 1 << 20

var (
	errEmpty    = errors.New("standard input is empty")
	errTooLong  = errors.New("the profile is longer than 1 MiB")
	errEncoding = errors.New("the profile is not UTF-8")
	errTrailing = errors.New("something follows the profile")
	errObject   = errors.New("the profile is not a JSON object")
	errKey      = errors.New("unknown key")
	errTwice    = errors.New("key given twice")
)

// read reads one profile and nothing else.
func read(r io.Reader) (*specs.LinuxSeccomp, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxProfile+1))
	if err != nil {
		return nil, fmt.Errorf("read the profile: %w", err)
	}
	return parse(text)
}

func parse(text []byte) (*specs.LinuxSeccomp, error) {
	switch {
	case len(text) == 0:
		return nil, errEmpty
	case len(text) > maxProfile:
		return nil, errTooLong
	case !utf8.Valid(text):
		return nil, errEncoding
	}
	if err := checkKeys(text); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var p specs.LinuxSeccomp
	if err := d.Decode(&p); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errTrailing
	}
	return &p, nil
}

// checkKeys refuses what the decoder would take without a word: a key twice, of
// which the last would count, and a key in other letters, which it would match.
func checkKeys(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	var open []object // innermost last; an array has no keys
	for first := true; ; first = false {
		token, err := d.Token()
		if errors.Is(err, io.EOF) && !first {
			return nil
		}
		if err != nil {
			return err
		}
		if first && token != json.Delim('{') {
			return errObject
		}
		if len(open) > 0 {
			if err := open[len(open)-1].take(token); err != nil {
				return err
			}
		}
		switch token {
		case json.Delim('{'):
			open = append(open, object{keys: map[string]bool{}})
		case json.Delim('['):
			open = append(open, object{})
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
	}
}

// object is an object or an array whose end is not read yet.
type object struct {
	keys    map[string]bool // nil for an array
	pending bool            // a key was read, its value comes next
}

// take looks at the next token in the object.
func (o *object) take(token json.Token) error {
	if o.keys == nil || token == json.Delim('}') {
		return nil
	}
	if o.pending {
		o.pending = false
		return nil
	}
	key, ok := token.(string)
	if !ok || !isKey(key) {
		return fmt.Errorf("%w %q", errKey, key)
	}
	if o.keys[key] {
		return fmt.Errorf("%w: %q", errTwice, key)
	}
	o.keys[key], o.pending = true, true
	return nil
}

// isKey lists the keys of all objects in a profile; which of them belongs where
// is left to the decoder.
func isKey(key string) bool {
	switch key {
	case "defaultAction", "defaultErrnoRet", "architectures", "flags", "listenerPath", "listenerMetadata", "syscalls",
		"names", "action", "errnoRet", "args",
		"index", "value", "valueTwo", "op":
		return true
	}
	return false
}
