package main

import (
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
)

// manyConnects is what one start makes of them: enough for the start to be a small part,
// and less than a backlog holds.
const manyConnects = 2000

// connectsPart measures connect(2) to a listed Unix socket, blocking, as the broker makes it
// and without a filter. Nothing is bound to a processor.
func (o *options) connectsPart(out io.Writer) error {
	var err error
	if o.root, err = filepath.EvalSymlinks(o.root); err != nil {
		return err
	}
	o.work = filepath.Join(o.root, "work")
	env, err := o.prepare()
	if err != nil {
		return err
	}
	policy, path := filepath.Join(o.root, "p.toml"), filepath.Join(o.root, "sock")
	if err := write(policy, policyText(o.work, "", "", `isolation = "landlock"`)); err != nil {
		return err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	process, err := newPipe(env, filepath.Join(o.bin, "starter"))
	if err != nil {
		return err
	}
	o.policy = policy
	names, commands := o.connects(path)
	got, err := starter{process}.interleave(names, commands, o.warm, o.rounds)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "## Connects through the broker\n\n%s\n\n%d connects a start, %d rounds:\n\n", machine(), manyConnects, o.rounds)
	table(out, connectRowsOf(got))
	return process.close()
}

func (o *options) connects(path string) ([]string, map[string]command) {
	connector := func(n int) []string {
		return []string{filepath.Join(o.bin, "connector"), path, strconv.Itoa(n)}
	}
	boxed := func(n int) []string {
		argv := []string{
			filepath.Join(o.bin, "brainbox"), "run", "-q", "--policy", o.policy, "--rox", o.bin, "--unix", path, "--",
		}
		return append(argv, connector(n)...)
	}
	return []string{bare, confined, bareStart, confinedStart}, map[string]command{
		bare:          {o.work, connector(manyConnects)},
		confined:      {o.work, boxed(manyConnects)},
		bareStart:     {o.work, connector(0)},
		confinedStart: {o.work, boxed(0)},
	}
}

// connectRowsOf takes the starts off, round by round.
func connectRowsOf(s samples) []row {
	const each = 1000.0 / manyConnects // µs of one from ms of all
	direct := s.each(func(i int) float64 { return (s[bare][i].ms - s[bareStart][i].ms) * each })
	brokered := s.each(func(i int) float64 { return (s[confined][i].ms - s[confinedStart][i].ms) * each })
	more := s.each(func(i int) float64 {
		return (s[confined][i].ms - s[confinedStart][i].ms - s[bare][i].ms + s[bareStart][i].ms) * each
	})
	return []row{
		plain("µs, socket, connect and close, nothing else", direct, "%.1f"),
		plain("µs, the same to a listed socket, brainbox run --unix", brokered, "%.1f"),
		bounded("µs more, a brokered connect", more, 70),
		plain("ms, a start with a listed socket", s.time(confinedStart), "%.2f"),
	}
}
