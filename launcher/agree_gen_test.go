package launcher

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// agreeCase is one operation. own: its path is made for it, and nothing else looks there.
type agreeCase struct {
	op  Operation
	own bool
}

// agreeEntry is one line of a random policy.
type agreeEntry struct{ section, key, value string }

// agreePolicy is a random policy, in a form from which lines can be left out.
type agreePolicy []agreeEntry

// text is the policy as a file.
func (p agreePolicy) text() string {
	lists := map[string]map[string][]string{}
	for _, e := range p {
		if lists[e.section] == nil {
			lists[e.section] = map[string][]string{}
		}
		lists[e.section][e.key] = append(lists[e.section][e.key], e.value)
	}
	var b strings.Builder
	b.WriteString("version = 1\n")
	for _, section := range []string{"filesystem", "network", "sandbox"} {
		if lists[section] == nil {
			continue
		}
		fmt.Fprintf(&b, "[%s]\n", section)
		for _, key := range []string{
			"read", "exec", "write", "write_exec", "protect", "deny", "mode", "connect_tcp", "bind_tcp", "isolation", "home",
		} {
			list := lists[section][key]
			switch {
			case len(list) == 0:
			case key == "mode" || key == "isolation" || key == "home":
				fmt.Fprintf(&b, "%s = %s\n", key, list[0])
			default:
				fmt.Fprintf(&b, "%s = [%s]\n", key, strings.Join(list, ", "))
			}
		}
	}
	return b.String()
}

// randomPolicy has grants of every right on folders, on single files, by links, inside one
// another and of what is missing; in namespaces also what is protected and denied.
//
// The folders that matter then are hot in the world that is given back.
func randomPolicy(r *rand.Rand, w small, isolation string) (agreePolicy, small) {
	p := agreePolicy{{"sandbox", "isolation", fmt.Sprintf("%q", isolation)}}
	rights := []string{"read", "exec", "write", "write_exec", "write", "write_exec"}
	var hot, named []string
	for range 1 + r.IntN(5) {
		right, path := rights[r.IntN(len(rights))], w.any(r)
		if r.IntN(2) == 0 {
			path = w.folder(r)
		}
		switch r.IntN(10) {
		case 0:
			p = append(p, agreeEntry{"filesystem", right, fmt.Sprintf("{ path = %q, missing = \"skip\" }", w.folder(r)+"/missing")})
		case 1, 2:
			p = append(p, agreeEntry{"filesystem", right, fmt.Sprintf("{ path = %q, missing = \"skip\" }", w.link(r))})
		default:
			p = append(p, agreeEntry{"filesystem", right, fmt.Sprintf("%q", path)})
		}
		hot, named = append(hot, w.heat(path)...), append(named, path)
	}
	if isolation == "namespaces" {
		for range r.IntN(3) {
			path := w.any(r)
			if r.IntN(4) == 0 {
				path = w.folder(r) + "/absent"
			}
			p = append(p, agreeEntry{"filesystem", []string{"protect", "deny"}[r.IntN(2)], fmt.Sprintf("%q", path)})
			named = append(named, path)
		}
	}
	w.hot, w.entries = hot, named
	return append(p, randomNetwork(r)...), w
}

func randomNetwork(r *rand.Rand) agreePolicy {
	switch r.IntN(4) {
	case 0:
		return agreePolicy{{"network", "mode", `"host"`}}
	case 1:
		p := agreePolicy{{"network", "mode", `"ports"`}}
		for range 1 + r.IntN(2) {
			p = append(p, agreeEntry{"network", []string{"connect_tcp", "bind_tcp"}[r.IntN(2)], fmt.Sprint(8000 + r.IntN(4))})
		}
		return p
	}
	return agreePolicy{{"network", "mode", `"none"`}}
}

