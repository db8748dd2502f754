package main

import (
	"os"
	"slices"
	"strconv"

	"github.com/urfave/cli/v2"

	seen "brainbox/internal/explain"
	"brainbox/internal/learn"
	"brainbox/launcher"
	"brainbox/policy"
)

// learnHelp is what --help says beside the flags.
const learnHelp = `Runs COMMAND watched, writes a policy of what it did to FILE, and runs it again under that policy.

While it is learned from, COMMAND may read and execute what is installed (/usr, /opt, …), what
everybody may read of /etc, and what is in the home folder under a name without a dot at its
beginning; but nothing of the named places of secrets (brainbox.toml(5) lists them), nothing of
~/.config and its like, and nothing of /var, /srv, /mnt, /tmp and of other homes, but for what
the base, --ro and --rox open. It writes where brainbox run would let it (the working directory,
its private HOME and TMPDIR) and where --rw and --rwx say. Sockets and network are closed unless
flags open them. --profile, --policy and a policy of your own are the base, as for run.

FILE is written after the run, and only if nobody made it meanwhile. It may not lie where
COMMAND may write. It extends the policy that the run had, or of the profiles default and
minimal the one that opens less. What was refused is in it as comments. What --env, --timeout
and the like say is in it too; of ports, those that were used.

A run that failed is learned from as well: FILE says so in its first line, and the second run
is made all the same, but not after a signal or a time limit. The exit status is that of the second run, with --no-verify that of the
first; 125 if brainbox failed.`

// learnCommand is the verb.
func learnCommand(status *int) *cli.Command {
	return &cli.Command{
		Name: "learn", Usage: "draft a policy by watching COMMAND, and run it again under that",
		ArgsUsage: "-- COMMAND [ARG]…", Description: learnHelp, Action: learnAction(status),
	}
}

// learnFlags are those of the policy, without those that ask somebody while it runs.
func learnFlags() []cli.Flag {
	flags := slices.DeleteFunc(policyFlags(), func(f cli.Flag) bool {
		return slices.Contains([]string{"bridge", "gate", "ask"}, f.Names()[0])
	})
	return append(flags,
		newOutputFlag(),
		newBoolFlag("force", "replace FILE if it is there"),
		newBoolFlag("no-verify", "do not run COMMAND again under the policy"),
		newBoolFlag("quiet", "say nothing but what went wrong", "q"),
	)
}

// newOutputFlag is --output, -o.
func newOutputFlag() *stringFlag {
	f := newStringFlag("output", "write the policy to `FILE`; - is standard output")
	f.Aliases = []string{"o"}
	f.names = append(f.names, "o")
	return f
}

func learnAction(status *int) cli.ActionFunc {
	return func(c *cli.Context) error {
		argv := c.Args().Slice()
		switch {
		case len(argv) == 0:
			return refuse("no command", "brainbox learn -o FILE [FLAGS] -- COMMAND [ARG]…")
		case c.String("output") == "":
			return refuse("learn needs a file to write to", "brainbox learn -o FILE -- COMMAND; -o - prints the policy")
		}
		out, err := newDraftFile(c.String("output"), c.Bool("force"), c.App.Writer)
		if err != nil {
			return err
		}
		defer out.close()
		l := &learning{cli: c, argv: argv, out: out}
		first, err := l.first()
		if err != nil {
			return err
		}
		*status = first
		draft, err := l.draft(first)
		if err != nil {
			return err
		}
		text := draft.TOML()
		if err := out.write(text); err != nil {
			return err
		}
		if !c.Bool("quiet") {
			l.told(first)
		}
		if c.Bool("no-verify") || l.cut {
			return nil
		}
		second, err := l.second(text)
		if err != nil {
			return err
		}
		*status = second
		return nil
	}
}

// learning is one call of the verb.
type learning struct {
	cli  *cli.Context
	argv []string
	out  *draftFile

	place    *launcher.Place
	plan     *launcher.Plan // that was carried out
	cut      bool           // a signal or a limit ended the run
	facts    *launcher.Facts
	recorder learn.Recorder
	report   seen.Report
}

