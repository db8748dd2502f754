package redact

import (
	"errors"
	"slices"
	"strings"

	"brainbox/bridge/envelope"
	"brainbox/internal/strictjson"
)

// What replaces a secret, and what replaces a path.
const (
	Redacted = "[redacted]"
	HostPath = "[host-path]"
)

// Policy names the rules of this package where a transcript says which it was redacted by.
const Policy = "brainbox/redaction/v1"

// MinSecret is how long a secret must be to be looked for, in bytes (section A.8).
const MinSecret = 6

// Options is what a host knows.
type Options struct {
	// Secrets are values that nobody but the host may see. Blanks around them do not count.
	Secrets []string

	// SandboxRoots are the absolute paths that the sandbox knows: its mounts, under the names
	// that they have inside. A path beneath one is left alone.
	SandboxRoots []string

	// HostRoots are absolute paths of the host alone. Beneath both, the longer one counts.
	HostRoots []string
}

// Redactor takes secrets out. The zero value and nil know no secret and no root: shapes, key
// names and all absolute paths are still redacted.
type Redactor struct {
	match   matcher
	sandbox []string
	host    []string
	odd     []string // of host, those with a character that ends a path
	skipped int
}

// New returns a redactor.
func New(o Options) *Redactor {
	r := &Redactor{sandbox: roots(o.SandboxRoots), host: roots(o.HostRoots)}
	var spelled []pattern
	seen := map[string]bool{}
	for _, s := range o.Secrets {
		s = strings.TrimSpace(s)
		if len(s) < MinSecret || strings.Contains(Redacted, s) || strings.Contains(HostPath, s) {
			r.skipped++
			continue
		}
		if !seen[s] {
			seen[s] = true
			spelled = append(spelled, spellings(s)...)
		}
	}
	r.match.build(spelled)
	for _, root := range r.host {
		if strings.ContainsFunc(root, func(c rune) bool { return c < 0x80 && c != '/' && !nameByte(byte(c)) }) {
			r.odd = append(r.odd, root)
		}
	}
	return r
}

// Skipped returns how many secrets are not looked for: too short, or part of [Redacted].
func (r *Redactor) Skipped() int {
	if r == nil {
		return 0
	}
	return r.skipped
}

// Scope says which layers apply.
type Scope int

// The scopes. The zero value has all layers.
const (
	Full   Scope = iota // errors, diagnostics, metadata, references, transcripts, logs
	Output              // what a tool returned: no key names, no paths but the host's roots
	Names               // ids and names of the protocol: exact values only
)

var errLeft = errors.New("redact: a secret is left")

// Value returns v without secrets. It shares with v what did not change.
func (r *Redactor) Value(v strictjson.Value, scope Scope) (strictjson.Value, error) {
	w := r.walk(scope)
	out := w.value(v, 0)
	return out, w.err
}

// Text returns s without secrets; when that fails, [Redacted].
func (r *Redactor) Text(s string, scope Scope) string {
	w := r.walk(scope)
	out := w.text(s)
	if w.err != nil {
		return Redacted
	}
	return out
}

// Holds reports whether s has one of the secrets in it, however spelled.
func (r *Redactor) Holds(s string) bool {
	w := r.walk(Names)
	w.exact(s)
	return len(w.spans) > 0
}

// ScrubEnvironment returns the variables of env, each name=value, that the sandbox may have:
// those that are not in names (envelope.Bridge.HostVariables) and hold no secret, however
// spelled. What has no name is dropped.
func (r *Redactor) ScrubEnvironment(env, names []string) []string {
	kept := make([]string, 0, len(env))
	for _, entry := range env {
		name, _, ok := strings.Cut(entry, "=")
		if !ok || name == "" || slices.Contains(names, name) || r.Holds(entry) {
			continue
		}
		kept = append(kept, entry)
	}
	return kept
}

// Result returns res as it may be sent: a copy without secrets, its message cut to what a
// message may be. With an error nothing of res may be sent.
func (r *Redactor) Result(res *envelope.Result) (out *envelope.Result, err error) {
	defer func() {
		if recover() != nil {
			out, err = nil, errors.New("redact: panic")
		}
	}()
	return r.result(res)
}

// Answer is [Redactor.Result], total: what cannot be redacted is the failed result of req with
// redaction_failed, which has no part of res.
func (r *Redactor) Answer(req *envelope.Request, res *envelope.Result) *envelope.Result {
	out, err := r.Result(res)
	if err != nil {
		return req.Fail(envelope.Failed, envelope.CodeRedactionFailed, "the answer of the tool could not be redacted")
	}
	return out
}

func (r *Redactor) result(res *envelope.Result) (*envelope.Result, error) {
	out := *res
	w := r.walk(Output)
	if res.Output != nil {
		v := w.value(*res.Output, 0)
		out.Output = &v
	}
	if w.err != nil {
		return nil, w.err
	}
	w.scope = Full
	if res.Err != nil {
		out.Err = w.failure(*res.Err)
	}
	out.Transcripts = w.refs(res.Transcripts)
	out.Evidence = w.refs(res.Evidence)
	out.Diagnostics = w.value(res.Diagnostics, 0)
	out.Metadata = w.value(res.Metadata, 0)
	if w.err != nil {
		return nil, w.err
	}
	return &out, nil
}

// failure redacts an error. A code is a word: one with a secret in it has no other spelling.
func (w *walk) failure(e envelope.Error) *envelope.Error {
	if w.text(e.Code) != e.Code {
		w.err = errLeft
	}
	e.Message = envelope.ClipMessage(w.text(e.Message))
	e.Details = w.pointer(e.Details)
	return &e
}

func (w *walk) pointer(v *strictjson.Value) *strictjson.Value {
	if v == nil {
		return nil
	}
	out := w.value(*v, 0)
	return &out
}

func (w *walk) refs(list []envelope.Ref) []envelope.Ref {
	out := make([]envelope.Ref, len(list))
	for i, ref := range list {
		ref.Kind, ref.Path, ref.ID, ref.URI = w.text(ref.Kind), w.text(ref.Path), w.text(ref.ID), w.text(ref.URI)
		if w.text(ref.SHA256) != ref.SHA256 {
			ref.SHA256 = ""
		}
		ref.Metadata = w.pointer(ref.Metadata)
		if !ref.Valid() { // longer than a path may be
			w.err = errLeft
		}
		out[i] = ref
	}
	return out
}
