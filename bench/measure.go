package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// command is what is started: in a folder, a program with its arguments.
type command struct {
	dir  string
	argv []string
}

// sample is what one start took.
type sample struct {
	ms  float64 // wall time, milliseconds
	kib int     // peak memory of the process and those it waited for
}

// pipe is a process that answers every line with a line.
type pipe struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func newPipe(env []string, argv ...string) (*pipe, error) {
	p := &pipe{cmd: exec.CommandContext(context.Background(), argv[0], argv[1:]...)}
	p.cmd.Env, p.cmd.Stderr = env, os.Stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	return p, p.cmd.Start()
}

func (p *pipe) ask(line string) (string, error) {
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		return "", err
	}
	return p.out.ReadString('\n')
}

func (p *pipe) close() error {
	if err := p.in.Close(); err != nil {
		return err
	}
	return p.cmd.Wait()
}

// starter is the process that starts the programs.
type starter struct{ *pipe }

// start runs one command to its end. A status other than 0 is an error.
func (s starter) start(c command) (sample, error) {
	words := []string{strconv.Quote(c.dir)}
	for _, word := range c.argv {
		words = append(words, strconv.Quote(word))
	}
	line, err := s.ask(strings.Join(words, " "))
	if err != nil {
		return sample{}, fmt.Errorf("%q: starter: %w", c.argv, err)
	}
	var ns int64
	var got sample
	var status int
	if _, err := fmt.Sscan(line, &ns, &got.kib, &status); err != nil {
		return sample{}, err
	}
	if status != 0 {
		return sample{}, fmt.Errorf("%q ended with wait status %#x; once more: %s", c.argv, status, s.again(c))
	}
	got.ms = float64(ns) / 1e6
	return got, nil
}

// again is what a command says that failed: the starter lets nobody see it.
func (s starter) again(c command) string {
	cmd := exec.CommandContext(context.Background(), c.argv[0], c.argv[1:]...)
	cmd.Dir, cmd.Env = c.dir, s.cmd.Env
	out, err := cmd.CombinedOutput()
	return fmt.Sprintf("%v: %s", err, out)
}

// samples are the rounds of each command of a group, by its name.
type samples map[string][]sample

// interleave starts every command once a round.
func (s starter) interleave(names []string, commands map[string]command, warm, rounds int) (samples, error) {
	return interleave(names, warm, rounds, func(name string) (sample, error) { return s.start(commands[name]) })
}

// interleave takes one sample of each name a round. The first rounds warm up and
// are left out. Every second round goes backwards, so that none always follows the
// same one.
func interleave(names []string, warm, rounds int, take func(name string) (sample, error)) (samples, error) {
	got := samples{}
	for round := range warm + rounds {
		for i := range names {
			name := names[i]
			if round%2 == 1 {
				name = names[len(names)-1-i]
			}
			one, err := take(name)
			if err != nil {
				return nil, err
			}
			if round >= warm {
				got[name] = append(got[name], one)
			}
		}
	}
	return got, nil
}

// ratio is the time of a over that of b, round by round.
func (s samples) ratio(a, b string) estimate {
	return s.each(func(i int) float64 { return s[a][i].ms / s[b][i].ms })
}

// difference is the time of a less that of b in milliseconds, round by round.
func (s samples) difference(a, b string) estimate {
	return s.each(func(i int) float64 { return s[a][i].ms - s[b][i].ms })
}

// net is the time of a over that of b once what it took to start true the same
// way, over true alone, is taken off a.
func (s samples) net(a, b, startA, startB string) estimate {
	return s.each(func(i int) float64 {
		return (s[a][i].ms - (s[startA][i].ms - s[startB][i].ms)) / s[b][i].ms
	})
}

func (s samples) time(a string) estimate {
	return s.each(func(i int) float64 { return s[a][i].ms })
}

func (s samples) each(value func(i int) float64) estimate {
	n := 0
	for _, list := range s {
		n = len(list)
	}
	values := make([]float64, n)
	for i := range values {
		values[i] = value(i)
	}
	return medianOf(values)
}

// peak is the largest peak memory of a command, in MiB.
func (s samples) peak(a string) float64 {
	most := 0
	for _, one := range s[a] {
		most = max(most, one.kib)
	}
	return float64(most) / 1024
}