// first runs the command under the policy that is open where nothing is secret.
func (l *learning) first() (int, error) {
	var err error
	if l.place, err = launcher.Look(os.Environ()); err != nil {
		return 0, err
	}
	given, err := resolve(l.cli, l.place)
	if err != nil {
		return 0, err
	}
	if err := l.where(); err != nil {
		return 0, err
	}
	opened := learn.Open(hostFiles{}, l.place.Home, l.place.Secrets(), given.Grants)
	if n := opened.Skipped; n > 0 && !l.cli.Bool("quiet") {
		printf(l.cli.App.ErrWriter, "brainbox: %d names of the host stay closed: there are too many\n", n)
	}
	l.recorder.Name = func(tid int) string {
		name, _ := seen.Program(tid)
		return name
	}
	all, err := planOf(l.cli, l.place, launcher.Request{Command: l.argv, Untried: true}, func() (*policy.Policy, error) {
		return resolve(l.cli, l.place, openLayer(opened.Paths))
	})
	if err != nil {
		return 0, err
	}
	defer all.close()
	return l.run(all, &l.recorder, true)
}

// run carries out one plan, watched.
func (l *learning) run(all *planned, sink seen.Sink, open bool) (int, error) {
	if all.plan.Refusal != nil && all.facts.Untried {
		all.facts.Try(all.pol)
		all.plan = launcher.NewPlan(all.pol, all.facts)
	}
	if all.plan.Refusal != nil {
		return 0, all.plan.Refusal
	}
	if open {
		if err := l.keepsClosed(all); err != nil {
			return 0, err
		}
	}
	var engine *seen.Engine
	defer func() {
		if engine != nil {
			engine.Close()
		}
	}()
	opt := launcher.Options{
		Started: func(*launcher.Plan, int) { all.network.begin() },
		Observe: func(p *launcher.Plan, f *launcher.Facts) (launcher.Observer, error) {
			if engine != nil { // of the start in namespaces, which were not offered
				engine.Close()
			}
			cfg, err := seen.For(p, f)
			if err != nil {
				return nil, err
			}
			cfg.Judge, cfg.Sink, cfg.Uses = launcher.NewJudge(p, f), sink, open
			engine, err = seen.New(cfg)
			return engine, err
		},
	}
	all.network.listen(nil)
	res, err := all.plan.Run(all.facts, opt)
	if err != nil {
		return 0, err
	}
	l.plan, l.facts, l.cut = res.Plan, all.facts, res.Signal != 0 || res.TimedOut
	tellAfter(l.cli.App.ErrWriter, res.After)
	if !l.cli.Bool("quiet") {
		all.network.tell()
	}
	return res.Status, nil
}

// second runs the command again, under nothing but the text that was written.
func (l *learning) second(text []byte) (int, error) {
	name := l.out.name
	if name == "" {
		name = "/-" // that nothing can hold but a grant of all there is
	}
	layer, err := policy.Parse(policy.KindFile, name, text)
	if err != nil {
		return 0, err
	}
	all, err := planOf(l.cli, l.place, launcher.Request{Command: l.argv, Untried: true}, func() (*policy.Policy, error) {
		return resolveLayers(l.place, []*policy.Layer{layer})
	})
	if err != nil {
		return 0, err
	}
	defer all.close()
	l.report = seen.Report{Home: l.place.Home, Secret: all.facts.Secret}
	status, err := l.run(all, &l.report, false)
	if err != nil {
		return 0, err
	}
	if !l.cli.Bool("quiet") {
		printf(l.cli.App.ErrWriter, "brainbox: under the policy it ended with status %d\n", status)
		err = l.report.Text(l.cli.App.ErrWriter, seen.Screen)
	}
	return status, err
}

// told says what was written.
func (l *learning) told(status int) {
	where := "standard output"
	if l.out.name != "" {
		where = quote(l.out.name)
	}
	printf(l.cli.App.ErrWriter, "brainbox: learned from a run that ended with status %s: %s\n", strconv.Itoa(status), where)
}
