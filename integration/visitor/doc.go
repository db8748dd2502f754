// Command visitor uses a network as programs do, and says how that ended. The tests of the
// network by name run it inside brainbox.
//
//	visitor line ok.test:7000    connects, and prints the first line that comes
//	ok hello
//
// Without arguments it reads one such line after the other and answers each with a line:
//
//	ok DETAIL     it worked
//	errno NAME    the kernel refused it
//	bad TEXT      it failed in another way
//
// The operations:
//
//	line HOST:PORT              the first line of a connection
//	http ADDR HEX [HEX]         a request of these bytes to a proxy: status and body; after a
//	                            status of 200 the second bytes, and in place of the body all that comes
//	fetch URL [CA] [direct]     Go's HTTP client, with the variables of a proxy or without
//	lookup NAME                 Go's resolver
//	serve ADDR TEXT             listens from now on, and answers each connection with a line
//	relay ADDR TO               listens from now on, and passes connections on
//	flood ADDR N HEX            N connections, each with these bytes, and how many were answered
//	stall ADDR N HEX            N connections that stay open, each with these bytes
//	env NAME                    the value of a variable
//	network                     the name of the network namespace
//
// # Limits
//
// It is a test helper and believes every word it is given.
package main
