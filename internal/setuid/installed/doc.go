// Package installed makes, for a test, a machine on which an administrator has installed a
// command set-uid root: a mount namespace with its own /etc and /run, users and groups, a
// policy, and the command as it is shipped.
//
//	in := installed.New(t, "brainbox/cmd/brainbox-kill", installed.Policy)
//	status, out, errs := in.Run(installed.Call{UID: installed.Host, Groups: []uint32{installed.Callers}, Argv: …})
//
// BRAINBOX_TEST_BIN names a folder that has the command already, where there is no Go: as in the
// machines of internal/cmd/vm.
//
// # Limits
//
// It needs root, and skips without. Processes and everything but /etc and /run are the
// machine's own.
package installed
