// Package transcript writes down each call of a tool, one file for a call, where the sandbox
// cannot (contract bridge-and-gate, section A.8; schema wp-codebox/tool-call-transcript/v1).
//
//	sink, err := transcript.Open("/var/lib/op/run-1", redactor, transcript.Options{})
//	...
//	ref, err := sink.Write(transcript.Record{Request: req, Result: res, Started: t, Took: d})
//	// files/parent-tools/ptr_1.json, with its SHA-256
//
// Everything in a file is redacted with all layers, the output of the tool too. A record that
// is longer than a file may be has the digests of its input and output instead of these.
//
// A file has mode 0600, is made new (what has its name already is left alone, and an error),
// and is found through a directory that was opened once, without following a link. The name is
// the id of the request with every character but letters, digits, "_" and "-" spelled as "="
// and two digits; an id that is too long for that, or holds a secret, gives its SHA-256.
//
// # Limits
//
// Nothing is synced: a crash of the machine may lose the last files. The directory must be the
// caller's, with nobody else's right to write; that the sandbox has no mount of it is for the
// caller to see to. Transcripts are no chain: one that is removed is not missed.
package transcript
