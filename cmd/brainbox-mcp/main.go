package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"brainbox/bridge/client"
	"brainbox/internal/version"
	"brainbox/internal/visible"
)

// protocol is what this version speaks with brainbox, which names the one it wants.
const protocol = 1

const statusFailed = 125

const usage = `usage: brainbox mcp
       brainbox-mcp [--protocol=1]

Offers the tools of the bridge as an MCP server on standard input and output.
It runs inside a sandbox that was started with a bridge: brainbox run --bridge
FILE, or --gate FILE.

  --protocol=N  fail unless N is 1
  --version     print the versions
  --help        print this text

Exit status: 0, or 125 with the reason on standard error.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	status := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// run is main with its surroundings passed in; it returns the exit status.
func run(ctx context.Context, args []string, stdin io.ReadCloser, stdout io.Writer, stderr io.Writer) int {
	text, err := plainText(args)
	switch {
	case err != nil:
	case text != "":
		_, err = io.WriteString(stdout, text)
	default:
		err = serveAll(ctx, stdin, stdout)
	}
	if err == nil {
		return 0
	}
	_, _ = fmt.Fprintf(stderr, "brainbox: mcp: %s\n", visible.Line(err.Error()))
	if errors.Is(err, client.ErrNone) {
		_, _ = fmt.Fprintln(stderr, "brainbox: hint: it runs inside a sandbox with a bridge: brainbox run --bridge FILE or --gate FILE")
	}
	return statusFailed
}

// plainText is what is printed in place of serving.
func plainText(args []string) (string, error) {
	for _, arg := range args {
		switch arg {
		case "--help", "-h":
			return usage, nil
		case "--version":
			return fmt.Sprintf("brainbox-mcp %s (protocol %d)\n", version.String(), protocol), nil
		case fmt.Sprintf("--protocol=%d", protocol):
		default:
			return "", fmt.Errorf("%q: brainbox-mcp %s takes only --protocol=%d", arg, version.String(), protocol)
		}
	}
	return "", nil
}

func serveAll(ctx context.Context, stdin io.ReadCloser, stdout io.Writer) error {
	c, err := client.Open(ctx, client.Options{Name: "brainbox-mcp"})
	if err != nil {
		return err
	}
	defer c.Close()
	server := newServer(c, c.Tools(), c.Roots())
	err = server.Run(ctx, &mcp.IOTransport{Reader: stdin, Writer: unclosed{stdout}, MaxLineLength: maxLine})
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// maxLine bounds a message of the MCP client's, in bytes; the bridge takes 1 MiB, which the
// client may have spelled with escapes.
const maxLine = 8 << 20

// unclosed is an output that stays open: it is not ours.
type unclosed struct{ io.Writer }

// Close does nothing.
func (unclosed) Close() error { return nil }
