package seccomp

import (
	"math/rand/v2"
	"slices"
)

// Cases calls try with arguments for the call nr of an architecture (see [AuditArch])
// that between them get every answer that any of the programs, which must be valid, has
// for it: every combination of the values that they tell apart. If those are more than
// limit, as many are drawn, always the same ones, and complete is false.
func Cases(nr, arch uint32, limit int, try func(Data), programs ...Program) (complete bool) {
	words, values := union(nr, arch, programs)
	total := 1
	for _, v := range values {
		total = min(total*len(v), limit+1)
	}
	if total <= limit {
		for n := range total {
			try(combination(nr, arch, words, values, func(choices int) int {
				i := n % choices
				n /= choices
				return i
			}))
		}
		return true
	}
	r := rand.New(rand.NewPCG(5, 6)) // a fixed seed: a report must come again
	for range limit {
		try(combination(nr, arch, words, values, r.IntN))
	}
	return false
}

// combination takes of each word's values the one that choose names.
func combination(nr, arch uint32, words []uint32, values [][]uint32, choose func(int) int) Data {
	d := Data{Nr: nr, Arch: arch}
	for i, off := range words {
		d.setWord(off, values[i][choose(len(values[i]))])
	}
	return d
}

// union is what [Program.classes] says of all programs together.
func union(nr, arch uint32, programs []Program) (words []uint32, values [][]uint32) {
	for _, p := range programs {
		w, v := p.classes(nr, arch)
		for k, off := range w {
			i := slices.Index(words, off)
			if i < 0 {
				i = len(words)
				words, values = append(words, off), append(values, nil)
			}
			values[i] = append(values[i], v[k]...)
		}
	}
	for i := range values {
		slices.Sort(values[i])
		values[i] = slices.Compact(values[i])
	}
	return words, values
}

// Looks reports whether what a valid p says of the call nr may depend on the high half of
// argument arg, from 0 to 5.
func (p Program) Looks(nr, arch uint32, arg int) (high bool) {
	words, _ := p.classes(nr, arch)
	return slices.Contains(words, uint32(offArgs+8*arg+4))
}
