// Package spell compares words, for messages that ask whether another one was meant.
//
//	if spell.Distance(got, "deny") <= 2 {
//		hint = `is "deny" meant?`
//	}
//
// # Limits
//
// It counts bytes. How near is near is for the caller to say. Words of more than 64 bytes are far
// from everything.
package spell
