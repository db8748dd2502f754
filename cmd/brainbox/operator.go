package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"brainbox/bridge/client"
	"brainbox/internal/state"
	"brainbox/launcher"
)

// operatorCommands are the verbs for the operator of a running session.
func operatorCommands(status *int) []*cli.Command {
	return []*cli.Command{
		{Name: "events", Usage: "follow what is decided in a running session, or read the audit file", ArgsUsage: "[FILE]", Action: eventsAction(status)},
		{Name: "approve", Usage: "answer the prompts of a running session on this terminal", ArgsUsage: " ", Action: approveAction},
	}
}

// operatorFlags are the flags of one of these verbs, nil of another one.
func operatorFlags(verb string) []cli.Flag {
	common := []cli.Flag{
		newStringFlag("session", "the `ID` of the session, 8 hexadecimal digits; needed if several run"),
		newStringFlag("socket", "the session's ui.sock, a `PATH`, in place of its ID"),
		newBoolFlag("json", "print JSON, one object a line"),
	}
	switch verb {
	case "events":
		return append(common,
			newStringFlag("since", "begin behind event number `N` (0: with the oldest that is kept)"),
			newBoolFlag("follow", "go on with what comes, until the session ends", "f"),
			newStringFlag("audit", "print the lines of an audit `FILE`"),
			newBoolFlag("verify", "follow the hash chain of the audit file, or of FILE"),
			newStringFlag("head", "with --verify: the line with this `HASH` must be in the file"),
		)
	case "approve":
		hold := newStringFlag("hold", "descriptor `N` that holds the program on this terminal; brainbox run gives it")
		return append(common,
			newBoolFlag("list", "print what is asked, and answer nothing"),
			newStringFlag("deny", "deny the prompt with this `ID`"),
			newBoolFlag("grants", "print what was approved for longer than once"),
			newStringFlag("revoke", "take the approval with this `ID` back"),
			hold,
		)
	}
	return nil
}

// isOperator tells the verbs of [operatorCommands].
func isOperator(verb string) bool { return verb == "events" || verb == "approve" }

// interrupted is a context that ends with ^C, a hang-up and SIGTERM.
func interrupted() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
}

// openSession connects to the session that the flags name, or to the only one.
func openSession(ctx context.Context, c *cli.Context) (*client.UI, error) {
	place, err := launcher.Look(os.Environ())
	if err != nil {
		return nil, err
	}
	socket, err := sessionSocket(c.String("session"), c.String("socket"), place.Vars().XDGRuntime)
	if err != nil {
		return nil, err
	}
	key, err := operatorKey(place.StateDir())
	if err != nil {
		return nil, err
	}
	conn, err := client.OpenUI(ctx, socket, key)
	if err != nil {
		return nil, refuse("the session at "+quote(socket)+" cannot be reached: "+err.Error(), "has it ended?")
	}
	return conn, nil
}

// operatorKey is the path of the key, once it is known that nobody else can read it.
func operatorKey(dir string) (string, error) {
	if dir == "" {
		return "", refuse("there is no folder for the operator's key", "set XDG_STATE_HOME, or HOME")
	}
	d, err := state.Existing(dir)
	if err != nil {
		return "", refuse("no operator's key: "+err.Error(), "it is made by the first run with --bridge, --gate or --ask")
	}
	defer d.Close()
	if _, err := d.Key(); err != nil {
		return "", refuse(err.Error(), "it is made by the first run with --bridge, --gate or --ask")
	}
	return d.KeyFile(), nil
}

// sessionSocket finds the socket of a session.
func sessionSocket(id, socket, runtimeDir string) (string, error) {
	switch {
	case socket != "" && id != "":
		return "", refuse("--session and --socket name two sessions", "give one of them")
	case socket != "":
		return socket, nil
	case id != "" && !state.IsID(id):
		return "", refuse("--session "+quote(id)+": no session's ID", "an ID is 8 hexadecimal digits")
	case runtimeDir == "":
		return "", refuse("XDG_RUNTIME_DIR is not set, so that no session can be found", "name its ui.sock with --socket")
	}
	list, err := state.Sessions(runtimeDir)
	if err != nil {
		return "", refuse(err.Error(), "")
	}
	var ids []string
	for _, s := range list {
		if s.ID == id || id == "" && len(list) == 1 {
			return s.Socket, nil
		}
		ids = append(ids, s.ID)
	}
	switch {
	case id != "":
		return "", refuse("no session "+id+" runs", "those that run: "+strings.Join(append(ids, ""), " "))
	case len(ids) == 0:
		return "", refuse("no session with an operator's socket runs", "start one: brainbox run --bridge FILE -- …, or brainbox run --ask -- …")
	}
	return "", refuse("several sessions run: "+strings.Join(ids, ", "), "name one with --session")
}

// ended turns the end of a session into none.
func ended(err error) error {
	if errors.Is(err, client.ErrClosed) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
