// Command netclient makes connections as bench asks for, and says what they took: it is the
// program whose network is measured, and outside the one to compare with.
//
//	echo first direct 127.0.0.1:7000 50 | netclient
//
// A request is one line on standard input, its words separated by spaces:
//
//	lookup SERVER NAME N      N look-ups of a name at a DNS server
//	first WAY TARGET N        N connections, one after the other: until the first byte is back
//	bulk WAY TARGET BYTES     one connection that receives so many bytes
//	many WAY TARGET N AT      N connections with one byte each, AT at a time
//	hold WAY TARGET N         N connections more, which stay open
//	drop                      those end
//
// The answer is one line: nanoseconds, of lookup and first the median, else of all; or the
// word error and the reason. TARGET is HOST:PORT. WAY is direct: to TARGET itself; connect: by
// CONNECT through the proxy that HTTP_PROXY names; named: TARGET's host is looked up each time;
// known: once.
//
// At the other end is a server that reads a number of eight bytes, the highest first, and
// sends so many bytes, again and again.
//
// Called as netclient proxy it is a proxy that knows CONNECT and decides nothing, to compare
// with: its address is one line on standard output, and the end of standard input its own.
//
// # Limits
//
// What comes back is counted, not compared.
package main
