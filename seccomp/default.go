package seccomp

import (
	"errors"
	"fmt"
	"runtime"
)

// Default returns the variant of the default filter that o selects, for the
// architecture this program was built for. Nothing is compiled: the pieces are
// checked in, and Default copies the ones that o names behind each other. On an
// architecture without a default filter the error wraps errors.ErrUnsupported.
//
// The caller may change the program it gets.
func Default(o Options) (Program, error) {
	if _, err := AuditArch(runtime.GOARCH); err != nil {
		return nil, err
	}
	return Link(defaultBlob, o)
}

// The checked-in form of all variants for one architecture, a blob:
//
//	byte 0    version, 1
//	byte 1    number of switches
//	byte 2    number of parts
//	byte 3    0
//	then      length of each part in instructions, two bytes each
//	then      for each switch, one byte an option index: the part it selects
//	then      the instructions of the parts, in order
//
// Part 0 is the search tree over the numbers. What depends on the options is
// reached in it by an unconditional jump whose distance is a marker, SwitchMark
// plus the number of the switch; Link puts the selected part at the end and
// the distance to it into the jump.
const (
	// BlobVersion is the first byte of a blob.
	BlobVersion = 1
	// SwitchMark is the distance of a jump to switch 0 in part 0 of a blob. No
	// real distance reaches it.
	SwitchMark = 0xffff0000

	blobHeader = 4
)

var errBlob = errors.New("internal error: damaged default filter")

// Link joins the parts of a blob that o selects. It is exported for the
// generator and for filters of another architecture; [Default] is what a
// launcher wants.
func Link(blob string, o Options) (Program, error) {
	option, err := o.index()
	if err != nil {
		return nil, err
	}
	b, err := parseBlob(blob)
	if err != nil {
		return nil, err
	}
	p := b.appendPart(make(Program, 0, len(b.insns)/insnSize), 0)
	head := len(p)
	placed := make([]int, b.parts)
	for pc := range head {
		if p[pc].Code != opJa || p[pc].K < SwitchMark {
			continue
		}
		sw := int(p[pc].K - SwitchMark)
		if sw >= b.switches {
			return nil, fmt.Errorf("seccomp: %w: switch %d", errBlob, sw)
		}
		part := int(b.table[sw*optionCount+option])
		if part == 0 || part >= b.parts {
			return nil, fmt.Errorf("seccomp: %w: part %d", errBlob, part)
		}
		if placed[part] == 0 {
			placed[part] = len(p)
			p = b.appendPart(p, part)
		}
		p[pc].K = uint32(placed[part] - pc - 1)
	}
	return p, nil
}

// blob is a parsed one.
type blob struct {
	switches, parts int
	lengths         string // two bytes a part
	table           string // optionCount bytes a switch
	insns           string // insnSize bytes an instruction
}

func parseBlob(raw string) (blob, error) {
	if len(raw) < blobHeader || raw[0] != BlobVersion || raw[2] == 0 || raw[3] != 0 {
		return blob{}, fmt.Errorf("seccomp: %w: unknown form", errBlob)
	}
	b := blob{switches: int(raw[1]), parts: int(raw[2])}
	rest := raw[blobHeader:]
	if len(rest) < 2*b.parts+optionCount*b.switches {
		return blob{}, fmt.Errorf("seccomp: %w: cut short", errBlob)
	}
	b.lengths, rest = rest[:2*b.parts], rest[2*b.parts:]
	b.table, b.insns = rest[:optionCount*b.switches], rest[optionCount*b.switches:]
	sum := 0
	for i := range b.parts {
		sum += b.length(i)
	}
	if sum*insnSize != len(b.insns) {
		return blob{}, fmt.Errorf("seccomp: %w: %d instructions do not fill %d bytes", errBlob, sum, len(b.insns))
	}
	return b, nil
}

// length returns the number of instructions of a part.
func (b blob) length(part int) int {
	return int(b.lengths[2*part]) | int(b.lengths[2*part+1])<<8
}

// appendPart appends the instructions of a part to p.
func (b blob) appendPart(p Program, part int) Program {
	start := 0
	for i := range part {
		start += b.length(i)
	}
	for i := range b.length(part) {
		at := (start + i) * insnSize
		p = append(p, decodeInsn(b.insns[at:at+insnSize]))
	}
	return p
}
