package launcher

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/policy"
)

// rulebook is Landlock written down anew and slowly, from the kernel's documentation
// (Documentation/userspace-api/landlock.rst): a list of rules, asked one after the other.
type rulebook struct {
	abi   int
	rules map[string]map[string]bool // path → names of rights
}

// gives lists the words of the rights of an entry, as the documentation of the policy has them.
func gives(right string, folder bool, abi int) map[string]bool {
	words := "read_file"
	if right == "exec" || right == "write_exec" {
		words += " execute"
	}
	if strings.HasPrefix(right, "write") {
		words += " write_file truncate"
	}
	if folder {
		words += " read_dir"
		if strings.HasPrefix(right, "write") {
			words += " remove_dir remove_file make_dir make_reg make_sock make_fifo make_sym refer"
		}
	}
	out := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		out[w] = w != "truncate" && w != "refer" || w == "truncate" && abi >= 3 || w == "refer" && abi >= 2
	}
	return out
}

func (m *rulebook) has(path, right string) bool {
	if right == "truncate" && m.abi < 3 {
		return true
	}
	for place, rights := range m.rules {
		if rights[right] && (place == path || place == "/" || strings.HasPrefix(path, place+"/")) {
			return true
		}
	}
	return false
}

func (m *rulebook) lacks(path string, rights ...string) bool {
	for _, r := range rights {
		if r != "" && !m.has(path, r) {
			return true
		}
	}
	return false
}

// gained reports whether a file has more rights at another place than where it was.
func (m *rulebook) gained(op *Operation) bool {
	words := []string{"execute", "write_file", "read_file", "truncate"}
	if op.Kind == KindFolder {
		words = append(words, "read_dir", "remove_dir", "remove_file", "make_dir", "make_reg", "make_sock", "make_fifo", "make_sym", "refer")
	}
	for _, w := range words {
		own := m.rules[op.Path][w]
		if m.has(filepath.Dir(op.Dest), w) && !m.has(filepath.Dir(op.Path), w) && !own {
			return true
		}
	}
	return false
}

func (m *rulebook) errno(op *Operation) syscall.Errno {
	dir := filepath.Dir(op.Path)
	made := map[FileKind]string{KindRegular: "make_reg", KindFolder: "make_dir", KindLink: "make_sym", KindSocket: "make_sock", KindFIFO: "make_fifo"}
	gone := map[FileKind]string{KindAbsent: "", KindRegular: "remove_file", KindFolder: "remove_dir", KindLink: "remove_file", KindSocket: "remove_file", KindFIFO: "remove_file"}
	no := false
	switch op.Op {
	case OpRead:
		no = m.lacks(op.Path, map[bool]string{true: "read_dir", false: "read_file"}[op.Kind == KindFolder])
	case OpWrite:
		no = m.lacks(op.Path, "write_file") || op.Kind == KindAbsent && m.lacks(dir, "make_reg")
	case OpTruncate:
		no = m.lacks(op.Path, "truncate")
	case OpExec:
		no = m.lacks(op.Path, "execute", "read_file")
	case OpCreate:
		no = m.lacks(dir, made[op.Kind])
	case OpRemove:
		no = m.lacks(dir, gone[op.Kind])
	case OpRename, OpLink:
		to := filepath.Dir(op.Dest)
		removed, replaced := "", ""
		if op.Op == OpRename {
			removed, replaced = gone[op.Kind], gone[op.Over]
		}
		if dir != to && m.abi < 2 {
			return unix.EXDEV
		}
		no = m.lacks(dir, removed) || m.lacks(to, made[op.Kind], replaced)
		if !no && dir != to && (m.lacks(dir, "refer") || m.lacks(to, "refer") || m.gained(op)) {
			return unix.EXDEV
		}
	case OpConnect, OpBind, OpUnix, OpSyscall:
	}
	if no {
		return unix.EACCES
	}
	return 0
}

var modelNames = []string{"/a", "/b", "/a/b", "/a/c", "/a/b/c", "/a/b/d", "/b/a", "/ab", "/a/b/c/d", "/b/a/f", "/a/f"}

// random rules, as a plan of isolation landlock has them.
func (m *rulebook) random(r *rand.Rand) *Judge {
	f := &Facts{Place: &Place{}, RunDir: "/run/x", Home: HomeFact{Kind: "run"}, Mounts: []string{"/"}}
	f.Landlock.ABI = m.abi
	p := &Plan{Isolation: "landlock", Clauses: []Clause{{Name: "files"}}}
	m.rules = map[string]map[string]bool{}
	for n := range r.IntN(5) {
		path := modelNames[r.IntN(len(modelNames))]
		right := policy.Right(1 + r.IntN(4))
		if !right.Grants() || m.rules[path] != nil {
			continue
		}
		folder := filepath.Base(path) != "f"
		m.rules[path] = gives(right.String(), folder, m.abi)
		f.Wants = append(f.Wants, Want{Grant: policy.Grant{Path: policy.Path{Text: path, Abs: path}, Right: right}})
		f.Paths = append(f.Paths, PathFact{Target: path, Dir: folder})
		p.Rules = append(p.Rules, Rule{Path: len(f.Paths) - 1, Right: rightOf(right)})
		p.Clauses[0].Entries = append(p.Clauses[0].Entries, Entry{Value: path, Path: path, Target: path, Right: right.String(), State: StateEnforced})
		_ = n
	}
	return NewJudge(p, f)
}

