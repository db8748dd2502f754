package launcher

import (
	"slices"
	"time"

	"brainbox/landlock"
	"brainbox/policy"
	"brainbox/seccomp"
)

// State is what became of a clause or an entry.
type State uint8

// The states, from worst to best: a clause has the state of its worst entry.
const (
	StateUnused   State = iota // nobody asked for it
	StateEnforced              // a named mechanism holds it
	StateOpen                  // not held, and declared so
	StateRefused               // cannot be held: nothing starts
)

// String returns the word of check --json.
func (s State) String() string {
	return [...]string{"unused", "enforced", "open", "refused"}[s]
}

// Clause is one line of a plan: what holds it, or what is missing.
type Clause struct {
	Name        string
	State       State
	Mechanism   string
	Degraded    bool // open because the operator lists it in degraded
	Requirement string
	Route       string // what would hold it, or allow it to stay open
	Entries     []Entry

	mistaken bool // refused for what was written, not for what the kernel lacks
}

// Entry is one entry of the policy inside a clause.
type Entry struct {
	Value    string // as written
	Path     string // absolute
	Target   string // links resolved
	Right    string
	State    State
	Note     string
	Optional bool
	Source   int // index into Plan.Sources; -1: there whatever the policy says
}

// Rule is one Landlock rule: what Facts.Paths[Path] holds gets Right.
type Rule struct {
	Path   int
	Right  landlock.Right
	Device bool
	Unix   bool
}

// Plan is the decision: what the kernel will be told, and what each clause became. It
// comes from the policy and the facts alone and holds no descriptor.
type Plan struct {
	Isolation string // "landlock" or "namespaces"; Facts.Untried says whether it is certain
	Asked     string // "auto", "landlock" or "namespaces"
	Sources   []policy.Source
	Notes     []string
	Clauses   []Clause
	Refusal   *Refusal // the first reason why nothing may start; nil: it may

	Command []string
	File    string
	Env     []string
	Cwd     string

	Rules    []Rule
	Landlock landlock.Spec // without its Rules, which need descriptors
	Seccomp  seccomp.Options
	Filter   seccomp.Program // of a user's profile, or nothing with seccomp = "none"
	NoFilter bool

	Broker *BrokerPlan // the sockets that the supervisor connects; nil: none
	Bridge *BridgePlan // how the program reaches its bridge; nil: there is none

	Network *NetworkPlan // what somebody has to serve for the program; nil: nothing

	Limits      []Limit
	Umask       int
	Timeout     time.Duration
	KillAfter   time.Duration
	OutputLimit int64
	Cgroup      map[string]string // file → value in the run's own group
	UseCgroup   bool
	Identity    *IdentityFact
	Bounding    bool
	Terminal    bool
	Relay       [3]bool
	HomeKind    string
	GitConfig   []byte

	Fallback *Attempt // with isolation landlock: the start in namespaces that was tried before

	// With isolation namespaces.
	Mounts     []Mount // the program's file system, in order
	OwnNetwork bool    // a network namespace, with a loopback device and nothing else
	regions    map[string]region

	index *index // of Rules, Mounts and regions, by path

	policy *policy.Policy // for the plan of the same facts where namespaces are not offered

	Watch       []Watch // names that the program must not leave behind
	KeepCreated bool    // they stay where they are, and are reported
}

// planner carries the inputs while the clauses are decided one after the other.
type planner struct {
	pol   *policy.Policy
	facts *Facts
	plan  *Plan

	nestedAt []int           // indexes of Facts.Wants that nest looked at
	nestedAs []policy.Nested // what it found, one each
	dropped  []string        // by index of Facts.Wants: why a grant has no effect
	inside   bool            // isolation namespaces
}

// NewPlan decides what every entry of p becomes with the given facts. It is pure. A plan
// with a Refusal is complete all the same, so that check can show all of it.
//
// Isolation auto is namespaces, unless the facts say that they are not offered here: then
// it is landlock, and Fallback says what was tried. brainbox-exec has landlock only.
func NewPlan(p *policy.Policy, f *Facts) *Plan {
	inside := wantsInside(p) && f.Inside != nil
	if inside && f.Refused != nil {
		return notOffered(p, f)
	}
	return newPlan(p, f, inside)
}

// wantsInside reports whether a policy asks for isolation namespaces, or would have it.
func wantsInside(p *policy.Policy) bool { return p.Sandbox.Isolation.V != "landlock" }

// newPlan decides for isolation landlock, or inside for namespaces; the facts then have
// to have what [Facts.Inside] holds.
func newPlan(p *policy.Policy, f *Facts, inside bool) *Plan {
	pl := &Plan{
		Isolation: "landlock", Asked: "auto", Sources: p.Sources, Notes: slices.Clone(p.Notes),
		Command: f.Command, File: f.File, Identity: f.Identity, Bounding: f.SetPCap, Terminal: f.Terminal,
		Relay: f.ReadBack, HomeKind: f.Home.Kind, GitConfig: f.GitConfig,
		Umask: f.Umask | 0o022, KeepCreated: p.Sandbox.KeepCreated.V, policy: p,
	}
	if f.Place.raised != nil {
		pl.Umask = umaskRaised
	}
	d := &planner{pol: p, facts: f, plan: pl, inside: inside}
	d.isolation()
	if inside {
		d.filesInside()
	} else {
		d.files()
		d.watchOutside()
	}
	pl.index = newIndex(pl, f)
	d.network()
	d.sharing()
	d.processLimits()
	d.environment()
	d.filter()
	d.identity()
	d.directory()
	d.checkoutAbove()
	d.command()
	return pl
}

