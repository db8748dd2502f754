// Package quoted restarts brainbox-exec, when it is set-uid and its environment has variables
// of the Go runtime, with the environment quoted.
//
//	import _ "brainbox/internal/setuid/early/quoted"
//	environ := early.Environ()
//
// # Limits
//
// Those of package early. It is for one command: the message names it.
package quoted

import "brainbox/internal/setuid/early"

var _ = early.Restart("brainbox-exec", true)
