// Package netask is what brainbox tells the brainbox-host that serves the network of a run,
// and what it hears back, on a connected socket, descriptor 3 of the host.
//
//	brainbox                                brainbox-host proxy
//	config.Encode()                     →
//	                                    ←   hostask.Reply: it serves, or why it does not
//	sockets.Send(control)               →
//	                                    ←   hostask.Reply: the sockets are served, or why not
//	                                    ←   one line for each event
//	the end of what it sends            →
//	                                    ←   the last events, and the end
//
// The end of the socket ends the host, and the other way round brainbox knows by it that the
// host has ended. The package knows no proxy, so that brainbox itself needs none.
//
// # Limits
//
// Both sides are of one version: another protocol or version is an error. Lines and lists are
// bounded. Of the descriptors it is checked which ones there are, not what they are.
package netask