func (m *rulebook) operation(r *rand.Rand) Operation {
	name := func() string {
		base := modelNames[r.IntN(len(modelNames))]
		if r.IntN(2) == 0 {
			return base + "/n"
		}
		return base
	}
	kinds := []FileKind{KindRegular, KindFolder, KindLink, KindSocket, KindFIFO}
	op := Operation{Op: Op(r.IntN(int(OpLink) + 1)), Path: name(), Dest: name(), Kind: kinds[r.IntN(len(kinds))]}
	switch op.Op {
	case OpWrite:
		op.Kind = []FileKind{KindAbsent, KindRegular}[r.IntN(2)]
	case OpTruncate, OpExec:
		op.Kind = KindRegular
	case OpRename:
		op.Over = append(kinds, KindAbsent)[r.IntN(len(kinds)+1)]
	case OpRead, OpCreate, OpRemove, OpLink, OpConnect, OpBind, OpUnix, OpSyscall:
	}
	return op
}

// The judge and the model say the same of random rules and operations; and what the judge says
// would help does.
func TestJudgeIsLandlock(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // no secret
	seen := map[syscall.Errno]int{}
	for range 4000 {
		m := &rulebook{abi: 1 + r.IntN(9)}
		j := m.random(r)
		for range 10 {
			op := m.operation(r)
			want, g := m.errno(&op), j.Judge(op)
			if g.Errno != want || (g.Verdict == Allowed) != (want == 0) {
				t.Fatalf("abi %d, %v\n%+v: %s, want %s", m.abi, m.rules, op, g.show(), errnoWord(want))
			}
			if g.Verdict == Allowed && g.Entry == nil && !strings.Contains(g.Reason, "ABI 3") {
				t.Fatalf("%+v: allowed by nothing: %s", op, g.Reason)
			}
			seen[want]++
			m.helps(t, &op, &g)
		}
	}
	if seen[0] == 0 || seen[unix.EACCES] == 0 || seen[unix.EXDEV] == 0 {
		t.Errorf("nothing is compared: %v", seen)
	}
}

// helps adds the suggested grants to the model's rules.
func (m *rulebook) helps(t *testing.T, op *Operation, g *Judgement) {
	t.Helper()
	if g.Remedy.Flag == "" {
		return
	}
	with := &rulebook{abi: m.abi, rules: map[string]map[string]bool{}}
	for path, rights := range m.rules {
		with.rules[path] = rights
	}
	words := strings.Fields(g.Remedy.Flag)
	for i := 0; i+1 < len(words); i += 2 {
		right := map[string]string{"--ro": "read", "--rox": "exec", "--rw": "write", "--rwx": "write_exec"}[words[i]]
		folder := op.Kind == KindFolder || words[i+1] != op.Path
		rights := gives(right, folder, m.abi)
		for r := range with.rules[words[i+1]] {
			rights[r] = true
		}
		with.rules[words[i+1]] = rights
	}
	if e := with.errno(op); e != 0 {
		t.Fatalf("%v\n%+v: %s does not help: %s", m.rules, *op, g.Remedy.Flag, errnoWord(e))
	}
}

// An allowed operation is judged without an allocation, with 200 rules around it.
func TestJudgeAllocatesNothing(t *testing.T) {
	j, op := manyRules()
	if g := j.Judge(op); g.Verdict != Allowed {
		t.Fatalf("%+v", g)
	}
	if n := testing.AllocsPerRun(100, func() { j.Judge(op) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func manyRules() (*Judge, Operation) {
	f := &Facts{Place: &Place{}, RunDir: "/run/x", Home: HomeFact{Kind: "run"}}
	f.Landlock.ABI = 7
	p := &Plan{Isolation: "landlock"}
	for i := range 200 {
		path := "/srv/" + string(rune('a'+i%20)) + "/" + string(rune('a'+i/20))
		f.Wants = append(f.Wants, Want{Grant: policy.Grant{Path: policy.Path{Text: path, Abs: path}, Right: policy.RightRead}})
		f.Paths = append(f.Paths, PathFact{Target: path, Dir: true})
		p.Rules = append(p.Rules, Rule{Path: i})
	}
	return NewJudge(p, f), Operation{Op: OpRead, Path: "/srv/c/d/src/include/linux/file.h", Kind: KindRegular}
}

func BenchmarkJudge(b *testing.B) {
	j, op := manyRules()
	denied := op
	denied.Path = "/opt/c/d/src/include/linux/file.h"
	for name, op := range map[string]Operation{"allowed": op, "refused": denied} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				j.Judge(op)
			}
		})
	}
}
