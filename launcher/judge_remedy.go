package launcher

import (
	"path/filepath"
	"strconv"
	"strings"

	"brainbox/policy"
	"brainbox/seccomp"
)

// offer is one grant that might help.
type offer struct {
	right  policy.Right
	path   string
	folder bool
}

// remedy is what would allow a refused operation: it is tried on the plan before it is
// suggested.
func (j *Judge) remedy(op *Operation, g *Judgement) Remedy {
	switch op.Op {
	case OpConnect, OpBind:
		return j.portRemedy(op)
	case OpUnix:
		return j.socketRemedy(op.Path, g)
	case OpSyscall:
		return j.callRemedy(op.Call)
	case OpRead, OpWrite, OpTruncate, OpExec, OpCreate, OpRemove, OpRename, OpLink:
	}
	switch g.Clause {
	case "deny":
		return takeOut(g.Entry)
	case "protect":
		if r, ok := j.lift(g); ok {
			return r
		}
	case "unix":
		return j.socketRemedy(op.Path, g)
	}
	return j.grantRemedy(op)
}

// grantRemedy tries the grants that might help, the narrowest first.
func (j *Judge) grantRemedy(op *Operation) Remedy {
	var why string
	for _, list := range offers(op) {
		text, ok := j.tryOffers(op, list)
		if !ok {
			why = firstOf(why, text)
			continue
		}
		r := written(list)
		r.Note, r.Risk = joinNotes(j.beside(op), j.warning(list)), j.risk(list)
		return r
	}
	return Remedy{Note: firstOf(why, "no grant would allow it")}
}

// offers lists what might help. Whoever makes, removes or renames needs the folder.
func offers(op *Operation) [][]offer {
	from := parent(op.Path)
	one := func(r policy.Right, path string, folder bool) []offer { return []offer{{r, path, folder}} }
	it := op.Kind == KindFolder
	switch op.Op {
	case OpRead:
		return [][]offer{one(policy.RightRead, op.Path, it), one(policy.RightWrite, op.Path, it)}
	case OpExec:
		return [][]offer{one(policy.RightExec, op.Path, false), one(policy.RightWriteExec, op.Path, false)}
	case OpWrite, OpTruncate:
		if op.Kind != KindAbsent {
			return [][]offer{one(policy.RightWrite, op.Path, it), one(policy.RightWriteExec, op.Path, it)}
		}
	case OpRename, OpLink:
		to := parent(op.Dest)
		all := common(from, to)
		var list [][]offer
		for _, r := range [...]policy.Right{policy.RightWrite, policy.RightWriteExec} {
			list = append(list, one(r, to, true), one(r, from, true), []offer{{r, from, true}, {r, to, true}})
		}
		return append(list, one(policy.RightWrite, all, true), one(policy.RightWriteExec, all, true))
	case OpCreate, OpRemove, OpConnect, OpBind, OpUnix, OpSyscall:
	}
	return [][]offer{one(policy.RightWrite, from, true), one(policy.RightWriteExec, from, true)}
}

// common is the innermost folder that holds two paths.
func common(a, b string) string {
	for !policy.Below(b, a) {
		a = parent(a)
	}
	return a
}

// tryOffers reports whether the operation would be allowed with further grants; if not, the
// text may say what stands in the way.
func (j *Judge) tryOffers(op *Operation, list []offer) (why string, ok bool) {
	for _, o := range list {
		if why := j.unfit(o); why != "" {
			return why, false
		}
	}
	with := j.with(list)
	if with == nil {
		return firstOf(j.inPlace(list), "the entries around it stand in the way"), false
	}
	g := with.decide(op)
	return "", g.Verdict == Allowed
}

// unfit says why a grant must not be suggested: it would be refused, or open far more than
// was asked for.
func (j *Judge) unfit(o offer) string {
	f := j.facts
	if o.path == "/" {
		return "the root of the file system is no grant: name what is needed in it"
	}
	if why := j.unfitProc(o); why != "" {
		return why
	}
	for _, k := range f.Critical {
		switch {
		case policy.Below(k.Path, o.path) && (o.right.Writes() || k.What == homeFolder):
			return quotePath(o.path) + " holds " + k.What + ": make what is needed in it beforehand, and grant that"
		case o.right.Writes() && k.Whole && policy.Below(o.path, k.Path):
			return quotePath(o.path) + " belongs to " + k.What + ": no write grant may hold it"
		}
	}
	for _, s := range f.secretPlaces() {
		if policy.Below(s.Path, o.path) || policy.Below(o.path, s.Path) {
			return quotePath(o.path) + " holds " + s.What + ", which no grant may show to a program with a bridge"
		}
	}
	if policy.CheckPath(policy.KindFlag, o.path) != nil && !plainLiteral(o.path) {
		return "its name cannot be written in a policy: grant the folder above it"
	}
	return ""
}

// plainLiteral reports whether a policy file can name a path that a flag cannot.
func plainLiteral(path string) bool {
	return policy.CheckPath(policy.KindFile, strings.Map(func(r rune) rune {
		if strings.ContainsRune("*?[$", r) {
			return '_'
		}
		return r
	}, path)) == nil
}

