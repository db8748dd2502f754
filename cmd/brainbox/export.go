package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"
	"github.com/urfave/cli/v2"

	"brainbox/export"
	"brainbox/internal/strictjson"
	"brainbox/launcher"
	"brainbox/policy"
)

const exportHelp = `Prints the plan of a policy in another tool's words.

--to oci prints config.json of an OCI bundle for the root file system --rootfs, which stands
for the system folders that the built-in profile grants (/usr, /etc/…) and is read-only. What
you grant yourself, what is written with ~ or relative (the checkout), every write grant and
what is below /sys is bound from the host, at the same path. HOME and TMPDIR are in memory.
Without COMMAND it is /bin/sh. The paths are looked up again when the container starts: export
for one start, in a checkout that nobody changes in between.

--to seccomp prints the filter alone, as docker run --security-opt seccomp=FILE takes it.

What cannot be said there is a gap: each is listed, and nothing is printed unless its clause is
accepted by --allow-gap. Accepted gaps are listed on standard error and in the annotations.

   brainbox policy export --to oci --rootfs rootfs --allow-gap protect -- make >config.json
   runc run --bundle . NAME`

func exportCommand(flags []cli.Flag) *cli.Command {
	if len(flags) > 0 {
		flags = append(slices.Clip(flags), exportFlags()...)
	}
	return &cli.Command{
		Name: "export", Usage: "print the policy for an OCI runtime, or its filter for docker",
		ArgsUsage: "--to oci|seccomp [-- COMMAND [ARG]…]", Description: exportHelp, Flags: flags, Action: exportAction,
	}
}

func exportFlags() []cli.Flag {
	return []cli.Flag{
		newStringFlag("to", "`FORM`: oci, or seccomp"),
		newStringFlag("rootfs", "with --to oci: the root file system in `DIR`"),
		newBoolFlag("terminal", "with --to oci: the runtime gives the program a terminal"),
		newListFlag("allow-gap", "accept that entries of `CLAUSE` are not held"),
	}
}

func exportAction(c *cli.Context) error {
	if err := checkExport(c); err != nil {
		return err
	}
	in, err := exportInput(c)
	if err != nil {
		return err
	}
	defer in.Facts.Close()
	var made any
	var gaps []export.Gap
	if c.String("to") == "oci" {
		made, gaps, err = export.OCI(*in)
	} else {
		made, gaps, err = exportFilter(*in)
	}
	if err != nil {
		return err
	}
	for _, line := range export.Lines(gaps) {
		printf(c.App.ErrWriter, "brainbox: gap: %s\n", oneLine(line))
	}
	if open := export.Open(gaps, c.StringSlice("allow-gap")); len(open) > 0 {
		return notHeld(c.String("to"), open)
	}
	return printJSON(c.App.Writer, made)
}

// notHeld refuses what has gaps that nobody accepted.
func notHeld(form string, open []export.Gap) error {
	var clauses []string
	for _, g := range open {
		if flag := "--allow-gap " + g.Clause; !slices.Contains(clauses, flag) {
			clauses = append(clauses, flag)
		}
	}
	return refuse("the policy has entries that "+form+" does not hold", strings.Join(clauses, " ")+" accepts that; or take them out of the policy")
}

func checkExport(c *cli.Context) error {
	for _, name := range c.StringSlice("allow-gap") {
		if !slices.Contains(export.Clauses(), name) {
			return refuse("--allow-gap "+quote(name)+": there is no such gap", "the clauses that can have one: "+strings.Join(export.Clauses(), " "))
		}
	}
	if c.Bool("ask") {
		return refuse("--ask: there is nobody to ask in what is exported", "take it out")
	}
	switch c.String("to") {
	case "oci":
		if c.String("rootfs") == "" {
			return refuse("--to oci needs a root file system", "--rootfs DIR names the folder with its /usr")
		}
		return nil
	case "seccomp":
		if c.String("rootfs") != "" || c.Bool("terminal") || c.NArg() > 0 {
			return refuse("--to seccomp prints the filter alone", "take --rootfs, --terminal and COMMAND out")
		}
		return nil
	}
	return refuse("policy export needs --to oci or --to seccomp", "brainbox policy export --help")
}

// exportInput plans as run does, for a container in the place of this machine.
func exportInput(c *cli.Context) (*export.Input, error) {
	in := &export.Input{Command: c.Args().Slice(), Terminal: c.Bool("terminal")}
	if dir := c.String("rootfs"); dir != "" {
		st, err := os.Stat(dir)
		if err == nil && !st.IsDir() {
			err = errors.New("not a folder")
		}
		if err == nil {
			in.Rootfs, err = filepath.Abs(dir)
		}
		if err != nil {
			return nil, refuse("--rootfs "+quote(dir)+": "+err.Error(), "it names the folder with the container's /usr")
		}
	}
	place, err := launcher.Look(os.Environ())
	if err != nil {
		return nil, err
	}
	if in.Policy, err = resolve(c, place); err != nil {
		return nil, err
	}
	if in.Rootfs != "" && in.Policy.Sandbox.Isolation.V == "landlock" {
		return nil, refuse("isolation landlock is nothing that a container has", "take it out: a container has namespaces")
	}
	if in.Profile, err = ownProfile(in.Policy); err != nil {
		return nil, err
	}
	if in.Facts, err = launcher.Observe(in.Policy, place, launcher.Request{Untried: true}); err != nil {
		return nil, err
	}
	export.Target(in.Facts)
	in.Plan = launcher.NewPlan(in.Policy, in.Facts)
	return in, nil
}

// ownProfile reads the policy's own seccomp file; nil if it names none. What it means is
// checked when the plan is made, by compiling it.
func ownProfile(p *policy.Policy) (*specs.LinuxSeccomp, error) {
	s := p.Process.Seccomp.V
	if s.Kind != "file" {
		return nil, nil
	}
	text, err := readPolicy(s.File.Abs)
	if err == nil {
		_, err = strictjson.Decode(text, strictjson.Limits{Bytes: maxPolicy})
	}
	profile := &specs.LinuxSeccomp{}
	if err == nil {
		from := json.NewDecoder(bytes.NewReader(text))
		from.DisallowUnknownFields()
		err = from.Decode(profile)
	}
	if err != nil {
		return nil, refuse("seccomp profile: "+err.Error(), "default, none, or an OCI profile")
	}
	return profile, nil
}

func exportFilter(in export.Input) (any, []export.Gap, error) {
	p, gaps, err := export.Seccomp(in)
	if err == nil && p == nil {
		err = refuse("seccomp = \"none\": there is no filter to print", "--seccomp default, or docker run --security-opt seccomp=unconfined")
	}
	return p, gaps, err
}

// printJSON prints one value with a line for each member.
func printJSON(w io.Writer, v any) error {
	to := json.NewEncoder(w)
	to.SetEscapeHTML(false)
	to.SetIndent("", "\t")
	return to.Encode(v)
}
