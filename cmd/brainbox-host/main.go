package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"brainbox/internal/keeper"
	"brainbox/internal/toolask"
	"brainbox/internal/version"
)

const statusFailed = 125

const usage = `usage: brainbox-host tool [--protocol=1] <request.json

The host's side of brainbox, which starts it. Verbs:

  tool           say what a call of a tool would be met with, and what is wrong
                 with the [gate] part of a policy; brainbox why tool and
                 brainbox policy validate show it

  --protocol=N   fail unless N is 1
  --version      print the versions
  --help         print this text

Exit status: 0, or 125 with the reason on standard error.
`

func main() {
	if keeper.Asked(os.Args) { // stands between a dispatcher and its command
		os.Exit(keeper.Serve())
	}
	if v := runVerbOf(os.Args[1:]); v != nil {
		os.Exit(v.run(os.Stderr))
	}
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is main with its surroundings passed in; it returns the exit status.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	out, err := output(args, stdin)
	if err == nil {
		_, err = stdout.Write(out)
	}
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "brainbox: host: %v\n", err)
		return statusFailed
	}
	return 0
}

// output returns everything that standard output gets, or nothing.
func output(args []string, stdin io.Reader) ([]byte, error) {
	verb := ""
	for _, arg := range args {
		switch {
		case arg == "--help", arg == "-h":
			return []byte(usage), nil
		case arg == "--version":
			return fmt.Appendf(nil, "brainbox-host %s (protocol %d)\n", version.String(), toolask.Protocol), nil
		case arg == fmt.Sprintf("--protocol=%d", toolask.Protocol):
		case verb == "" && arg == "tool":
			verb = arg
		default:
			return nil, fmt.Errorf("%q: brainbox-host %s takes tool and --protocol=%d", arg, version.String(), toolask.Protocol)
		}
	}
	if verb == "" {
		return nil, errors.New("no verb; brainbox-host --help lists them")
	}
	text, err := io.ReadAll(io.LimitReader(stdin, toolask.MaxText+1))
	if err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	request, err := toolask.DecodeRequest(text)
	if err != nil {
		return nil, err
	}
	reply, err := answerTool(&request)
	if err != nil {
		return nil, err
	}
	return reply.Encode(), nil
}