// randomCases are operations of every kind. Those that change something have files of their
// own, so that none meets what another did; the last may change anything.
func randomCases(r *rand.Rand, w small, n int) []agreeCase {
	var list []agreeCase
	for i := range n {
		list = append(list, randomCase(r, w, i))
	}
	path := w.any(r)
	if r.IntN(2) == 0 {
		path = w.entries[r.IntN(len(w.entries))]
	}
	switch r.IntN(6) {
	case 0:
		return append(list, agreeCase{op: Operation{Op: OpRemove, Path: path}})
	case 1:
		return append(list, agreeCase{op: Operation{Op: OpRename, Path: path, Dest: filepath.Dir(path) + "/moved"}})
	case 2:
		return append(list, agreeCase{op: Operation{Op: OpRename, Path: path, Dest: w.folder(r) + "/moved"}})
	}
	return list
}

// wild reports whether an operation may change what the others rely on.
func (c *agreeCase) wild() bool {
	return !c.own && (c.op.Op == OpRemove || c.op.Op == OpRename)
}

func randomCase(r *rand.Rand, w small, i int) agreeCase {
	kinds := []FileKind{KindRegular, KindRegular, KindFolder, KindLink, KindSocket, KindFIFO}
	kind := kinds[r.IntN(len(kinds))]
	own := fmt.Sprintf("%s/own %d", w.folder(r), i)
	switch op := Op(r.IntN(int(OpSyscall))); op {
	case OpTruncate:
		if r.IntN(2) == 0 {
			return agreeCase{op: Operation{Op: op, Path: w.any(r)}}
		}
		return agreeCase{Operation{Op: op, Path: own, Kind: KindRegular}, true}
	case OpCreate:
		return agreeCase{Operation{Op: op, Path: own, Kind: kind}, true}
	case OpRemove:
		return agreeCase{Operation{Op: op, Path: own, Kind: kind}, true}
	case OpRename:
		o := Operation{Op: op, Path: own, Kind: kind, Dest: fmt.Sprintf("%s/to %d", w.folder(r), i)}
		switch {
		case r.IntN(3) != 0:
		case kind == KindFolder:
			o.Over = KindFolder
		default:
			o.Over = kinds[r.IntN(2)]
		}
		return agreeCase{o, true}
	case OpLink:
		if kind == KindFolder {
			kind = KindRegular
		}
		return agreeCase{Operation{Op: op, Path: own, Kind: kind, Dest: fmt.Sprintf("%s/to %d", w.folder(r), i)}, true}
	case OpConnect, OpBind:
		return agreeCase{op: Operation{Op: op, Port: uint16(8000 + r.IntN(5))}}
	case OpUnix:
		return agreeCase{op: Operation{Op: op, Path: w.folder(r) + "/sock"}}
	default: // OpRead, OpWrite, OpExec
		return agreeCase{op: Operation{Op: op, Path: randomPlace(r, w, op)}}
	}
}

// randomPlace is mostly of the world, sometimes of the system, and sometimes absent.
func randomPlace(r *rand.Rand, w small, op Op) string {
	switch {
	case r.IntN(12) == 0:
		return w.folder(r) + "/absent"
	case op == OpWrite && r.IntN(10) == 0:
		return "/dev/null"
	case op != OpWrite && r.IntN(10) == 0:
		return []string{"/etc/passwd", "/etc/shadow", "/usr/bin/env", "/dev/zero", "/proc/self/status", "/usr", "/", "/proc", "/dev", "/var"}[r.IntN(10)]
	case op == OpExec && r.IntN(2) == 0:
		return w.folder(r) + "/prog"
	}
	return w.any(r)
}

// look fills in what is at the path.
func (c *agreeCase) look(t testing.TB) {
	t.Helper()
	if c.op.Op == OpConnect || c.op.Op == OpBind || c.op.Op == OpCreate {
		return
	}
	if path, err := filepath.EvalSymlinks(c.op.Path); err == nil && !c.own {
		c.op.Path = path
	}
	st, err := os.Lstat(c.op.Path)
	if err != nil {
		c.op.Kind = KindAbsent
		return
	}
	c.op.Kind = map[os.FileMode]FileKind{
		0: KindRegular, os.ModeDir: KindFolder, os.ModeSymlink: KindLink, os.ModeSocket: KindSocket, os.ModeNamedPipe: KindFIFO,
		os.ModeDevice | os.ModeCharDevice: KindChar, os.ModeDevice: KindBlock,
	}[st.Mode().Type()]
}
