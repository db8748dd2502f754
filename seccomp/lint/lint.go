package lint

import (
	"cmp"
	"slices"

	"brainbox/seccomp"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// Severity says what a finding means. The zero value is an error.
type Severity uint8

// The severities.
const (
	// Error: the profile cannot be loaded, or it opens a way out.
	Error Severity = iota
	// Warning: weaker than the default in a way that has been used, or programs break.
	Warning
	// Note: worth knowing.
	Note
)

// String returns the word that is printed.
func (s Severity) String() string {
	switch s {
	case Error:
		return "error"
	case Warning:
		return "warning"
	default:
		return "note"
	}
}

// Finding is one fault of a profile.
type Finding struct {
	Rule     string // one of [Rules]
	Severity Severity
	Place    string // where in the JSON: "syscalls[12].names[3]"; "" for the whole text
	Message  string
	Why      string // what the rule says
	Hint     string // what to do
}

// Change is a call that a profile and the default filter answer differently.
type Change struct {
	Call    string // its name, or "unlisted numbers"
	Some    bool   // only for some arguments
	Example string // with Some: the arguments of one such call
}

// Report is everything that was found.
type Report struct {
	// Form is "oci" or "docker", or "" if the text is neither.
	Form string
	// Judged says whose program was judged: "brainbox", "runtime" when brainbox would not
	// load the profile, or "" when nothing could be compiled.
	Judged string
	// Findings are sorted by severity, the most severe first, then as found.
	Findings []Finding
	// Wider are calls that the profile lets run and the default refuses, Narrower the
	// reverse; sorted by number.
	Wider, Narrower []Change
	// Partial are calls with too many kinds of arguments to try all.
	Partial []string
}

// Env is what Lint asks. Compile, Runtime and Known may not be nil.
type Env struct {
	// Arch is the architecture, in Go's word: "amd64" or "arm64".
	Arch string
	// Compile returns the program that brainbox loads, and why it does not.
	Compile func(*specs.LinuxSeccomp) (seccomp.Program, error)
	// Runtime returns the program that a container runtime loads.
	Runtime func(*specs.LinuxSeccomp) (seccomp.Program, error)
	// Known reports whether libseccomp has a name, for any architecture.
	Known func(name string) bool
	// Default is the filter to compare with; without one there is no difference.
	Default seccomp.Program
}

// MaxProfile is the longest profile that is read, in bytes.
const MaxProfile = 1 << 20

// The kinds of arguments that are tried for one call, with one program and with two.
const (
	maxCases = 1 << 16
	maxPairs = 1 << 18
)

// judge is one run of Lint.
type judge struct {
	Env
	*document
	program seccomp.Program
	audit   uint32 // AUDIT_ARCH_ value of Arch
	report  Report
	told    map[kind]int
}

// Lint judges the text of a profile.
func Lint(text []byte, env Env) Report {
	j := &judge{Env: env}
	j.parse(text)
	if j.document != nil {
		j.fields()
		j.rules()
		j.names()
		j.overlaps()
		j.compile()
	}
	if j.program != nil {
		j.architectures()
		j.calls()
		j.fallbacks()
		j.halves()
		j.difference()
	}
	j.rest()
	slices.SortStableFunc(j.report.Findings, func(a, b Finding) int { return cmp.Compare(a.Severity, b.Severity) })
	return j.report
}

// compile gets the program that is judged, and tells why brainbox would not load it if no
// finding has said so.
func (j *judge) compile() {
	audit, err := seccomp.AuditArch(j.Arch)
	if err != nil {
		j.add("refused", "", "%v", err)
		return
	}
	j.audit = audit
	if j.program, err = j.Compile(j.spec); err == nil {
		j.report.Judged = "brainbox"
		return
	}
	if !j.failed() {
		j.add("refused", "", "%v", err)
	}
	if j.program, err = j.Runtime(j.spec); err != nil {
		j.program = nil
		return
	}
	j.report.Judged = "runtime"
}

// failed reports whether some finding is an error.
func (j *judge) failed() bool {
	return slices.ContainsFunc(j.report.Findings, func(f Finding) bool { return f.Severity == Error })
}

// Failed reports whether some finding is an error.
func (r Report) Failed() bool { return r.Count(Error) > 0 }

// Count returns the number of findings of one severity.
func (r Report) Count(s Severity) (n int) {
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}