// lift is the way to take a protection back, where an entry protects just that.
func (j *Judge) lift(g *Judgement) (Remedy, bool) {
	if j.facts.Inside == nil {
		return Remedy{}, false
	}
	for i := range j.facts.Inside.Names {
		n := &j.facts.Inside.Names[i]
		switch {
		case n.Path != g.Place || n.Guard == GuardDeny:
			continue
		case filepath.Base(n.Path) == "config" && isGitTable(&n.Entry):
			return Remedy{Flag: "--git-config", Line: "[sandbox]\ngit_config = true", Note: "a program that is named there runs with the rights of whoever uses git"}, true
		case n.Entry.Abs == n.Path:
			return Remedy{
				Flag: "--no-protect " + shellWord(n.Path), Line: "[sandbox]\nallow_protected = [" + tomlPath(n.Path) + "]",
			}, true
		}
		return Remedy{Note: "it is protected as a part of " + quotePath(n.Entry.Abs) + "; --no-protect for that would lift all of it"}, true
	}
	return Remedy{}, false
}

// takeOut names the entry that forbids.
func takeOut(e *Entry) Remedy {
	if e == nil {
		return Remedy{Note: "a deny entry forbids it"}
	}
	return Remedy{
		Line: "[filesystem]\n# take out: deny = [" + tomlPath(e.Path) + "]",
		Note: "deny beats every grant: take the entry " + quotePath(e.Value) + " out",
	}
}

// portRemedy is the flag that opens a port.
func (j *Judge) portRemedy(op *Operation) Remedy {
	key, flag, n := "connect_tcp", "--connect-tcp ", strconv.Itoa(int(op.Port))
	if op.Op == OpBind {
		key, flag = "bind_tcp", "--bind-tcp "
	}
	if op.Op == OpBind && op.Port < privileged && op.Port != 0 {
		return Remedy{Note: "a port below 1024 needs a privilege that the program does not have"}
	}
	if op.Port == 0 {
		return Remedy{Note: "the kernel would choose the port, and no policy can list that: have the program name one"}
	}
	r := Remedy{Flag: flag + n, Line: "[network]\n" + key + " = [" + n + "]"}
	if j.plan.OwnNetwork || j.plan.Seccomp.Network == seccomp.NetNone {
		r.Flag = "--net ports " + r.Flag
		r.Line = "[network]\nmode = \"ports\"\n" + key + " = [" + n + "]"
	}
	if j.plan.Network != nil && j.plan.Network.Proxy {
		r.Note = "or list the host that it belongs to: --allow-host NAME:" + n
	}
	return r
}

func (j *Judge) socketRemedy(path string, g *Judgement) Remedy {
	if g.Clause == "deny" {
		return takeOut(g.Entry)
	}
	r := Remedy{Flag: "--unix " + shellWord(path), Line: "[network]\nunix = [" + tomlPath(path) + "]"}
	if policy.CheckPath(policy.KindFlag, path) != nil {
		r.Flag = "" // no flag takes every character for itself
	}
	if runsContainers(path) {
		r.Note = "whoever may use it is root on this host"
	}
	r.Risk = obeys(path)
	return r
}

// callRemedy names what opens a system call.
func (j *Judge) callRemedy(name string) Remedy {
	if s, ok := parseSocketCall(name); ok {
		return j.socketCallRemedy(&s)
	}
	if !j.debugOpens(name) {
		return filterRemedy(name)
	}
	if _, ok := policy.Builtin("debug"); ok {
		return Remedy{Flag: "--profile debug", Note: "or --seccomp debug alone"}
	}
	return Remedy{Flag: "--seccomp debug"}
}

// written writes grants as flags and for a policy file.
func written(list []offer) Remedy {
	var flags, paths []string
	for _, o := range list {
		flags = append(flags, flagOf(o.right)+" "+shellWord(o.path))
		paths = append(paths, tomlPath(o.path))
		if policy.CheckPath(policy.KindFlag, o.path) != nil {
			flags = nil // no flag takes every character for itself
			break
		}
	}
	r := Remedy{Flag: strings.Join(flags, " ")}
	if len(list) > 0 {
		r.Line = "[filesystem]\n" + list[0].right.String() + " = [" + strings.Join(paths, ", ") + "]"
	}
	return r
}

func flagOf(r policy.Right) string {
	switch r {
	case policy.RightExec:
		return "--rox"
	case policy.RightWrite:
		return "--rw"
	case policy.RightWriteExec:
		return "--rwx"
	case policy.RightRead, policy.RightNone, policy.RightProtect, policy.RightDeny:
	}
	return "--ro"
}

// with is the judge of a plan with further grants; nil if such a plan would be refused.
func (j *Judge) with(list []offer) *Judge {
	x := *j.index
	x.over = map[string]*node{}
	for _, o := range list {
		nested, ok := j.nests(o)
		if !ok {
			return nil
		}
		x.add(o, nested, j.abi())
	}
	out := *j
	out.index = &x
	return &out
}

// shellWord is an argument that sh(1) takes as it is.
func shellWord(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-"
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
