package policy

import "time"

// Right says what an entry of [filesystem] gives or takes away.
// The zero Right gives nothing.
type Right uint8

// The rights of [filesystem]. Exec includes Read, Write includes Read,
// WriteExec includes all three.
const (
	RightNone Right = iota
	RightRead
	RightExec
	RightWrite
	RightWriteExec
	RightProtect
	RightDeny
)

// String returns the word that check --json uses for r.
func (r Right) String() string {
	switch r {
	case RightRead:
		return "read"
	case RightExec:
		return "exec"
	case RightWrite:
		return "write"
	case RightWriteExec:
		return "write_exec"
	case RightProtect:
		return "protect"
	case RightDeny:
		return "deny"
	case RightNone:
	}
	return "none"
}

// Writes reports whether r lets a program change what is below the entry.
func (r Right) Writes() bool { return r == RightWrite || r == RightWriteExec }

// Execs reports whether r lets a program execute what is below the entry.
func (r Right) Execs() bool { return r == RightExec || r == RightWriteExec }

// Grants reports whether r gives anything at all.
func (r Right) Grants() bool { return r >= RightRead && r <= RightWriteExec }

// SourceKind tells what kind of text a value came from.
type SourceKind uint8

// The kinds of source, in the order in which they are merged.
const (
	KindProfile SourceKind = iota // a built-in profile
	KindFile                      // an operator's policy file
	KindExec                      // exec.toml, the wrapper's policy
	KindProject                   // a project's own .brainbox.toml
	KindFlag                      // the command line
)

// String returns the word that check --json uses for k.
func (k SourceKind) String() string {
	switch k {
	case KindFile, KindExec:
		return "file"
	case KindProject:
		return "project"
	case KindFlag:
		return "flag"
	case KindProfile:
	}
	return "profile"
}

// Source is one place that a value of a policy came from. Line and Column start
// at 1; 0 means unknown (a profile, a flag).
type Source struct {
	Kind   SourceKind
	Name   string // file path, profile name, or the flag as typed
	Line   int
	Column int
}

// Path is a path-valued entry.
type Path struct {
	Text     string // as written
	Abs      string // expanded, absolute, lexically clean; links not followed
	Skip     bool   // missing = "skip": an absent path is no error
	Optional bool   // from a built-in profile that may go without it
	Literal  bool   // literal = true: Text is a plain path, nothing in it expands
	Source   int    // index into Policy.Sources
}

// Grant is one entry of [filesystem].
type Grant struct {
	Path
	Right Right
}

// Value is a scalar that knows whether and where it was set. The zero Value is
// unset.
type Value[T any] struct {
	V      T
	Set    bool
	Source int // index into Policy.Sources; meaningless when not Set
}

// Item is one element of a list.
type Item[T any] struct {
	V      T
	Source int
}

// NetworkMode is [network] mode. The zero mode is none: no network.
type NetworkMode uint8

// The network modes.
const (
	NetNone NetworkMode = iota
	NetPorts
	NetProxy
	NetHost
)

// String returns the word of the policy language.
func (m NetworkMode) String() string { return [...]string{"none", "ports", "proxy", "host"}[m] }

// Host is one allow_hosts entry. Ports empty means 443 and 80.
type Host struct {
	Name string // lower case A-label name, or *.name, or an IP literal as written
	Port uint16 // 0: the default ports
}

// Network is [network].
type Network struct {
	Mode       Value[NetworkMode]
	ConnectTCP []Item[uint16]
	BindTCP    []Item[uint16]
	Publish    []Item[uint16]
	DNS        Value[string] // "none" or "host"
	AllowHosts []Item[Host]
	Upstream   Value[string] // http://HOST:PORT
	Resolver   Value[string] // ADDRESS:PORT of the DNS server that is asked in place of the host's
	Unix       []Path
}

// Var is one [env] set entry or --env NAME=VALUE.
type Var struct{ Name, Value string }

// Env is [env].
type Env struct {
	Allow    []Item[string]
	Set      []Item[Var]
	Files    []Path
	CABundle *Path
}

// Process is [process]. Sizes are bytes; a zero duration means no limit.
type Process struct {
	Timeout     Value[time.Duration]
	KillAfter   Value[time.Duration]
	Memory      Value[int64]
	CPU         Value[string] // as cgroup v2 cpu.max wants it: a number of CPUs, "1.5"
	Pids        Value[int64]
	NoFile      Value[uint64]
	FSize       Value[int64]
	OutputLimit Value[int64]
	Seccomp     Value[Seccomp]
}

// Seccomp is [process] seccomp: "default", "debug", "none", or an OCI profile file.
type Seccomp struct {
	Kind string // "default", "debug", "none" or "file"
	File Path   // with Kind "file"
}

// Identity is [sandbox] identity: names or decimal numbers, looked up by
// package launcher.
type Identity struct {
	User, Group string
	Groups      []string
}

// Home is [sandbox] home: "run", "keep" or a directory.
type Home struct {
	Kind string // "run", "keep" or "dir"
	Dir  Path   // with Kind "dir"
}

// Sandbox is [sandbox].
type Sandbox struct {
	Isolation      Value[string] // "auto", "landlock" or "namespaces"
	Home           Value[Home]
	Degraded       []Item[string] // clause names; never inherited through extends
	Identity       Value[Identity]
	GitConfig      Value[bool]
	AllowProtected []Path
	Cwd            *Path
	KeepCreated    Value[bool]
	Callers        []Item[string] // exec.toml only
	TmpRoot        *Path          // exec.toml only
}

// Policy is the merged policy: what every later step is derived from.
// Order within a list is the order of the merge.
type Policy struct {
	Sources []Source
	Grants  []Grant
	Network Network
	Env     Env
	Process Process
	Sandbox Sandbox
	Gate    Gate
	Bridge  Bridge
	Files   []string // the operator's files that were read, whether or not a value of theirs is left
	Notes   []string // what was set aside on the way, one sentence each (degraded in an extended file)

	// Optional names the clauses that a built-in profile may go without. A
	// policy that extends no profile has none: what an operator writes is
	// required.
	Optional []Item[string]

	Bare *Bare // a worker's run; nil: any other
}

// Confirm is one [gate] confirm pattern.
type Confirm struct{ Pattern, Effect string }

// Rule is one [[gate.rule]]; order is meaning.
type Rule struct {
	Surface, Pattern, Action string
	Reason                   string // told to whoever is denied; may be empty
	Source                   int

	// Tighten marks a rule of a project file, or one with tighten = true. Such
	// rules form a layer of their own: they are matched apart from the others,
	// and of both answers the more restrictive one counts, so that an ask
	// never covers a deny.
	Tighten bool
}

// Gate is [gate], kept for package gate. Confirm replaces the patterns that the
// gate has of its own; without any, and with NoConfirm unset, those hold.
// ConfirmMore comes on top of whichever holds.
type Gate struct {
	AllowedTools []Item[string]
	Confirm      []Item[Confirm]
	ConfirmMore  []Item[Confirm] // confirm_more, and everything a project file wants confirmed
	Rules        []Rule
	NoConfirm    Value[bool] // confirm = []: none, not even the gate's own; never with Confirm
}

// Bridge is [bridge], kept for package bridge.
type Bridge struct {
	Envelope *Path
	Roots    map[string]Path
}
