package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"brainbox/internal/fixture"
	"brainbox/internal/mutation"
	"brainbox/internal/remote"
	"brainbox/internal/version"
	"brainbox/launcher"
	"brainbox/policy"
)

func main() {
	if isWorker(os.Args) {
		os.Exit(remote.Bootstrap(version.String()))
	}
	if len(os.Args) > 1 && os.Args[1] == fixture.Verb {
		os.Exit(fixture.Run(os.Args[2:], os.Stdout, os.Stderr))
	}
	if verbOf(os.Args) == "run" {
		oneProcessor()
	}
	os.Exit(Main(os.Args, os.Stdout, os.Stderr))
}

// isWorker reports whether a host starts the bootstrap of a worker. That one writes to no
// descriptor that it has not looked at, so nothing else may run before it. Another argument
// is only known to builds for tests.
func isWorker(args []string) bool {
	return len(args) > 1 && args[1] == "worker" && (len(args) == 2 || mutation.Built)
}

// Main is the whole command; tests call it in a process of its own.
func Main(args []string, stdout, stderr io.Writer) int {
	status := 0
	nameLibraryFlags()
	verb := verbOf(args)
	app := newApp(verb, stdout, stderr, &status)
	for _, c := range app.Commands {
		if c.Name == verb {
			c.Flags = named(c.Flags, args[2:])
		}
	}
	if err := app.Run(args); err != nil {
		return report(stderr, err)
	}
	return status
}

// verbOf finds the verb that a command line names, "" if it asks for something else, such
// as help about all of them.
func verbOf(args []string) string {
	if len(args) > 1 && !strings.HasPrefix(args[1], "-") {
		return args[1]
	}
	return ""
}

func newApp(verb string, stdout, stderr io.Writer, status *int) *cli.App {
	return &cli.App{
		Name:                      "brainbox",
		Usage:                     "run a program that the kernel holds to a policy",
		UsageText:                 "brainbox run [FLAGS] -- COMMAND [ARG]…",
		Version:                   version.String(),
		HideVersion:               true,
		Writer:                    stdout,
		ErrWriter:                 stderr,
		DisableSliceFlagSeparator: true,
		ExitErrHandler:            func(*cli.Context, error) {},
		OnUsageError:              usageError,
		Action:                    noVerb,
		Commands:                  commands(verb, status),
	}
}

// commands lists the verbs. Flags are built for the one that is called, and for all of
// them only when help is: some fifty flags a verb are a tenth of a start.
func commands(verb string, status *int) []*cli.Command {
	list := []*cli.Command{
		{Name: "run", Usage: "run COMMAND confined, supervised", ArgsUsage: "-- COMMAND [ARG]…", Action: runAction(status)},
		{Name: "check", Usage: "print what each entry becomes; start nothing", ArgsUsage: "[-- COMMAND…]", Action: checkAction(status)},
		{
			Name: "why", Usage: "say whether an operation is allowed, and by which entry",
			ArgsUsage: "read|write|exec|connect|bind|unix|host|env|syscall TARGET | tool NAME ARGUMENTS", Action: whyAction(status),
		},
		learnCommand(status),
		{Name: "probe", Usage: "say what this kernel and place offer, by trying", Action: probeAction},
		{Name: "policy", Usage: "show, validate, compile or export a policy", Subcommands: policyCommands(verb, status), Action: noPolicyVerb},
		{Name: "spawn", Hidden: true, Action: spawnAction},
		{Name: "version", Usage: "print the version", Action: versionAction},
	}
	list = append(list, operatorCommands(status)...)
	list = append(list, insideCommands(status)...)
	for _, c := range list {
		c.OnUsageError = usageError
		if c.Name == verb || !isVerb(verb) {
			c.Flags = flagsOf(c.Name)
		}
		c.HideHelpCommand = true
	}
	return list
}

func noPolicyVerb(c *cli.Context) error {
	if name := c.Args().First(); name != "" {
		return refuse("unknown verb policy "+quote(name), "brainbox policy show, validate, compile or export")
	}
	return cli.ShowSubcommandHelp(c)
}

func isVerb(name string) bool {
	switch name {
	case "run", "check", "why", "learn", "probe", "policy", "spawn", "version":
		return true
	}
	return isOperator(name) || isInside(name)
}

func noVerb(c *cli.Context) error {
	if name := c.Args().First(); name != "" {
		return refuse("unknown verb "+quote(name), "brainbox --help lists the verbs; to run a program: brainbox run -- "+name)
	}
	return cli.ShowAppHelp(c)
}

func versionAction(c *cli.Context) error {
	_, err := fmt.Fprintln(c.App.Writer, "brainbox", version.String())
	return err
}

// spawnAction serves a library's host on descriptor 3 (docs/interfaces.md).
func spawnAction(*cli.Context) error { return remote.Serve(3, version.String()) }

func usageError(_ *cli.Context, err error, _ bool) error {
	return refuse(err.Error(), "brainbox --help and brainbox VERB --help list the flags")
}

// refuse is an error of the command line.
func refuse(message, hint string) error {
	return &launcher.Refusal{Status: launcher.StatusRefused, Message: message, Hint: hint}
}

// report prints an error as one line and at most one hint, and returns the exit status.
func report(w io.Writer, err error) int {
	status, message, hint := explain(err)
	_, _ = fmt.Fprintf(w, "brainbox: %s\n", oneLine(message))
	if hint != "" {
		_, _ = fmt.Fprintf(w, "brainbox: hint: %s\n", oneLine(hint))
	}
	return status
}

// explain takes an error apart.
func explain(err error) (status int, message, hint string) {
	var all policy.Errors
	var bad *policy.Error
	var r *launcher.Refusal
	switch {
	case errors.As(err, &r):
		return r.Status, r.Message, r.Hint
	case errors.As(err, &all) && len(all) > 1:
		return launcher.StatusRefused, fmt.Sprintf("%v (and %d more: brainbox policy validate shows all)", all[0], len(all)-1), all[0].Hint
	case errors.As(err, &bad):
		return launcher.StatusRefused, bad.Error(), bad.Hint
	}
	return launcher.StatusRefused, err.Error(), ""
}
