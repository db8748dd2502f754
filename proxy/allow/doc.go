// Package allow decides where a program may connect to by name. It is pure: it looks
// nothing up, and the same function answers for every path of package proxy and for
// `brainbox why host`.
//
//	rules, err := allow.New([]allow.Rule{{Name: "*.example.org"}, {Name: "192.0.2.1", Port: 22}})
//	if err != nil {
//		return err
//	}
//	v := rules.Decide(allow.Query{Host: asked, Port: 443, Path: allow.Connect})
//	if !v.Allowed() {
//		return refuse(v.Reason)
//	}
//	for _, a := range lookUp(v.Name) { // never what the program wrote
//		if reason := rules.Address(a, 443); reason != "" {
//			return refuse(reason)
//		}
//	}
//
// # Names
//
// What is compared is the A-label form (RFC 5890) in lower case without a dot at the end:
// letters, digits, hyphens and underscores, 63 bytes a label, 253 in all. What a program
// wrote comes there by UTS #46, not transitional, with the Bidi and Joiner rules, so that
// full-width letters and dots stand for what they look like, and a letter of another script
// does not. Underscores and "--" inside a label pass, as they do in browsers.
//
// A name whose last label is a number is an address (WHATWG URL, "ends in a number"), read
// as inet_aton(3) reads it: a resolver would do so without asking anybody.
//
// # Limits
//
// Only a name with a rule of its own or below a wildcard is reached; what answers behind it
// is the name's owner's. An address of NAT64 in a prefix of the operator's own (RFC 6052)
// looks like any public one, and so does a public address of this very host.
package allow
