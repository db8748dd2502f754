package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"brainbox/bridge/client"
	"brainbox/bridge/envelope"
	"brainbox/bridge/inside"
	"brainbox/bridge/wire"
	"brainbox/internal/strictjson"
	"brainbox/launcher"
)

// statusNotDone is the status of an operation that the host did not do.
const statusNotDone = 1

// insideCommands are the verbs for programs inside a sandbox: each is one call to the host.
func insideCommands(status *int) []*cli.Command {
	return []*cli.Command{
		{Name: "call", Usage: "from inside: call a tool of the host", ArgsUsage: "TOOL [JSON|-]", Action: callAction(status)},
		{Name: "write", Usage: "from inside: have the host write standard input to a file", ArgsUsage: "PATH", Action: writeAction(status)},
		{Name: "edit", Usage: "from inside: have the host replace one text in a file", ArgsUsage: "PATH OLD NEW", Action: editAction(status)},
		{Name: "mask", Usage: "from inside: have a person paint a mask over an image", ArgsUsage: "IMAGE", Action: maskAction(status)},
		{Name: "rm", Usage: "from inside: have the host remove a file or folder", ArgsUsage: "PATH", Action: removeAction(status)},
		{Name: "mv", Usage: "from inside: have the host rename a file or folder", ArgsUsage: "FROM TO", Action: renameAction(status)},
		{Name: "mcp", Usage: "from inside: offer the host's tools as an MCP server on stdio", Action: mcpAction},
	}
}

// insideFlags are the flags of one of these verbs, nil of another one.
func insideFlags(verb string) []cli.Flag {
	root, asJSON := newStringFlag("root", "the `NAME` of the root that paths are relative to"), newBoolFlag("json", "print the whole result as JSON")
	base := newStringFlag("base", "refuse unless the file's content has this SHA-256 `HASH`")
	switch verb {
	case "call":
		return []cli.Flag{newBoolFlag("output", "print the output alone, a text as it is")}
	case "write":
		return []cli.Flag{root, base, newBoolFlag("append", "add to the end of a file"), newBoolFlag("create", "refuse if the file exists"), asJSON}
	case "edit":
		return []cli.Flag{root, base, newBoolFlag("files", "OLD and NEW are files that hold the texts"), asJSON}
	case "mask":
		return []cli.Flag{root, newStringFlag("instruction", "what to paint over, as a `TEXT` for the person"), asJSON}
	case "rm":
		return []cli.Flag{root, base, newBoolFlag("recursive", "remove a folder with what is in it", "r"), asJSON}
	case "mv":
		return []cli.Flag{root, newBoolFlag("replace", "replace a file that has the new name", "f"), asJSON}
	}
	return nil
}

// isInside tells the verbs of [insideCommands].
func isInside(verb string) bool {
	switch verb {
	case "call", "write", "edit", "mask", "rm", "mv", "mcp":
		return true
	}
	return false
}

// asker makes the calls of one verb.
type asker struct {
	c    *client.Client
	ctx  context.Context //nolint:containedctx // of the process: an interrupt ends its calls
	cli  *cli.Context
	end  func()
	root rooter
}

// openBridge takes a verb's arguments and connects.
func openBridge(c *cli.Context, least, most int) (*asker, error) {
	if n := c.NArg(); n < least || n > most {
		return nil, refuse(fmt.Sprintf("%s takes %s, not %d arguments", c.Command.Name, c.Command.ArgsUsage, n), "brainbox "+c.Command.Name+" --help")
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	a := &asker{ctx: ctx, cli: c}
	var err error
	if a.c, err = client.Open(ctx, client.Options{Name: "brainbox " + c.Command.Name}); err != nil {
		stop()
		return nil, noBridge(err)
	}
	a.end = func() { _ = a.c.Close(); stop() }
	a.root = rooter{roots: a.c.Roots(), name: c.String("root"), cwds: workingDirs()}
	return a, nil
}

// noBridge says how there could be one.
func noBridge(err error) error {
	r := &launcher.Refusal{Status: launcher.StatusRefused, Message: "the bridge cannot be used: " + err.Error(), Hint: "has the run ended that this program belongs to?"}
	var used *client.InUseError
	switch {
	case errors.Is(err, client.ErrNone):
		r.Message = "there is no bridge here to ask the host by"
		r.Hint = "start the program with one: brainbox run --bridge FILE -- …, or brainbox run --gate FILE -- …"
	case errors.As(err, &used):
		r.Hint = "programs that call at the same time need " + client.EnvSocket
	}
	return r
}

// workingDirs is the current directory by the kernel's name, and by the shell's.
func workingDirs() []string {
	var dirs []string
	var buf [unix.PathMax]byte
	if n, err := unix.Getcwd(buf[:]); err == nil && n > 1 && buf[0] == '/' {
		dirs = append(dirs, string(buf[:n-1]))
	}
	if dir, err := os.Getwd(); err == nil {
		dirs = append(dirs, dir)
	}
	return dirs
}

// do calls a tool. The error is that of a call which could not be made.
func (a *asker) do(tool string, input *strictjson.Value) (*envelope.Result, error) {
	res, err := a.c.Call(a.ctx, tool, input)
	if err == nil {
		res, err = inside.Finish(a.ctx, res)
	}
	var told *wire.Error
	switch {
	case errors.As(err, &told):
		return nil, refuse("the host cannot read the call: "+told.Code+": "+told.Message, "")
	case err != nil && a.ctx.Err() != nil:
		return nil, refuse("interrupted; the host may have done it", "")
	}
	return res, err
}

// at adds a path and its root to an input.
func (at *rooted) add(v *strictjson.Value, key string) {
	if v.Get("root") == nil && at.root != "" {
		v.Add("root", strictjson.Text(at.root))
	}
	v.Add(key, strictjson.Text(at.rel))
}

// tell prints a result as the verbs for files do, and sets the status.
func (a *asker) tell(res *envelope.Result, status *int) {
	if res.Status != envelope.Succeeded {
		*status = statusNotDone
	}
	switch {
	case a.cli.Bool("json"):
		v := res.Value()
		printf(a.cli.App.Writer, "%s", strictjson.AppendLine(nil, &v))
	case res.Err != nil:
		a.fault(res)
	}
}

// fault says on standard error why the host did not do it.
func (a *asker) fault(res *envelope.Result) {
	printf(a.cli.App.ErrWriter, "brainbox: %s: %s: %s (%s)\n", a.cli.Command.Name, res.Status, oneLine(res.Err.Message), res.Err.Code)
	if hint := hintOf(res.Err); hint != "" {
		printf(a.cli.App.ErrWriter, "brainbox: hint: %s\n", oneLine(hint))
	}
}

func hintOf(e *envelope.Error) string {
	switch e.Code {
	case envelope.CodeConfirmationUnavailable:
		return "it needs a person's answer: start the run with --ask, or answer with brainbox approve"
	case "stale_base":
		return "the file has changed since it was read: read it again"
	case envelope.CodeOverloaded, envelope.CodeEndpointBusy:
		return "try again in a moment"
	}
	return ""
}

// hash takes --base.
func hash(c *cli.Context, v *strictjson.Value, key string) error {
	text := c.String("base")
	if text == "" {
		return nil
	}
	if len(text) != 64 || !isHex(text) {
		return refuse("--base "+strconv.Quote(text)+" is no SHA-256: 64 lower-case hexadecimal digits", "")
	}
	v.Add(key, strictjson.Text(text))
	return nil
}

func isHex(s string) bool {
	for _, r := range s {
		if (r < '0' || r > '9') && (r < 'a' || r > 'f') {
			return false
		}
	}
	return true
}
