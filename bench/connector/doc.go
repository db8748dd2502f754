// Command connector connects to a Unix socket so many times, one after the other, and says
// nothing: bench times the whole of it.
//
//	connector PATH TIMES
//
// # Limits
//
// The first connect that fails ends it.
package main
