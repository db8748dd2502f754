package policy

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Format returns the policy as TOML, one value a line with a comment that says
// where it comes from. Paths are absolute. The text parses again, as KindExec if
// the policy has callers or a tmp_root, else as KindFile, to the same policy but
// for provenance and for what only a built-in profile can say (optional entries
// and clauses).
func (p *Policy) Format() []byte {
	f := &formatter{p: p}
	f.line("version = 1")
	for _, note := range p.Notes {
		f.line("# note: " + comment(note))
	}
	f.filesystem()
	f.network()
	f.env()
	f.process()
	f.sandbox()
	f.gate()
	f.bridge()
	return []byte(f.b.String())
}

type formatter struct {
	p      *Policy
	b      strings.Builder
	table  string // the table to open before the next key
	opened string
}

func (f *formatter) line(s string) {
	f.b.WriteString(s)
	f.b.WriteByte('\n')
}

// key begins a key of the current table, which is opened when it has one.
func (f *formatter) key(s string) {
	if f.table != f.opened {
		f.line("\n[" + f.table + "]")
		f.opened = f.table
	}
	f.b.WriteString(s)
}

func (f *formatter) from(src int) string {
	if src < 0 || src >= len(f.p.Sources) {
		return ""
	}
	s := f.p.Sources[src]
	return " # " + comment(s.Kind.String()+" "+s.at())
}

// comment makes text fit into a comment: one line, printable.
func comment(text string) string { return printable(text) }

// quote writes a TOML basic string. Go's quoting has escapes TOML does not know.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			b.WriteString(`\u00` + string("0123456789abcdef"[r>>4]) + string("0123456789abcdef"[r&15]))
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func (f *formatter) pathText(p Path) string {
	literal := strings.ContainsAny(p.Abs, "*?[$")
	if !p.Skip && !literal {
		return quote(p.Abs)
	}
	text := "{ path = " + quote(p.Abs)
	if p.Skip {
		text += `, missing = "skip"`
	}
	if literal {
		text += ", literal = true"
	}
	return text + " }"
}

func (f *formatter) pathNote(p Path) string {
	note := f.from(p.Source)
	if p.Text != p.Abs && p.Text != "" {
		note += ", written as " + comment(p.Text)
	}
	if p.Optional {
		note += ", optional"
	}
	return note
}

func (f *formatter) list(key string, n int, element func(i int) (text, note string)) {
	if n == 0 {
		return
	}
	f.key(key + " = [\n")
	for i := range n {
		text, note := element(i)
		f.line("  " + text + "," + note)
	}
	f.line("]")
}

func formatItems[T any](f *formatter, key string, items []Item[T], text func(T) string) {
	f.list(key, len(items), func(i int) (string, string) {
		return text(items[i].V), f.from(items[i].Source)
	})
}

func (f *formatter) paths(key string, paths []Path) {
	f.list(key, len(paths), func(i int) (string, string) { return f.pathText(paths[i]), f.pathNote(paths[i]) })
}

func formatValue[T any](f *formatter, key string, v Value[T], text func(T) string) {
	if v.Set {
		f.key(key + " = " + text(v.V) + f.from(v.Source) + "\n")
	}
}

func (f *formatter) onePath(key string, p *Path) {
	if p != nil {
		f.key(key + " = " + f.pathText(*p) + f.pathNote(*p) + "\n")
	}
}

func (f *formatter) filesystem() {
	f.table = "filesystem"
	for r := RightRead; r <= RightDeny; r++ {
		var paths []Path
		for _, g := range f.p.Grants {
			if g.Right == r {
				paths = append(paths, g.Path)
			}
		}
		f.paths(r.String(), paths)
	}
}

func (f *formatter) network() {
	f.table = "network"
	n := &f.p.Network
	formatValue(f, "mode", n.Mode, func(m NetworkMode) string { return quote(m.String()) })
	formatItems(f, "connect_tcp", n.ConnectTCP, portText)
	formatItems(f, "bind_tcp", n.BindTCP, portText)
	formatItems(f, "publish", n.Publish, portText)
	formatValue(f, "dns", n.DNS, quote)
	formatItems(f, "allow_hosts", n.AllowHosts, func(h Host) string { return quote(h.String()) })
	formatValue(f, "upstream", n.Upstream, quote)
	formatValue(f, "resolver", n.Resolver, quote)
	f.paths("unix", n.Unix)
}