// add appends a clause and remembers the first refusal.
func (d *planner) add(c Clause) {
	d.settle(&c)
	d.plan.Clauses = append(d.plan.Clauses, c)
}

// settle ends the decision about a clause. One that could not be held is open if the
// operator accepts that by name, else refused. A mistake cannot be accepted: a missing
// path, or a write grant that holds the home folder, would be shown as open and be
// neither granted nor refused.
func (d *planner) settle(c *Clause) {
	if c.State == StateRefused && c.Name != "deny" && !c.mistaken && d.degraded(c.Name) {
		c.State, c.Degraded = StateOpen, true
		for i := range c.Entries {
			if c.Entries[i].State == StateRefused {
				c.Entries[i].State = StateOpen
			}
		}
	}
	if c.State != StateRefused {
		return
	}
	what := c.Requirement
	for _, e := range c.Entries {
		if e.State == StateRefused {
			what = quotePath(e.Value) + ": " + firstOf(e.Note, c.Requirement)
			break
		}
	}
	d.refuse(&Refusal{Status: StatusRefused, Clause: c.Name, Message: c.Name + ": " + what, Hint: c.Route})
}

func (d *planner) refuse(r *Refusal) {
	if d.plan.Refusal == nil {
		d.plan.Refusal = r
	}
}

func (d *planner) degraded(clause string) bool {
	return slices.ContainsFunc(d.pol.Sandbox.Degraded, func(i policy.Item[string]) bool { return i.V == clause })
}

func firstOf(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}

// worst returns the worse of two states.
func worst(a, b State) State { return max(a, b) }

// isolation decides how the program is held. Asking for namespaces is never answered with
// something else.
func (d *planner) isolation() {
	if d.pol.Sandbox.Isolation.Set {
		d.plan.Asked = d.pol.Sandbox.Isolation.V
	}
	if d.inside {
		d.plan.Isolation, d.plan.Seccomp.Namespaces = "namespaces", true
		return
	}
	if d.plan.Asked == "namespaces" {
		d.refuse(&Refusal{
			Status: StatusRefused, Message: "isolation namespaces needs a supervisor, and there is none here",
			Hint: "brainbox run --isolation namespaces; --isolation landlock needs none",
		})
	}
}

// elsewhere reports whether the program has something of its own, or nothing, where the
// working directory is on the host.
func (d *planner) elsewhere() bool {
	r := d.plan.region(d.facts.Cwd.Target)
	return d.inside && (r.own || r.hidden || r.denied)
}

// checkoutAbove tells whoever starts in a folder of a checkout that the checkout itself is
// not granted with it: git finds no repository then, and says so in words that do not help.
func (d *planner) checkoutAbove() {
	top := d.facts.Place.Git
	if top == "" || top == d.facts.Cwd.Target || !policy.Below(d.plan.Cwd, top) {
		return
	}
	for i, w := range d.facts.Wants {
		p := &d.facts.Paths[i]
		if p.Err == nil && w.Right.Grants() && d.dropped[i] == "" && policy.Below(top, p.Target) {
			return
		}
	}
	d.plan.Notes = append(d.plan.Notes, "the checkout "+quotePath(top)+
		" lies in no grant, only a folder of it: git finds no repository; --ro @git lets it, --rw @git grants all of it")
}

// directory decides where the program starts: inside a grant.
func (d *planner) directory() {
	f := d.facts
	if f.Cwd.Err != nil {
		d.refuse(&Refusal{
			Status: StatusRefused, Clause: "files", Message: "working directory: " + f.Cwd.Err.Error(),
			Hint: "--cwd names a folder inside a grant",
		})
		return
	}
	d.plan.Cwd = f.Cwd.Target
	for i, w := range f.Wants {
		if f.Paths[i].Err == nil && w.Right.Grants() && d.dropped[i] == "" && policy.Below(f.Cwd.Target, f.Paths[i].Target) && !d.elsewhere() {
			return
		}
	}
	if d.pol.Sandbox.Cwd != nil {
		d.refuse(&Refusal{
			Status: StatusRefused, Clause: "files",
			Message: "working directory " + quotePath(d.pol.Sandbox.Cwd.Abs) + " lies in no grant",
			Hint:    "grant it, for example with --ro " + quotePath(d.pol.Sandbox.Cwd.Abs),
		})
		return
	}
	d.plan.Notes = append(d.plan.Notes, "the current directory "+quotePath(f.Cwd.Target)+
		" lies in no grant: the program starts in /")
	d.plan.Cwd = "/"
}
