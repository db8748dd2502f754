package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
)

// explainBounds are what an explained run may cost, by the work it is measured with.
var explainBounds = map[string]float64{
	"git status, 20 000 files": 1.5,
	"tar of 6 000 small files": 2.5,
}

// explainPart measures programs that open many files: alone, confined, and confined with
// every such call told to brainbox first. Nothing is bound to a processor.
func (o *options) explainPart(out io.Writer) error {
	var err error
	if o.root, err = filepath.EvalSymlinks(o.root); err != nil {
		return err
	}
	if o.bin, err = filepath.Abs(o.bin); err != nil {
		return err
	}
	o.work = filepath.Join(o.root, "work")
	env, err := o.prepare()
	if err != nil {
		return err
	}
	if err := o.fill(); err != nil {
		return err
	}
	process, err := newPipe(env, filepath.Join(o.bin, "starter"))
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "## A run that is explained\n\n%s\n\n%d rounds; \"net of the start\" takes off what `true` takes more than alone:\n\n",
		machine(), o.rounds)
	var rows []row
	for _, w := range o.works() {
		bound, measured := explainBounds[w.what]
		if !measured {
			continue
		}
		for _, isolation := range []string{"landlock", "namespaces"} {
			names, commands := o.explained(w.cmd, isolation)
			got, err := starter{process}.interleave(names, commands, o.warm, o.rounds)
			if err != nil {
				return err
			}
			rows = append(rows, explainRows(w.what+", "+isolation, bound, got)...)
		}
	}
	table(out, rows)
	return process.close()
}

// The commands of a group with an explained run.
const explained, explainedStart = "explained", "explained start"

func (o *options) explained(c command, isolation string) ([]string, map[string]command) {
	names, commands := o.group(c)
	boxed := func(more []string, argv ...string) []string {
		head := append([]string{filepath.Join(o.bin, "brainbox"), "run", "-q"}, more...)
		return append(append(head, "--policy", o.policy, "--isolation", isolation, "--"), argv...)
	}
	commands[confined] = command{c.dir, boxed(nil, c.argv...)}
	commands[confinedStart] = command{c.dir, boxed(nil, "/bin/true")}
	commands[explained] = command{c.dir, boxed([]string{"--explain"}, c.argv...)}
	commands[explainedStart] = command{c.dir, boxed([]string{"--explain"}, "/bin/true")}
	return slices.Concat(names, []string{explained, explainedStart}), commands
}

func explainRows(what string, bound float64, s samples) []row {
	return []row{
		plain("ms, "+what+", nothing else", s.time(bare), "%.1f"),
		plain("× that, brainbox run", s.ratio(confined, bare), "%.2f"),
		plain("× that, brainbox run --explain", s.ratio(explained, bare), "%.2f"),
		bounded("× that, brainbox run --explain, net of the start", s.net(explained, bare, explainedStart, bareStart), bound),
		plain("ms more, a start with --explain", s.difference(explainedStart, confinedStart), "%.2f"),
	}
}
