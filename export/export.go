package export

import (
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"

	"brainbox/launcher"
	"brainbox/policy"
)

// Where the program finds its private folders, in every configuration.
const (
	Home = runDir + "/home" // with home = "run"
	Tmp  = runDir + "/tmp"

	runDir = "/run/brainbox"
)

// Input is what is exported. The plan comes from the policy and from facts that [Target] has
// changed.
type Input struct {
	Policy *policy.Policy
	Plan   *launcher.Plan
	Facts  *launcher.Facts

	Rootfs   string   // absolute: the root file system
	Command  []string // empty: a shell
	Terminal bool     // the program has a terminal, which the runtime makes
	Arch     string   // as GOARCH; empty: the one of this program

	// Profile is the content of the policy's own seccomp file; nil: it names none.
	Profile *specs.LinuxSeccomp
}

func (in *Input) arch() string {
	if in.Arch != "" {
		return in.Arch
	}
	return runtime.GOARCH
}

// Errors of an input that is none.
var (
	ErrRootfs    = errors.New("the root file system is not an absolute path")
	ErrIsolation = errors.New("the plan is not one for namespaces, which a container has")
	ErrProfile   = errors.New("the content of the policy's seccomp file is missing")
)

// Gap is an entry of the policy that is not held by what is exported.
type Gap struct {
	Clause string // as in check --json; or bridge, gate: the section of the policy
	Entry  string // as written; "" for the whole clause
	Why    string
}

// Clauses are the words that a gap may have.
func Clauses() []string {
	return []string{
		"bridge", "deny", "env", "files", "gate", "hosts", "ipc", "network", "output", "protect", "seccomp", "time", "unix",
	}
}

// Open returns the gaps whose clause is not accepted.
func Open(gaps []Gap, accepted []string) []Gap {
	return slices.DeleteFunc(slices.Clone(gaps), func(g Gap) bool { return slices.Contains(accepted, g.Clause) })
}

// OCI returns the configuration of a bundle: config.json of runtime-spec 1.1. The gaps are
// what it does not hold, in the order of the plan's clauses; a configuration is returned
// beside them, in which each is as narrow as a runtime has it. A plan that has a refusal is
// not exported: the error is the refusal.
func OCI(in Input) (*specs.Spec, []Gap, error) {
	switch {
	case in.Plan.Refusal != nil:
		return nil, nil, in.Plan.Refusal
	case !filepath.IsAbs(in.Rootfs):
		return nil, nil, ErrRootfs
	case in.Plan.Isolation != "namespaces" || in.Facts.Inside == nil:
		return nil, nil, ErrIsolation
	}
	b := &bundle{Input: in}
	filter, err := in.filter()
	if err != nil {
		return nil, nil, err
	}
	if b.linux, err = b.linuxPart(); err != nil {
		return nil, nil, err
	}
	b.linux.Seccomp = filter
	b.mountAll()
	spec := &specs.Spec{
		Version: "1.1.0", Root: &specs.Root{Path: filepath.Clean(in.Rootfs), Readonly: true},
		Process: b.process(), Mounts: b.mounts, Linux: b.linux,
	}
	b.gapsOfClauses()
	spec.Annotations = annotations(b.gaps)
	return spec, b.gaps, nil
}

// bundle is a configuration in the making.
type bundle struct {
	Input
	linux  *specs.Linux
	mounts []specs.Mount
	gaps   []Gap
}

func (b *bundle) gap(clause, entry, why string) {
	g := Gap{clause, entry, why}
	if !slices.Contains(b.gaps, g) {
		b.gaps = append(b.gaps, g)
	}
}

// annotations are the gaps, for whoever has the configuration alone: one key a clause.
func annotations(gaps []Gap) map[string]string {
	if len(gaps) == 0 {
		return nil
	}
	all := map[string]string{}
	for _, line := range Lines(gaps) {
		clause, text, _ := strings.Cut(line, ": ")
		key := "org.brainbox.gap." + clause
		if all[key] != "" {
			text = all[key] + "; " + text
		}
		all[key] = text
	}
	return all
}

// Lines are the gaps as text, one line for neighbours that differ in the entry alone.
func Lines(gaps []Gap) []string {
	var list []string
	for i := 0; i < len(gaps); {
		g := gaps[i]
		line := g.Clause
		for n := 0; i < len(gaps) && gaps[i].Clause == g.Clause && gaps[i].Why == g.Why; i, n = i+1, n+1 {
			switch {
			case gaps[i].Entry == "":
			case n == 0:
				line += ": " + strconv.Quote(gaps[i].Entry)
			default:
				line += " " + strconv.Quote(gaps[i].Entry)
			}
		}
		list = append(list, line+": "+g.Why)
	}
	return list
}
