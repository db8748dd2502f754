package launcher

import (
	"fmt"

	"brainbox/internal/strictjson"
	"brainbox/internal/version"
)

// LintFinding is one fault of a seccomp profile.
type LintFinding struct {
	Rule, Severity       string // Severity is "error", "warning" or "note"
	Place                string // where in the JSON, as "syscalls[12].names[3]"; "" for all of it
	Message, Why, Remedy string
}

// LintChange is a call that a profile and the default filter answer differently.
type LintChange struct {
	Call    string
	Some    bool   // only for some arguments
	Example string // such arguments
}

// Lint is what brainbox-seccomp says of a profile.
type Lint struct {
	Form            string // "oci", "docker", or "" if it is neither
	Judged          string // whose program: "brainbox", "runtime", or "" if there is none
	Findings        []LintFinding
	Wider, Narrower []LintChange
	Partial         []string // calls with too many kinds of arguments to try all
}

// Count returns the number of findings of a severity.
func (l *Lint) Count(severity string) (n int) {
	for _, f := range l.Findings {
		if f.Severity == severity {
			n++
		}
	}
	return n
}

// LintProfile has brainbox-seccomp judge an OCI seccomp profile, confined as
// [CompileProfile] says. A profile that can not be read is a finding; the error is for a
// file or a helper that can not be.
func LintProfile(path string) (*Lint, error) {
	out, err := askCompiler(path, "--lint")
	if err != nil {
		return nil, err
	}
	got, err := readLint(out)
	if err != nil {
		return nil, &Refusal{Status: StatusRefused, Clause: "seccomp", Message: "brainbox-seccomp: " + err.Error(), Hint: "install it from the same build"}
	}
	return got, nil
}

// maxLint bounds each list of an answer.
const maxLint = 1 << 17

// readLint checks an answer of brainbox-seccomp.
func readLint(text []byte) (*Lint, error) {
	v, err := strictjson.Decode(text, strictjson.Limits{Bytes: maxReply, Keys: 1 << 20, Values: 1 << 20})
	if err != nil {
		return nil, err
	}
	b := strictjson.BindLenient(v)
	protocol, theirs := b.Int("protocol", 0, 1<<30), b.String("version")
	l := &Lint{Form: b.String("form"), Judged: b.String("judged"), Partial: b.Strings("partial", 4096)}
	for _, f := range b.Objects("findings", maxLint, "rule", "severity", "place", "message", "why", "hint") {
		l.Findings = append(l.Findings, LintFinding{
			Rule: f.String("rule"), Severity: f.Enum("severity", "error", "warning", "note"), Place: f.String("place"),
			Message: f.String("message"), Why: f.String("why"), Remedy: f.String("hint"),
		})
	}
	l.Wider, l.Narrower = readChanges(b, "wider"), readChanges(b, "narrower")
	if err := b.Err(); err != nil {
		return nil, err
	}
	if protocol != 1 || theirs != version.String() {
		return nil, fmt.Errorf("it speaks protocol %d of version %q, this is version %q", protocol, theirs, version.String())
	}
	return l, nil
}

func readChanges(b *strictjson.Fields, key string) (list []LintChange) {
	for _, c := range b.Objects(key, maxLint, "call", "some", "example") {
		list = append(list, LintChange{Call: c.String("call"), Some: c.Bool("some"), Example: c.String("example")})
	}
	return list
}