func (f *formatter) env() {
	f.table = "env"
	e := &f.p.Env
	formatItems(f, "allow", e.Allow, quote)
	f.paths("files", e.Files)
	f.onePath("ca_bundle", e.CABundle)
	for _, v := range e.Set {
		f.table = "env.set"
		f.key(v.V.Name + " = " + quote(v.V.Value) + f.from(v.Source) + "\n")
	}
}

func (f *formatter) process() {
	f.table = "process"
	p := &f.p.Process
	decimal := func(n int64) string { return strconv.FormatInt(n, 10) }
	duration := func(d time.Duration) string { return quote(d.String()) }
	formatValue(f, "timeout", p.Timeout, duration)
	formatValue(f, "kill_after", p.KillAfter, duration)
	formatValue(f, "memory", p.Memory, decimal)
	formatValue(f, "cpu", p.CPU, quote)
	formatValue(f, "pids", p.Pids, decimal)
	formatValue(f, "nofile", p.NoFile, func(n uint64) string { return strconv.FormatUint(n, 10) })
	formatValue(f, "fsize", p.FSize, decimal)
	formatValue(f, "output_limit", p.OutputLimit, decimal)
	formatValue(f, "seccomp", p.Seccomp, func(s Seccomp) string {
		if s.Kind == "file" {
			return f.pathText(s.File)
		}
		return quote(s.Kind)
	})
}

// mayBeOpen lists what the operator accepts as open, and what a profile may go without:
// in a file of its own the merged policy starts where this one does.
func (p *Policy) mayBeOpen() []Item[string] {
	list := slices.Clone(p.Sandbox.Degraded)
	for _, o := range p.Optional {
		if !slices.ContainsFunc(list, func(i Item[string]) bool { return i.V == o.V }) {
			list = append(list, o)
		}
	}
	return list
}

func (f *formatter) sandbox() {
	f.table = "sandbox"
	s := &f.p.Sandbox
	formatValue(f, "isolation", s.Isolation, quote)
	formatValue(f, "home", s.Home, func(h Home) string {
		if h.Kind == "dir" {
			return f.pathText(h.Dir)
		}
		return quote(h.Kind)
	})
	formatItems(f, "degraded", f.p.mayBeOpen(), quote)
	formatValue(f, "identity", s.Identity, func(id Identity) string {
		groups := make([]string, len(id.Groups))
		for i, g := range id.Groups {
			groups[i] = quote(g)
		}
		text := "{ user = " + quote(id.User)
		if id.Group != "" {
			text += ", group = " + quote(id.Group)
		}
		return text + ", groups = [" + strings.Join(groups, ", ") + "] }"
	})
	formatValue(f, "git_config", s.GitConfig, strconv.FormatBool)
	f.paths("allow_protected", s.AllowProtected)
	f.onePath("cwd", s.Cwd)
	formatValue(f, "keep_created", s.KeepCreated, strconv.FormatBool)
	formatItems(f, "callers", s.Callers, quote)
	f.onePath("tmp_root", s.TmpRoot)
}

func (f *formatter) gate() {
	f.table = "gate"
	g := &f.p.Gate
	formatItems(f, "allowed_tools", g.AllowedTools, quote)
	confirm := func(c Confirm) string {
		if c.Effect == "" {
			return quote(c.Pattern)
		}
		return "{ pattern = " + quote(c.Pattern) + ", effect = " + quote(c.Effect) + " }"
	}
	formatItems(f, "confirm", g.Confirm, confirm)
	formatValue(f, "confirm", g.NoConfirm, func(bool) string { return "[]" })
	formatItems(f, "confirm_more", g.ConfirmMore, confirm)
	for _, r := range g.Rules {
		f.line("\n[[gate.rule]]" + f.from(r.Source))
		f.opened = "gate.rule"
		f.line("surface = " + quote(r.Surface))
		f.line("pattern = " + quote(r.Pattern))
		f.line("action = " + quote(r.Action))
		if r.Reason != "" {
			f.line("reason = " + quote(r.Reason))
		}
		if r.Tighten {
			f.line("tighten = true")
		}
	}
}

func (f *formatter) bridge() {
	f.table = "bridge"
	f.onePath("envelope", f.p.Bridge.Envelope)
	for _, name := range rootNames(f.p.Bridge.Roots) {
		p := f.p.Bridge.Roots[name]
		f.table = "bridge.roots"
		f.key(quote(name) + " = " + f.pathText(p) + f.pathNote(p) + "\n")
	}
}
