package auditlog

import (
	"slices"
	"strings"
	"syscall"

	"brainbox/internal/explain"
	"brainbox/launcher"
)

// Merge tells a report what the kernel refused: what the report has already is proven by it,
// the rest is a denial of its own. judge is asked what would allow it; nil: nobody is.
func Merge(r *explain.Report, list []Event, judge func(launcher.Operation) launcher.Judgement) {
	for i := range list {
		e := &list[i]
		if !r.Confirm(func(d *explain.Denial) bool { return e.matches(d) }) {
			r.Add(e.denial(judge))
		}
	}
}

// matches reports whether a record of the event is about what a denial lacks.
func (e *Event) matches(d *explain.Denial) bool {
	return slices.ContainsFunc(e.Accesses, func(a Access) bool {
		j := &d.Judgement
		if !slices.ContainsFunc(a.Blockers, func(b string) bool { return right(b) == j.Right }) {
			return false
		}
		if a.Path != "" {
			return a.Path == j.Place || a.Path == d.Path || a.Path == d.Dest
		}
		return a.Port != 0 && a.Port == d.Port
	})
}

// right is a blocker as a Judgement has it.
func right(blocker string) string {
	_, name, _ := strings.Cut(blocker, ".")
	return name
}

// operations are what the blockers refuse. In those with inside, the record has the folder.
var operations = map[string]struct {
	op     launcher.Op
	kind   launcher.FileKind
	inside bool
	call   string
}{
	"fs.read_file":   {op: launcher.OpRead, kind: launcher.KindRegular},
	"fs.read_dir":    {op: launcher.OpRead, kind: launcher.KindFolder},
	"fs.write_file":  {op: launcher.OpWrite, kind: launcher.KindRegular},
	"fs.truncate":    {op: launcher.OpTruncate, kind: launcher.KindRegular},
	"fs.execute":     {op: launcher.OpExec, kind: launcher.KindRegular},
	"fs.make_reg":    {op: launcher.OpCreate, kind: launcher.KindRegular, inside: true},
	"fs.make_dir":    {op: launcher.OpCreate, kind: launcher.KindFolder, inside: true},
	"fs.make_sym":    {op: launcher.OpCreate, kind: launcher.KindLink, inside: true},
	"fs.make_sock":   {op: launcher.OpCreate, kind: launcher.KindSocket, inside: true},
	"fs.make_fifo":   {op: launcher.OpCreate, kind: launcher.KindFIFO, inside: true},
	"fs.make_char":   {op: launcher.OpCreate, kind: launcher.KindChar, inside: true},
	"fs.make_block":  {op: launcher.OpCreate, kind: launcher.KindBlock, inside: true},
	"fs.remove_file": {op: launcher.OpRemove, kind: launcher.KindRegular, inside: true},
	"fs.remove_dir":  {op: launcher.OpRemove, kind: launcher.KindFolder, inside: true},
	"fs.refer":       {op: launcher.OpRename, inside: true},

	"fs.ioctl_dev":               {op: launcher.OpSyscall, call: "ioctl"},
	"fs.change_topology":         {op: launcher.OpSyscall, call: "mount"},
	"net.connect_tcp":            {op: launcher.OpConnect},
	"net.bind_tcp":               {op: launcher.OpBind},
	"scope.abstract_unix_socket": {op: launcher.OpSyscall, call: "connect"},
	"scope.signal":               {op: launcher.OpSyscall, call: "kill"},
	"ptrace":                     {op: launcher.OpSyscall, call: "ptrace"},
}

const (
	onlyTheKernel = "the kernel wrote down that it refused it (its audit log)"
	disagrees     = onlyTheKernel + ", and nothing in the plan does"
)

// denial is for an event that nobody else has seen.
func (e *Event) denial(judge func(launcher.Operation) launcher.Judgement) *explain.Denial {
	a := &e.Accesses[0]
	first := a.Blockers[0]
	known := operations[first]
	if known.op == launcher.OpRead && first != "fs.read_file" && first != "fs.read_dir" {
		known.op, known.call = launcher.OpSyscall, first // a word of a later kernel
	}
	d := &explain.Denial{Count: e.Count, Program: e.Program, PID: e.PID}
	d.Certainty = explain.Proven
	d.Operation = launcher.Operation{Op: known.op, Kind: known.kind, Path: a.Path, Port: a.Port, Call: known.call}
	ask := d.Operation
	if known.inside {
		d.Path, ask.Path = "", strings.TrimSuffix(a.Path, "/")+"/new"
	}
	d.Judgement = launcher.Judgement{Verdict: launcher.Refused, Right: right(first), Place: a.Path, Errno: syscall.EACCES, Reason: onlyTheKernel}
	if known.op == launcher.OpSyscall {
		d.Judgement.Errno = syscall.EPERM
	}
	if judge == nil || known.op == launcher.OpRename || known.op == launcher.OpSyscall {
		return d // a rename has two places, of which one alone says nothing
	}
	switch j := judge(ask); {
	case j.Verdict == launcher.Refused && j.Right == d.Judgement.Right:
		d.Judgement = j
	case j.Verdict == launcher.Allowed:
		d.Judgement.Reason = disagrees
	}
	return d
}
