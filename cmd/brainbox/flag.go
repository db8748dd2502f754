package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// The library finds a flag's names by a regular expression, each time it looks for any
// flag, in all flags: a tenth of a start. Names here have no aliases or are listed as they
// are, so that there is nothing to find.

type stringFlag struct {
	*cli.StringFlag
	names []string
}

func newStringFlag(name, usage string) *stringFlag {
	return &stringFlag{&cli.StringFlag{Name: name, Usage: usage}, []string{name}}
}

// Names returns the flag's only name.
func (f *stringFlag) Names() []string { return f.names }

type listOfFlag struct {
	*cli.StringSliceFlag
	names []string
}

func newListFlag(name, usage string) *listOfFlag {
	return &listOfFlag{&cli.StringSliceFlag{Name: name, Usage: usage}, []string{name}}
}

// Names returns the flag's only name.
func (f *listOfFlag) Names() []string { return f.names }

type boolFlag struct {
	*cli.BoolFlag
	names []string
}

func newBoolFlag(name, usage string, aliases ...string) *boolFlag {
	return &boolFlag{&cli.BoolFlag{Name: name, Aliases: aliases, Usage: usage}, append([]string{name}, aliases...)}
}

// Names returns the flag's name and its aliases.
func (f *boolFlag) Names() []string { return f.names }

// nameLibraryFlags does the same for the library's own, and leaves their help as it is.
func nameLibraryFlags() {
	help := newBoolFlag("help", "show help", "h")
	help.DisableDefaultText = true
	cli.HelpFlag = help
	version := newBoolFlag("version", "print the version", "v")
	version.DisableDefaultText = true
	cli.VersionFlag = version
}

// named returns the flags that an argument could be meant for: the library goes through
// all that it is given several times. It returns all of them where an argument before the
// first "--" is no flag of the list, such as --help, for the library to say what is wrong.
//
// An argument that looks like a flag may be another flag's value, or the program's, and so
// may "--": then there is a flag more than is used, and never one less.
func named(flags []cli.Flag, args []string) []cli.Flag {
	var some []cli.Flag
	ended := false
	for _, arg := range args {
		if arg == "--" {
			ended = true
		}
		name, ok := flagName(arg)
		if !ok {
			continue
		}
		i := slices.IndexFunc(flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
		switch {
		case i < 0 && !ended:
			return flags
		case i >= 0 && !slices.Contains(some, flags[i]):
			some = append(some, flags[i])
		}
	}
	return some
}

// flagName is the name in -name, --name and --name=value, as package flag reads them.
func flagName(arg string) (name string, ok bool) {
	name, _, _ = strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
	return name, strings.HasPrefix(arg, "-") && name != ""
}
