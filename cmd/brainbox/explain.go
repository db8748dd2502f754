package main

import (
	"os"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"brainbox/internal/auditlog"
	seen "brainbox/internal/explain"
	"brainbox/launcher"
)

// auditWait is how long the end of an explained run waits for the kernel's own records.
const auditWait = time.Second

// explained is a run whose denials are told. A nil one tells nothing.
type explained struct {
	report seen.Report
	engine *seen.Engine
	judge  *launcher.Judge
	log    *auditlog.Log // nil: the kernel's records cannot be read
	pid    int
}

// newExplained is for --explain; else nil.
func newExplained(c *cli.Context) *explained {
	if !c.Bool("explain") {
		return nil
	}
	e := &explained{}
	e.log, _ = auditlog.Open() // as a rule nobody may, or there are none
	return e
}

// options has the run watched.
func (e *explained) options(o *launcher.Options) {
	if e != nil {
		o.Observe, o.LogRefusals = e.observe, e.log != nil
	}
}

// observe makes the observer of the plan that is carried out. It is called again for the plan
// without namespaces, where they turn out not to be offered.
func (e *explained) observe(p *launcher.Plan, f *launcher.Facts) (launcher.Observer, error) {
	e.stop()
	e.judge = launcher.NewJudge(p, f)
	e.report.Home, e.report.Secret, e.report.Trusted = f.Place.Home, f.Secret, f.Trusted
	cfg, err := seen.For(p, f)
	if err != nil {
		return nil, err
	}
	cfg.Judge, cfg.Sink = e.judge, &e.report
	e.engine, err = seen.New(cfg)
	if err != nil {
		return nil, err
	}
	return seen.NewDescriptors(e.engine, p, &e.report), nil
}

func (e *explained) started(pid int) {
	if e != nil {
		e.pid = pid
	}
}

// stop ends the observer, when nothing calls it any more.
func (e *explained) stop() {
	if e != nil && e.engine != nil {
		e.engine.Close()
		e.engine = nil
	}
}

func (e *explained) close() {
	e.stop()
	if e != nil && e.log != nil {
		e.log.Close()
	}
}

// tell writes the report of a run that has ended: to people, and as status lines.
func (e *explained) tell(c *cli.Context, r *launcher.Result, lines *statusLines, n *networkRun) {
	if e == nil {
		return
	}
	if e.log != nil {
		if exe, err := os.Executable(); err == nil {
			auditlog.Merge(&e.report, e.log.Denied(e.pid, exe, auditWait), e.judge.Judge)
		}
	}
	n.explain(&e.report)
	for _, l := range reached(r) {
		e.report.Reach(l)
	}
	lines.explained(&e.report)
	if c.Bool("quiet") {
		return
	}
	if text := r.Watch.Panic; text != "" {
		printf(c.App.ErrWriter, "brainbox: internal error: what was denied is not all known: %s\n", oneLine(text))
	}
	most := seen.Screen
	if c.Bool("verbose") {
		most = 0
	}
	_ = e.report.Text(c.App.ErrWriter, most) // there is nowhere left to report an error
}

// explained tells the report of a run. Its lines are as many as the program wants, within
// bounds, and leave room for the last one as those of the network do.
func (s *statusLines) explained(r *seen.Report) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range r.JSON() {
		if s.crowded() {
			s.dropped++
			continue
		}
		s.write(v)
	}
}

// hintExplain says in one line how to hear more of a command that failed by itself, if it is
// worth it: not of one that a signal ended which a user may have sent, nor of one whose limits
// did.
func hintExplain(c *cli.Context, r *launcher.Result) {
	if c.Bool("explain") || c.Bool("quiet") || r.Status == 0 || r.TimedOut || r.Truncated || sentByUser(r) {
		return
	}
	w := c.App.ErrWriter
	if n := r.Broker.Refused; n > 0 {
		printf(w, "brainbox: %s\n", times(n, "connect to a Unix socket was", "connects to Unix sockets were")+" refused")
	}
	for _, l := range reached(r) {
		if l.Name != "memory" { // which is told in any case
			printf(w, "brainbox: limit %s: %s; %s raises it\n", l.Name, oneLine(l.Text), l.Flag)
		}
	}
	if c.Bool("verbose") || isTerminal(2) {
		printf(w, "brainbox: hint: the command failed; brainbox run --explain … says what was denied\n")
	}
}

// sentByUser reports whether a command ended by a signal that people send, itself or as a shell
// tells it of its own.
func sentByUser(r *launcher.Result) bool {
	signal := r.Signal
	if signal == 0 && r.Status > 128 {
		signal = unix.Signal(r.Status - 128)
	}
	switch signal {
	case unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGKILL, unix.SIGTERM, unix.SIGPIPE, unix.SIGTSTP:
		return true
	default:
		return false
	}
}
