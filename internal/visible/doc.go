// Package visible shows text from outside so that it cannot lie on a terminal.
//
//	fmt.Fprintln(os.Stderr, visible.Line(message))
//
// It has the one rule of brainbox for what is hidden, and the one spelling: \x1b for a
// control character and for a byte that is not UTF-8, \u{202e} for any other character.
// Package gate/show builds on it what a person decides by.
//
// # Limits
//
// It makes visible what is not seen. Look-alike letters pass, and a backslash in the text
// stays one: who must tell an escape from the same characters in the text takes gate/show.
package visible
