// Package redact takes secrets out of what a host answers, logs and writes down (contract
// bridge-and-gate, section A.8).
//
//	r := redact.New(redact.Options{
//		Secrets:      []string{token},
//		HostRoots:    []string{"/home/op"},
//		SandboxRoots: []string{"/usr", "/work"},
//	})
//	res = r.Answer(req, res) // total: what cannot be redacted is failed/redaction_failed
//
// There are four layers. Exact values are found as they are, as base64 and base64url at every
// alignment (so inside a longer encoded text, and over its line breaks), in hexadecimal,
// percent-encoded and JSON-escaped in whatever way, and these inside each other twice, also
// with escape sequences of a terminal in the middle. Shapes
// are those of known tokens, header lines and users in URLs. Key names are those under which
// secrets are kept. Host paths are absolute paths that no mount of the sandbox has. Exact values
// and shapes are taken out everywhere; the output of a tool keeps what a key is named and every
// path that is not beneath a root of the host alone, since it is ordinary data.
//
// Keys of objects are redacted as strings are, and stay different from each other. A number
// that is a secret becomes a string. What was replaced is looked at once more: a secret that is
// still there is a failure. A [Redactor] takes time linear in the text for a fixed set of
// secrets, does not change what it is given, and may be used by any number of goroutines.
//
// # Limits
//
// A secret shorter than 6 bytes is not looked for ([Redactor.Skipped] counts them), nor one
// that is part of what replaces it. A secret that is spread over two strings, a key and its
// value, or two results is not seen, nor one that is compressed, encrypted, reversed,
// written with entities of HTML or otherwise transformed: this is against accidents and plain echoes, not against a tool that
// wants to tell the secret. Of a long secret a part alone is not found.
//
// The end of a path is where a character stands that paths seldom have, the blank among them:
// the rest of a name with blanks stays. Encoded paths are not found. A token whose shape has no
// known prefix is found only when it is given as a secret.
package redact
