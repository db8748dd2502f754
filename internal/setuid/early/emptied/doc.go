// Package emptied restarts brainbox-kill, when it is set-uid and its environment has variables
// of the Go runtime, without an environment.
//
//	import _ "brainbox/internal/setuid/early/emptied"
//
// # Limits
//
// Those of package early. It is for one command: the message names it.
package emptied

import "brainbox/internal/setuid/early"

var _ = early.Restart("brainbox-kill", false)
