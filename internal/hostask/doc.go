// Package hostask is what brainbox tells the brainbox-host that serves a run, and what it
// hears back: one line of JSON each way on a connected socket, descriptor 3 of the host.
//
//	line := config.Encode()                       // brainbox
//	config, err := hostask.DecodeConfig(line)     // brainbox-host
//	reply := hostask.Reply{}.Encode()             // it serves; with Error it does not
//
// The end of the socket ends the host, and the other way round brainbox knows by it that
// the host has ended. It knows no bridge and no gate, so that brainbox itself needs neither.
//
// # Limits
//
// Both sides are of one version: a reply of another protocol or version is an error.
// Descriptors are named by number: that they are what the config says they are is the
// caller's to know.
package hostask
