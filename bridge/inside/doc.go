// Package inside does for a program of the sandbox what the host has allowed it to do
// itself: it runs the command of a call of the tool bash where the host has nobody inside
// to run it.
//
//	res, err := c.Call(ctx, "bash", &input)
//	if err == nil {
//		res, err = inside.Finish(ctx, res)
//	}
//
// The host decides; without its answer nothing runs (contract bridge-and-gate, section
// A.9). What runs is the command in the answer, which a person may have edited, and not
// the one that was asked for.
//
// # Limits
//
// It is no mediation: the command has the rights of the program that runs it, and these
// are the sandbox's. It starts in the caller's directory with the caller's environment, but
// for an inherited bridge, which that program keeps.
package inside
