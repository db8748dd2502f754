package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"brainbox/launcher"
	"brainbox/policy"
)

// validated is what is said of one file: a policy, or a seccomp profile.
type validated struct {
	file     string
	warnings policy.Errors
	errs     []error
	profile  string // the path of the profile, if there is one
	lint     *launcher.Lint
}

// valid reports whether the file can be used as it is.
func (v *validated) valid() bool {
	return len(v.errs) == 0 && (v.lint == nil || v.lint.Count("error") == 0)
}

// validateAction reads each file, as an operator's policy or as a seccomp profile, and prints
// every error, not only the first.
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
			v := validate(name, place)
			if !v.valid() {
				*status = launcher.StatusRefused
			}
			if c.Bool("json") {
				printf(c.App.Writer, "%s", v.JSON())
				continue
			}
			v.print(c.App.Writer, c.App.ErrWriter, c.Bool("diff"))
		}
		return nil
	}
}

// validate judges one file. A profile is known by its first letter: no policy begins with a
// brace.
func validate(name string, place *launcher.Place) *validated {
	v := &validated{file: name}
	text, err := readPolicy(name)
	if err == nil && bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) {
		v.profile = name
	} else if err == nil {
		err = v.policy(name, text, place)
	}
	if err == nil && v.profile != "" {
		v.lint, err = launcher.LintProfile(v.profile)
	}
	var all policy.Errors
	if errors.As(err, &all) {
		for _, one := range all {
			v.errs = append(v.errs, one)
		}
	} else if err != nil {
		v.errs = []error{err}
	}
	return v
}

func (v *validated) policy(name string, text []byte, place *launcher.Place) error {
	layer, err := policy.Parse(policy.KindFile, name, text)
	if err != nil {
		return err
	}
	p, err := policy.Resolve(policy.Input{Vars: place.Vars(), Read: readPolicy, Inside: launcher.Inside}, layer)
	if err != nil {
		return err
	}
	if s := p.Process.Seccomp.V; s.Kind == "file" {
		v.profile = s.File.Abs
	}
	v.warnings, err = validateGate(p, place)
	return err
}

// print writes the errors of a policy to errs, as all of brainbox does, and the findings,
// which are what was asked for, to out.
func (v *validated) print(out, errs io.Writer, diff bool) {
	for _, one := range v.warnings {
		printf(errs, "brainbox: %s\n", oneLine("warning: "+one.Error()))
	}
	for _, one := range v.errs {
		report(errs, one)
	}
	said := ""
	if v.lint != nil {
		printLint(out, v.profile, v.lint, diff)
		said = counts(v.lint)
	}
	switch {
	case v.valid() && said == "":
		printf(out, "%s: valid\n", oneLine(v.file))
	case v.valid():
		printf(out, "%s: valid, %s\n", oneLine(v.file), said)
	case said != "":
		printf(out, "%s: %s\n", oneLine(v.file), said)
	}
}

// counts says how many findings there are, "" for none.
func counts(l *launcher.Lint) (text string) {
	for _, severity := range [...]string{"error", "warning", "note"} {
		n := l.Count(severity)
		if n == 0 {
			continue
		}
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("%d %s", n, severity)
		if n > 1 {
			text += "s"
		}
	}
	return text
}
