package main

import (
	"os"

	"github.com/urfave/cli/v2"

	"brainbox/launcher"
)

// policyCommands are the verbs below `brainbox policy`.
func policyCommands(verb string, status *int) []*cli.Command {
	var flags []cli.Flag
	if verb == "policy" || !isVerb(verb) {
		flags = policyFlags()
	}
	list := []*cli.Command{
		{Name: "show", Usage: "print the merged policy, with where each value came from", Flags: flags, Action: showAction},
		{Name: "validate", Usage: "check policies and seccomp profiles; print every error", ArgsUsage: "FILE…", Flags: validateFlags(verb), Action: validateAction(status), Description: validateHelp},
		{Name: "compile", Usage: "compile an OCI seccomp profile and print the filter", ArgsUsage: "FILE", Action: compileAction},
	}
	list = append(list, exportCommand(flags))
	for _, c := range list {
		c.OnUsageError = usageError
		c.HideHelpCommand = true
	}
	return list
}

const validateHelp = "A FILE that begins with a brace is an OCI seccomp profile, every other a policy, whose profile is " +
	"judged too. Findings are errors, warnings and notes; the status is 125 with an error, else 0. brainbox(1) lists the rules."

// validateFlags are those of policy validate; as policyCommands, they are made only for a
// command line that may use them.
func validateFlags(verb string) []cli.Flag {
	if verb != "policy" && isVerb(verb) {
		return nil
	}
	return []cli.Flag{
		newBoolFlag("diff", "list every call that a profile and the default filter answer differently"),
		newBoolFlag("json", "print the findings as JSON, one object a file"),
	}
}

func showAction(c *cli.Context) error {
	place, err := launcher.Look(os.Environ())
	if err != nil {
		return err
	}
	p, err := resolve(c, place)
	if err != nil {
		return err
	}
	printf(c.App.Writer, "%s", p.Format())
	return nil
}

func compileAction(c *cli.Context) error {
	if c.NArg() != 1 {
		return refuse("compile takes one profile", "brainbox policy compile FILE")
	}
	got, err := launcher.CompileProfile(c.Args().First())
	if err != nil {
		return err
	}
	for _, name := range got.Dropped {
		printf(c.App.ErrWriter, "brainbox: %s: unknown system call, refused like every other that is not listed\n", oneLine(name))
	}
	printf(c.App.Writer, "%s", got.Program.String())
	return nil
}
