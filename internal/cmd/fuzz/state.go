package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// done is what has become of one target so far.
type done struct {
	Seconds float64 `json:"seconds"`
	Execs   int64   `json:"execs"`
	Found   int64   `json:"found"`            // inputs that reached something new
	Corpus  int64   `json:"corpus"`           // inputs the fuzzer has, seeds included
	Failed  string  `json:"failed,omitempty"` // the first line of why; empty: it holds
	Last    string  `json:"last,omitempty"`   // the day
}

// state is what is known of all targets, by [target.String].
type state map[string]done

// readState reads a state file; there is none at first.
func readState(path string) (state, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return state{}, nil
	}
	if err != nil {
		return nil, err
	}
	s := state{}
	return s, json.Unmarshal(text, &s)
}

// write replaces the state file as a whole.
func (s state) write(path string) error {
	text, err := json.MarshalIndent(s, "", "\t")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	next := path + ".new"
	if err := os.WriteFile(next, append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(next, path)
}

// plus is d after a run that came as far as p.
func (d done) plus(p progress, day string) done {
	d.Seconds += p.elapsed.Seconds()
	d.Execs += p.execs
	d.Found += p.found
	if p.total > 0 {
		d.Corpus = p.total
	}
	d.Last = day
	return d
}

// left is how long a target is still to be run; not positive: it is done.
func (d done) left(whole time.Duration) time.Duration {
	return (whole - time.Duration(d.Seconds*float64(time.Second))).Round(time.Second)
}
