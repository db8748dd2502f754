package seccomp

import (
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"
)

// Verdict is what a filter does with one system call.
type Verdict struct {
	// Actions are the different answers, by arguments; never empty. One means
	// that the arguments do not matter.
	Actions []Action
	// Partial is true if the call has too many kinds of arguments to try; then
	// Actions may hold answers that no arguments get.
	Partial bool
}

// Depends reports whether the answer depends on the arguments.
func (v Verdict) Depends() bool { return len(v.Actions) != 1 }

// Allowed reports whether every argument is allowed.
func (v Verdict) Allowed() bool { return !v.Depends() && v.Actions[0] == Allow }

// String returns the verdict in words.
func (v Verdict) String() string {
	if !v.Depends() {
		return v.Actions[0].String()
	}
	words := make([]string, len(v.Actions))
	for i, a := range v.Actions {
		words[i] = a.String()
	}
	return "depends on arguments: " + strings.Join(words, ", ")
}

// Explain says what a valid p does with the named system call on the
// architecture this program was built for. A name that does not exist there is
// an error wrapping fs.ErrNotExist; what the filter does with it is what it does
// with any unknown number.
func Explain(p Program, name string) (Verdict, error) { return explain(p, runtime.GOARCH, name) }

func explain(p Program, goarch, name string) (Verdict, error) {
	arch, err := AuditArch(goarch)
	if err != nil {
		return Verdict{}, err
	}
	if err := p.Validate(); err != nil {
		return Verdict{}, err
	}
	nr, ok := Number(goarch, name)
	if !ok {
		return Verdict{}, fmt.Errorf("seccomp: system call %q on %s: %w", name, goarch, fs.ErrNotExist)
	}
	return p.verdict(nr, arch, maxTries), nil
}

// maxTries bounds the combinations of arguments that are tried: some 20 ms.
const maxTries = 1 << 18

// verdict tries every combination of the values that p can tell apart, if they
// are not more than limit.
func (p Program) verdict(nr, arch uint32, limit int) Verdict {
	words, values := p.classes(nr, arch)
	tries := 1
	for _, v := range values {
		if tries *= len(v); tries > limit {
			return Verdict{Actions: p.reach(only(nr), only(arch), nil), Partial: true}
		}
	}
	seen := map[Action]bool{}
	var actions []Action
	for n := range tries {
		d := Data{Nr: nr, Arch: arch}
		for i, off := range words {
			d.setWord(off, values[i][n%len(values[i])])
			n /= len(values[i])
		}
		if a := p.Eval(d); !seen[a] {
			seen[a] = true
			actions = append(actions, a)
		}
	}
	slices.SortFunc(actions, func(a, b Action) int { return strings.Compare(a.String(), b.String()) })
	return Verdict{Actions: actions}
}

// classes returns the words of the arguments that p looks at for nr, and for
// each the values that its comparisons tell apart.
func (p Program) classes(nr, arch uint32) (words []uint32, values [][]uint32) {
	add := func(off uint32, vs ...uint32) {
		i := slices.Index(words, off)
		if i < 0 {
			i = len(words)
			words, values = append(words, off), append(values, []uint32{0, 1<<32 - 1})
		}
		values[i] = append(values[i], vs...)
	}
	p.reach(only(nr), only(arch), func(in Insn, k knowledge) {
		if k.word == noWord || k.word < 8 {
			return
		}
		switch {
		case in.Code == classAlu|aluAnd, in.Code&classMask == classJmp && in.Code&opMask == jmpSet:
			add(k.word, in.K, ^in.K)
			for bit := uint32(1); bit != 0; bit <<= 1 {
				if in.K&bit != 0 && in.K != 1<<32-1 {
					add(k.word, bit)
				}
			}
		case in.Code&classMask == classJmp && in.Code != opJa:
			add(k.word, in.K-1, in.K, in.K+1)
		}
	})
	for i := range values {
		slices.Sort(values[i])
		values[i] = slices.Compact(values[i])
	}
	return words, values
}
