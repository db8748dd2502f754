package prompt

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"slices"
	"strconv"
)

// Source says how a request came about.
type Source string

// The sources.
const (
	ToolCall      Source = "tool_call"
	RPCPrompt     Source = "rpc_prompt" // asked for by the sandbox, for its own use: advice, no authority
	MediatedWrite Source = "mediated_write"
)

// Target is one path that a call acts on.
type Target struct {
	Path      string // as the call spells it
	Canonical string // where it leads; empty: the same
	Access    string // read, write, create, remove …
}

// Reason is why a person is asked: one layer's answer.
type Reason struct {
	Surface string
	Pattern string // of the rule; may be empty
	Origin  string // of the rule; may be empty
	Text    string // may be empty
}

// Facts are what a person is asked about. They are all shown, and all bound by the
// digest.
type Facts struct {
	Session string
	Agent   string // bound to the connection, not what a request says
	Source  Source
	Surface string
	Tool    string
	Value   string // the whole command, path or name: never a part of it
	Reasons []Reason

	Cwd      string
	Env      []string // NAME=VALUE that the call sets
	Programs []string // argv[0] of each command in it
	Hosts    []string
	Targets  []Target
	Input    []byte // the arguments, JSON
	Content  []byte // SHA-256 of what is written; nil: nothing is
	Size     int64  // of what is written, in bytes
	Earlier  int64  // bytes of that which are not in Input: they came before
	Effect   []byte // digest of the effect as whoever performs it computes it; nil: none

	Message  string // the agent's own words
	Label    string // the agent's own words for "for this session"
	Grant    string // what an answer for longer than once covers; empty: only once is offered
	Editable bool   // an answer may change Input; the request must be able to judge that again
}

// mostFacts bounds what one request may hold, in bytes.
const mostFacts = 1 << 20

// check refuses what cannot be asked.
func (f *Facts) check() error {
	switch f.Source {
	case ToolCall, RPCPrompt, MediatedWrite:
	default:
		return fmt.Errorf("prompt: unknown source %q", string(f.Source))
	}
	n := 0
	f.write(func(part []byte) { n += len(part) + 8 })
	if n > mostFacts {
		return errors.New("prompt: more than 1 MiB to show")
	}
	return nil
}

// clone is the snapshot: nothing that the caller changes later is in it.
func (f *Facts) clone() Facts {
	c := *f
	c.Reasons, c.Targets = slices.Clone(f.Reasons), slices.Clone(f.Targets)
	c.Env, c.Programs, c.Hosts = slices.Clone(f.Env), slices.Clone(f.Programs), slices.Clone(f.Hosts)
	c.Input, c.Content, c.Effect = slices.Clone(f.Input), slices.Clone(f.Content), slices.Clone(f.Effect)
	return c
}

// Digest is the SHA-256 of a snapshot.
type Digest [sha256.Size]byte

// String returns 64 lower-case hex digits.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// ParseDigest reads what String writes, and nothing else.
func ParseDigest(s string) (Digest, error) {
	var d Digest
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(d) || hex.EncodeToString(b) != s {
		return Digest{}, errors.New("prompt: a digest is 64 lower-case hex digits")
	}
	return Digest(b), nil
}

// Digest binds every field: each is written with its length before it, so that no two
// different snapshots have the same bytes.
func (f *Facts) Digest() Digest {
	h := sha256.New()
	put(h, []byte("brainbox/prompt/v1"))
	f.write(func(part []byte) { put(h, part) })
	return Digest(h.Sum(nil))
}

func put(h hash.Hash, part []byte) {
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(part)))
	_, _ = h.Write(n[:])
	_, _ = h.Write(part)
}

// write gives each field to part, lists with their length first.
func (f *Facts) write(part func([]byte)) {
	texts := func(all ...string) {
		for _, s := range all {
			part([]byte(s))
		}
	}
	list := func(all []string) {
		texts(strconv.Itoa(len(all)))
		texts(all...)
	}
	texts(f.Session, f.Agent, string(f.Source), f.Surface, f.Tool, f.Value, f.Cwd)
	list(f.Env)
	list(f.Programs)
	list(f.Hosts)
	texts(strconv.Itoa(len(f.Reasons)))
	for _, r := range f.Reasons {
		texts(r.Surface, r.Pattern, r.Origin, r.Text)
	}
	texts(strconv.Itoa(len(f.Targets)))
	for _, t := range f.Targets {
		texts(t.Path, t.Canonical, t.Access)
	}
	part(f.Input)
	part(f.Content)
	texts(strconv.FormatInt(f.Size, 10))
	if f.Earlier != 0 {
		texts("earlier", strconv.FormatInt(f.Earlier, 10))
	}
	part(f.Effect)
	texts(f.Message, f.Label, f.Grant, strconv.FormatBool(f.Editable))
}
