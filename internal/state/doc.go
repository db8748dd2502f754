// Package state has what the operator's side of brainbox keeps between runs and where a
// running one is found: the folder $XDG_STATE_HOME/brainbox with the key of the operator's
// sockets, and the sockets in $XDG_RUNTIME_DIR/brainbox/<8 hex>/ (docs/interfaces.md).
//
//	dir, err := state.Open(place.StateDir()) // made if there is none
//	key, err := dir.MakeKey()                // the launcher
//	key, err := dir.Key()                    // a client: ErrNoKey if there is none
//
// Everything is opened through the descriptor of the folder, and checked on the descriptor
// that is used.
//
// # Limits
//
// Who has the caller's uid and is not confined can read the key: it tells an operator from
// a confined program, not one process of a user from another (contract bridge-and-gate,
// section E.3). That the folder lies in no tree that a run may write is the launcher's to
// refuse. Above the folder nothing is checked: who can replace a folder above it
// can replace the caller's home.
package state
