// Package operator is the operator's side of a running session: it shows the prompts of the
// session on a user interface of package prompt, and brings the answers back over ui.sock
// (contract bridge-and-gate, sections E.3 to E.5).
//
//	conn, err := client.OpenUI(ctx, session.Socket, dir.KeyFile())
//	err = operator.Serve(ctx, conn, tty.New(tty.Options{}), nil)
//
// # Limits
//
// Who serves the socket is believed: what it says was asked is what is shown, and only it can
// make an answer count. Its texts are made visible once more, so that it cannot act on the
// terminal. A prompt of which the socket's frames cannot hold all is not shown, and cannot be
// approved here.
package operator
