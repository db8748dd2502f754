package files

import (
	"encoding/base64"
	"errors"
	"path"
	"strings"

	"brainbox/bridge/tool"
	"brainbox/dirchain"
	"brainbox/internal/strictjson"
)

// Limits of an input (contract brainkit §8.1, §8.3).
const (
	MaxPath    = 1024    // UTF-16 units
	MaxContent = 1 << 20 // bytes of a file that is written at once
	MaxPattern = 4096    // bytes
	MaxRead    = 100_000 // bytes of text that are returned at once
	MaxResults = 1000    // matches
)

// input is one that is being bound.
type input struct {
	*strictjson.Fields
	rs  *Roots
	bad *tool.Refusal // the first refusal that is not about a field's type
}

func (rs *Roots) bind(v *strictjson.Value, known ...string) *input {
	return &input{Fields: strictjson.Bind(v, known...), rs: rs}
}

// err is why the input is refused, or nil: what is no such input goes before what it says.
func (in *input) err() error {
	if err := in.Err(); err != nil {
		why := "it is malformed"
		var bad *strictjson.Error
		if errors.As(err, &bad) {
			why = strings.TrimPrefix("field "+bad.Field+": ", "field : ") + bad.Msg
			if bad.Code == strictjson.CodeUnknownField {
				why = "there is no field " + bad.Field
			}
		}
		return &tool.Refusal{Code: "invalid_request", Message: why}
	}
	if in.bad != nil {
		return in.bad
	}
	return nil
}

func (in *input) refuse(r *tool.Refusal) {
	if in.bad == nil {
		in.bad = r
	}
}

// text takes any string, U+0000 included: what it may be is not a matter of its type.
func (in *input) text(key string) string {
	v := in.Any(key)
	if v.Kind != strictjson.KindString {
		in.Invalid(key, "string expected")
		return ""
	}
	return v.Text
}

// content takes a text that is to be written.
func (in *input) content(key string) []byte {
	s := in.text(key)
	if len(s) > MaxContent {
		in.refuse(&tool.Refusal{Code: "payload_too_large", Message: key + ": at most 1 MiB"})
		return nil
	}
	return []byte(s)
}

// data takes bytes in the encoding that the field encoding names.
func (in *input) data(key string) []byte {
	if !in.Has("encoding") || in.Enum("encoding", "utf-8", "base64") != "base64" {
		return in.content(key)
	}
	text := in.text(key)
	raw, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || strings.ContainsAny(text, "\r\n") {
		in.Invalid(key, "no padded base64 without line ends")
	}
	if len(raw) > MaxContent {
		in.refuse(&tool.Refusal{Code: "payload_too_large", Message: key + ": at most 1 MiB"})
	}
	return raw
}

// root takes the field root.
func (in *input) root() *root {
	name := ""
	if in.Has("root") {
		if name = in.String("root"); name == "" {
			in.Invalid("root", "empty")
		}
	}
	r := in.rs.named(name)
	if r == nil {
		in.refuse(refuse("invalid_target", name, "there is no such root"))
		r = in.rs.all[0]
	}
	return r
}

// change takes a path that is written to: exactly as it is, without "..".
func (in *input) change(key string) string { return change(in, in.Fields, key) }

func change(in *input, f *strictjson.Fields, key string) string {
	p := textOf(f, key)
	if why := unusable(p); why != "" {
		in.refuse(refuse("invalid_target", p, why))
	} else if _, err := dirchain.SplitPath(p); err != nil {
		in.refuse(refuse("invalid_target", p, "it is not a plain relative path"))
	}
	return p
}

func textOf(f *strictjson.Fields, key string) string {
	v := f.Any(key)
	if v.Kind != strictjson.KindString {
		f.Invalid(key, "string expected")
		return ""
	}
	return v.Text
}

// reading takes a path that is read, cleaned as text; "" is the root itself.
func (in *input) reading(key string) (rel, submitted string) {
	submitted = in.text(key)
	rel = path.Clean(submitted)
	switch why := unusable(submitted); {
	case why != "":
	case submitted == "":
		why = "it is empty"
		in.refuse(refuse("invalid_target", submitted, why))
		return "", submitted
	case rel == ".":
		return "", submitted
	case rel == ".." || strings.HasPrefix(rel, "../"):
		in.refuse(refuse("invalid_target", submitted, "it leads out of the root"))
		return "", submitted
	default:
		if _, err := dirchain.SplitPath(rel); err == nil {
			return rel, submitted
		}
	}
	in.refuse(refuse("invalid_target", submitted, "it is not a plain relative path"))
	return "", submitted
}

// unusable says why a path is none that a tool takes at all.
func unusable(p string) string {
	units := 0
	for _, r := range p {
		if units++; r > 0xffff {
			units++
		}
	}
	switch {
	case units > MaxPath:
		return "it is longer than 1024 characters"
	case strings.HasPrefix(p, "/"):
		return "it is not relative to the root"
	}
	return ""
}

// hash takes a SHA-256; with orNull also null, which is nil.
func hash(f *strictjson.Fields, key string, orNull bool) *dirchain.Hash {
	v := f.Any(key)
	if v.Kind == strictjson.KindNull && orNull {
		return nil
	}
	if v.Kind == strictjson.KindString {
		if h, err := dirchain.ParseHash(v.Text); err == nil {
			return &h
		}
	}
	f.Invalid(key, "no SHA-256 of 64 lower-case hexadecimal digits")
	return nil
}

// optional takes a SHA-256 that may be absent.
func optional(f *strictjson.Fields, key string) *dirchain.Hash {
	if !f.Has(key) {
		return nil
	}
	return hash(f, key, false)
}

func (in *input) flag(key string) bool { return in.Has(key) && in.Bool(key) }

func (in *input) number(key string, low, high, instead int64) int64 {
	if !in.Has(key) {
		return instead
	}
	return in.Int(key, low, high)
}
