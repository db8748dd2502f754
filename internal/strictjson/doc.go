// Package strictjson decodes what a peer or a user may write as JSON into an
// ordered token tree, and refuses whatever two readers could understand in two
// ways.
//
//	root, err := strictjson.Decode(line, strictjson.Limits{})
//	if err != nil {
//		return err // *Error: its Code goes on the wire
//	}
//	req := strictjson.Bind(root, "schema", "version", "tool", "input")
//	req.Schema("schema", "wp-codebox/parent-tool-request/v1")
//	req.Version("version")
//	tool := req.Match("tool", strictjson.ToolName)
//	input := req.Any("input") // opaque: numbers keep their source text
//	if err := req.Err(); err != nil {
//		return err // nothing bound above may be used
//	}
//
// The rules are those of contract bridge-and-gate, section A.3, checked in that
// order: size, encoding, grammar, complexity, duplicate keys, then, while
// binding, unknown fields and the types and values of fields. Keys are compared
// byte by byte after unescaping, never by case folding. The order of keys is
// kept. A key __proto__ is refused in every object, opaque ones too, unless the caller
// asks for it (Limits.Proto).
//
// [Append] writes a tree as one line, so that commands can print status lines
// without the reflection of encoding/json.
//
// # Limits
//
// A string may hold U+0000 after decoding, since opaque data may; binding it as
// a string field fails with encoding_invalid (with a pattern: field_invalid).
// A lone surrogate escape is seen only in string tokens before the first syntax
// error; behind one the text is not_json. Append writes U+FFFD for bytes that
// are not UTF-8, so a caller that digests its own strings checks them first;
// a decoded tree holds none. The size of a field is counted in source bytes,
// blanks between its tokens included.
package strictjson
