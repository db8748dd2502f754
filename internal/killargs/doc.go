// Package killargs reads the two arguments of brainbox-kill, PGID and a signal
// word, into a checked request.
//
//	req, err := killargs.Parse([]string{"1234", "TERM"}, 4194304)
//	// req.PGID == 1234, req.Signal == unix.SIGTERM
//
// There is exactly one spelling of every request, so that a log of helper
// arguments can be compared byte for byte (contract brainkit §1.6, H2, H3).
//
// # Limits
//
// The package is pure: whether the group exists, and whose it is, the kernel
// says when the signal is sent.
package killargs
