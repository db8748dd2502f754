package launcher

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"brainbox/policy"
	"brainbox/seccomp"
)

// filter decides the clause seccomp.
func (d *planner) filter() {
	s := d.pol.Process.Seccomp
	source := sourceOf(s.Set, s.Source)
	c := Clause{Name: "seccomp", State: StateEnforced, Mechanism: "seccomp filter"}
	keepsRoot := d.facts.Place.EUID == 0 && d.facts.Identity == nil
	d.plan.Seccomp.KeepsRoot = keepsRoot
	switch s.V.Kind {
	case "none":
		d.plan.NoFilter = true
		c.State, c.Mechanism = StateOpen, ""
		c.Entries = []Entry{{Value: "none", State: StateOpen, Source: source, Note: "every system call is open, as asked"}}
		d.withoutDefaultFilter("none")
	case "file":
		c.Entries = []Entry{{Value: s.V.File.Text, Path: s.V.File.Abs, State: StateEnforced, Source: source}}
		if d.facts.SeccompErr != nil {
			c.State, c.Entries[0].State, c.Entries[0].Note = StateRefused, StateRefused, d.facts.SeccompErr.Error()
			c.mistaken = true
			c.Route = "brainbox policy compile FILE says what is wrong with a profile"
			break // the other clauses would hide what is wrong
		}
		if len(d.facts.SeccompDropped) > 0 {
			c.Entries[0].Note = "unknown system calls, refused like all that are not listed: " + strings.Join(d.facts.SeccompDropped, " ")
		}
		d.plan.Filter = d.facts.Seccomp
		d.withoutDefaultFilter("a profile of your own")
	default:
		c.Entries = []Entry{{Value: "default", State: StateEnforced, Source: source}}
		if s.V.Kind == "debug" {
			d.debugFilter(&c)
		}
		if _, err := seccomp.Default(d.plan.Seccomp); err != nil {
			c.State, c.Requirement, c.mistaken = StateRefused, err.Error(), true
			c.Route = "--seccomp FILE with an OCI profile for this architecture"
		}
	}
	d.add(c)
}

// debugFilter opens ptrace(2) and its companions. What keeps them from the processes of
// the host is the Landlock domain (every ABI) and nothing else, so without one they stay
// closed.
func (d *planner) debugFilter(c *Clause) {
	e := &c.Entries[0]
	e.Value, e.Note = "debug", "ptrace is open inside the domain"
	d.plan.Seccomp.Debug = true
	if d.facts.LandlockErr != nil || d.facts.Landlock.Used() < 1 {
		c.State, e.State, c.mistaken = StateRefused, StateRefused, true
		c.Requirement = "Landlock, which keeps ptrace inside"
		c.Route = "--seccomp default"
	}
}

// withoutDefaultFilter refuses what only the default filter holds: its rules for sockets
// and System V objects are part of the clauses network, unix and ipc.
func (d *planner) withoutDefaultFilter(what string) {
	for i := range d.plan.Clauses {
		c := &d.plan.Clauses[i]
		switch c.Name {
		case "network":
			if d.pol.Network.Mode.V == policy.NetHost { // open already, as asked
				continue
			}
		case "unix":
			if d.plan.Seccomp.UnixSockets || d.inside { // Landlock holds it, or what is mounted
				continue
			}
		case "ipc":
		default:
			continue
		}
		if c.State == StateRefused || c.Degraded {
			continue
		}
		if c.Name == "unix" {
			d.plan.Broker, d.plan.Seccomp.UnixBroker = nil, false
		}
		c.State, c.Mechanism = StateRefused, ""
		c.Requirement = "the default seccomp filter, which " + what + " replaces"
		c.Route = "--seccomp default, or --allow-degraded " + c.Name
		for j := range c.Entries {
			c.Entries[j].State = StateRefused
		}
		d.settle(c)
	}
}

