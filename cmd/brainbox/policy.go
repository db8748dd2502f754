package main

import (
	"errors"
	"os"

	"github.com/urfave/cli/v2"

	"brainbox/launcher"
	"brainbox/policy"
)

// policyCommands are the verbs below `brainbox policy`.
func policyCommands(verb string, status *int) []*cli.Command {
	var flags []cli.Flag
	if verb == "policy" || !isVerb(verb) {
		flags = policyFlags()
	}
	list := []*cli.Command{
		{Name: "show", Usage: "print the merged policy, with where each value came from", Flags: flags, Action: showAction},
		{Name: "validate", Usage: "check policy files; print every error", ArgsUsage: "FILE…", Action: validateAction(status)},
		{Name: "compile", Usage: "compile an OCI seccomp profile and print the filter", ArgsUsage: "FILE", Action: compileAction},
	}
	list = append(list, exportCommand(flags))
	for _, c := range list {
		c.OnUsageError = usageError
		c.HideHelpCommand = true
	}
	return list
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

// validateAction reads each file as an operator's policy and prints every error, not
// only the first.
func validateAction(status *int) cli.ActionFunc {
	return func(c *cli.Context) error {
		if c.NArg() == 0 {
			return refuse("no policy file", "brainbox policy validate FILE…")
		}
		place, err := launcher.Look(os.Environ())
		if err != nil {
			return err
		}
		for _, name := range c.Args().Slice() {
			warnings, err := validate(name, place)
			for _, one := range warnings {
				printf(c.App.ErrWriter, "brainbox: %s\n", oneLine("warning: "+one.Error()))
			}
			if err == nil {
				printf(c.App.Writer, "%s: valid\n", oneLine(name))
				continue
			}
			*status = launcher.StatusRefused
			var all policy.Errors
			if !errors.As(err, &all) {
				report(c.App.ErrWriter, err)
				continue
			}
			for _, one := range all {
				report(c.App.ErrWriter, one)
			}
		}
		return nil
	}
}

func validate(name string, place *launcher.Place) (warnings policy.Errors, err error) {
	text, err := readPolicy(name)
	if err != nil {
		return nil, err
	}
	layer, err := policy.Parse(policy.KindFile, name, text)
	if err != nil {
		return nil, err
	}
	p, err := policy.Resolve(policy.Input{Vars: place.Vars(), Read: readPolicy, Inside: launcher.Inside}, layer)
	if err != nil {
		return nil, err
	}
	return validateGate(p, place)
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
