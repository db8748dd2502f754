package tree

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"brainbox/seccomp"
)

var errPack = errors.New("variants can not be packed")

// Pack returns the blob that [seccomp.Link] takes its variants from. policies
// holds one policy for each of [seccomp.AllOptions], in that order. What is the
// same in all of them is compiled into the search tree; each call that depends
// on the options becomes a switch with one part for each of its meanings.
func Pack(policies []Policy) ([]byte, error) {
	if err := packable(policies); err != nil {
		return nil, fmt.Errorf("tree: %w", err)
	}
	var k packer
	head := newCompiler(policies[0].Default)
	leaf := func(nr uint32) label {
		if fixed(policies, nr) {
			return head.rules(policies[0].Calls[nr])
		}
		return head.jumpTo(k.number(k.choices(policies, nr)))
	}
	k.parts = append(k.parts, nil) // part 0 is the head, which is made last
	k.parts[0] = head.numbers(policies[0], callNumbers(policies), leaf)
	if len(k.parts) > 255 || len(k.switches) > 255 {
		return nil, fmt.Errorf("tree: %w: %d parts, %d switches", errPack, len(k.parts), len(k.switches))
	}
	return k.encode(), nil
}

func packable(policies []Policy) error {
	if len(policies) != len(seccomp.AllOptions()) {
		return fmt.Errorf("%w: %d of them", errPack, len(policies))
	}
	for _, p := range policies {
		if p.Arch != policies[0].Arch || p.X32 != policies[0].X32 || p.Default != policies[0].Default {
			return fmt.Errorf("%w: they differ in more than their rules", errPack)
		}
		if err := p.Check(); err != nil {
			return err
		}
	}
	return nil
}

// fixed reports whether nr is judged the same way in all policies.
func fixed(policies []Policy, nr uint32) bool {
	first := key(policies[0].Calls[nr])
	return !slices.ContainsFunc(policies, func(p Policy) bool { return key(p.Calls[nr]) != first })
}

func callNumbers(policies []Policy) []uint32 {
	nrs := map[uint32]bool{}
	for _, p := range policies {
		for nr := range p.Calls {
			nrs[nr] = true
		}
	}
	return slices.Sorted(maps.Keys(nrs))
}

// jumpTo emits the placeholder that [seccomp.Link] aims at the chosen part.
func (c *compiler) jumpTo(number int) label {
	k := fmt.Sprintf("switch %d", number)
	l, ok := c.known[k]
	if !ok {
		l = c.emit(ja, seccomp.SwitchMark+uint32(number))
		c.known[k] = l
	}
	return l
}

// packer collects the parts and the switches.
type packer struct {
	parts    []seccomp.Program
	switches [][]byte // part by option index
}

// choices returns, for each policy, the part that judges nr.
func (k *packer) choices(policies []Policy, nr uint32) []byte {
	choice := make([]byte, len(policies))
	for i, p := range policies {
		c := newCompiler(p.Default)
		c.follow(c.rules(p.Calls[nr]))
		choice[i] = k.part(c.program())
	}
	return choice
}

// part returns the number of a part with these instructions.
func (k *packer) part(p seccomp.Program) byte {
	for i, has := range k.parts {
		if slices.Equal(has, p) {
			return byte(i)
		}
	}
	k.parts = append(k.parts, p)
	return byte(len(k.parts) - 1)
}

// number returns the number of a switch with these choices.
func (k *packer) number(choice []byte) int {
	for i, has := range k.switches {
		if slices.Equal(has, choice) {
			return i
		}
	}
	k.switches = append(k.switches, choice)
	return len(k.switches) - 1
}

func (k *packer) encode() []byte {
	b := []byte{seccomp.BlobVersion, byte(len(k.switches)), byte(len(k.parts)), 0}
	for _, p := range k.parts {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(p)))
	}
	for _, choice := range k.switches {
		b = append(b, choice...)
	}
	for _, p := range k.parts {
		b = append(b, p.Bytes()...)
	}
	return b
}
