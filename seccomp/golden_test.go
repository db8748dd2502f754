package seccomp

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// TestGoldenDisassembly shows every instruction of every variant once: the parts,
// and which of them the options select.
func TestGoldenDisassembly(t *testing.T) {
	for _, goarch := range arches {
		raw, err := os.ReadFile("default-" + goarch + ".bpf")
		if err != nil {
			t.Fatal(err)
		}
		b, err := parseBlob(string(raw))
		if err != nil {
			t.Fatal(err)
		}
		got := describe(b, goarch)
		file := "testdata/default-" + goarch + ".txt"
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

// describe returns the blob as text.
func describe(b blob, goarch string) string {
	var s strings.Builder
	head := b.appendPart(nil, 0)
	for sw := range b.switches {
		fmt.Fprintf(&s, "switch %d: %s\n", sw, strings.Join(callsOf(head, sw, goarch), " "))
		for part := range b.parts {
			if chosen := choosing(b, sw, part); len(chosen) > 0 {
				fmt.Fprintf(&s, "  part %d: %s\n", part, strings.Join(chosen, " "))
			}
		}
	}
	for part := range b.parts {
		fmt.Fprintf(&s, "\npart %d\n%s", part, b.appendPart(nil, part))
	}
	text := s.String()
	for pc, in := range head {
		if in.Code == opJa && in.K >= SwitchMark {
			text = strings.Replace(text, in.text(pc)+"\n", fmt.Sprintf("ja   switch %d\n", in.K-SwitchMark), 1)
		}
	}
	return text
}

// callsOf returns the names of the calls that reach a switch, by making each
// switch return a value of its own.
func callsOf(head Program, sw int, goarch string) []string {
	p := slices.Clone(head)
	for i, in := range p {
		if in.Code == opJa && in.K >= SwitchMark {
			p[i] = Insn{Code: opRetK, K: in.K}
		}
	}
	arch, err := AuditArch(goarch)
	if err != nil {
		return nil
	}
	var names []string
	for nr := range uint32(600) {
		if p.Eval(Data{Nr: nr, Arch: arch}) == Action(SwitchMark+sw) {
			names = append(names, Name(goarch, nr))
		}
	}
	return names
}

// choosing returns the options for which a switch selects a part: a letter for
// each option that is set.
func choosing(b blob, sw, part int) []string {
	var all []string
	for i, o := range AllOptions() {
		if int(b.table[sw*optionCount+i]) != part {
			continue
		}
		name := [...]string{"none", "ports", "dns", "host"}[o.Network] + "/"
		for bit, set := range [...]bool{o.Listen, o.UnixSockets, o.KeepsRoot, o.Namespaces, o.Debug, o.UnixBroker} {
			if set {
				name += string("lurndb"[bit])
			}
		}
		all = append(all, name)
	}
	return all
}