// identity decides the clause capabilities: nothing is kept, whoever calls.
func (d *planner) identity() {
	c := Clause{Name: "capabilities", State: StateEnforced, Mechanism: "capset, no_new_privs"}
	raised := d.facts.Place.raised != nil
	if d.facts.SetPCap || raised {
		c.Mechanism = "capset, bounding set, no_new_privs"
	}
	if id := d.facts.Identity; id != nil {
		e := Entry{Value: id.User, State: StateEnforced, Source: d.pol.Sandbox.Identity.Source}
		if d.facts.Place.EUID != 0 && !raised {
			e.State, e.Note = StateRefused, "only root can become another user"
			c.State, c.Requirement, c.Route = StateRefused, e.Note, "take identity out, or run as root"
			if len(d.pol.Sandbox.Callers) > 0 { // without the identity the program would be the caller's
				c.Route = "run as root, or have root set the set-uid bit again: see brainbox-exec(8)"
			}
			c.mistaken = true
		}
		c.Entries = []Entry{e}
	} else if d.facts.Place.EUID != 0 {
		c.Entries = []Entry{{Value: "groups", State: StateUnused, Source: -1, Note: "supplementary groups stay: only root can drop them"}}
	}
	d.add(c)
}

// command decides whether the program can be started at all.
func (d *planner) command() {
	f := d.facts
	d.home()
	if len(f.Command) == 0 {
		return
	}
	name := strconv.Quote(f.Command[0])
	switch {
	case errors.Is(f.FileErr, fs.ErrNotExist) && strings.Contains(f.Command[0], "/"):
		d.refuse(&Refusal{Status: StatusNotFound, Message: name + ": " + errText(f.FileErr)})
	case errors.Is(f.FileErr, fs.ErrNotExist):
		d.refuse(&Refusal{Status: StatusNotFound, Message: name + ": command not found", Hint: "looked for it in " + f.Path})
	case f.FileErr != nil:
		hint := "the caller himself cannot execute it"
		if errors.Is(f.FileErr, fs.ErrPermission) {
			hint = "chmod +x makes it a program; a script can be given to its interpreter"
		}
		d.refuse(&Refusal{Status: StatusNotRun, Message: name + ": " + errText(f.FileErr), Hint: hint})
	}
}

// home refuses a private home that cannot be one.
func (d *planner) home() {
	if d.facts.Home.Err != nil {
		d.refuse(&Refusal{
			Status: StatusRefused, Clause: "files", Message: "home: " + d.facts.Home.Err.Error(),
			Hint: "--home run uses a fresh folder for each run",
		})
	}
	for _, own := range [...][2]string{{"home", d.facts.Home.Target}, {"TMPDIR", d.facts.CallerTmp.Target}} {
		for _, k := range d.facts.Critical {
			if own[1] != "" && policy.Below(k.Path, own[1]) {
				d.refuse(&Refusal{
					Status: StatusRefused, Clause: "files", Message: own[0] + ": " + quotePath(own[1]) + " holds " + k.What,
					Hint: "the program may write there: name another folder",
				})
			}
		}
	}
}

// notShown reports whether a program that is not there inside, or whose interpreter is
// not, is there on the host.
func (p *Plan) notShown() bool {
	if p.Isolation != "namespaces" {
		return false
	}
	file := resolved(p.File)
	if ok, _ := p.Allows(policy.RightExec, file); !ok {
		return true
	}
	if what, _ := p.Held(file); what == HeldOwn {
		return true
	}
	f, err := os.OpenFile(p.File, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	var head [256]byte // as much as the kernel looks at (execve(2))
	n, _ := f.Read(head[:])
	line, isScript := strings.CutPrefix(firstLine(string(head[:n])), "#!")
	words := strings.Fields(line)
	return isScript && len(words) > 0 && executable(words[0]) == nil
}

// NotRunHint says why execve(2) was refused inside, from the plan: no byte of what
// happened inside is needed.
func (p *Plan) NotRunHint(errno error) string {
	if !errors.Is(errno, unix.EACCES) {
		if errors.Is(errno, unix.ENOEXEC) {
			return "it is neither a program nor a script that begins with #!"
		}
		return ""
	}
	what, _ := p.Held(resolved(p.File))
	if ok, _ := p.Allows(policy.RightExec, resolved(p.File)); ok && what != HeldOwn {
		return "its interpreter, or a loader that it names, lies in no execute grant"
	}
	return "it lies in no execute grant: --rox " + quotePath(p.File) + " would allow it"
}
