//go:build cgo

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"brainbox/internal/strictjson"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// maxProfile is the largest profile in bytes.
const maxProfile = 1 << 20

var (
	errEmpty  = errors.New("standard input is empty")
	errObject = errors.New("the profile is not a JSON object")
	errKey    = errors.New("unknown key")
)

// read reads one profile and nothing else.
func read(r io.Reader) (*specs.LinuxSeccomp, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxProfile+1))
	if err != nil {
		return nil, fmt.Errorf("read the profile: %w", err)
	}
	return parse(text)
}

// parse decodes a profile twice: strictjson refuses what the reflecting decoder
// would take without a word (a key given twice, of which the last would count,
// text behind the object), and the latter knows which key belongs where.
func parse(text []byte) (*specs.LinuxSeccomp, error) {
	if len(text) == 0 {
		return nil, errEmpty
	}
	root, err := strictjson.Decode(text, strictjson.Limits{Bytes: maxProfile})
	if err != nil {
		return nil, err
	}
	if root.Kind != strictjson.KindObject {
		return nil, errObject
	}
	if err := checkKeys(root); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var p specs.LinuxSeccomp
	if err := d.Decode(&p); err != nil {
		return nil, err
	}
	return &p, nil
}

// checkKeys refuses a key in other letters, which encoding/json would match.
func checkKeys(v *strictjson.Value) error {
	for i := range v.Items {
		if err := checkKeys(&v.Items[i]); err != nil {
			return err
		}
	}
	for i := range v.Members {
		if !isKey(v.Members[i].Key) {
			return fmt.Errorf("%w %q", errKey, v.Members[i].Key)
		}
		if err := checkKeys(&v.Members[i].Value); err != nil {
			return err
		}
	}
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
