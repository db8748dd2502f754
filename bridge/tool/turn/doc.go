// Package turn has the tool turn_temp: a turn counts or empties its own temporary folder,
// which the host holds (contract brainkit §6).
//
//	t := turn.New(access)
//
// # Limits
//
// An input that is malformed is refused when the call is done and not when it is planned:
// each refusal leaves a receipt with the host. What a purge removes is disposable, and the
// call names no path, so the gate is told none.
package turn
