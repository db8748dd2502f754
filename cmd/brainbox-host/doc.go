// Brainbox-host is the host's side of brainbox: what needs a parser of shell texts, and
// so is no part of brainbox itself.
//
//	brainbox-host tool <request.json
//
// The verb tool says what a call of a tool would be met with under the [gate] part of a
// policy: it reads one JSON object on standard input and writes one on standard output
// (package internal/toolask). brainbox why tool and brainbox policy validate start it.
// The exit status is 0 or 125.
//
// # Limits
//
// The verb tool opens no socket and no file for reading: it looks where paths lead
// (O_PATH, open(2)). brainbox starts it confined, with no file, no network and ten
// seconds. Approvals of a session are not known to it.
package main
