// Package visible shows text from outside so that it cannot lie on a terminal.
//
//	fmt.Fprintln(os.Stderr, visible.Line(message))
//
// # Limits
//
// It makes control and formatting characters visible. Look-alike letters pass.
package visible
