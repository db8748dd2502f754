package main

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"sync"

	"brainbox/bridge"
)

// entry is one call in the receipt.
type entry struct {
	Tool     string `json:"tool"`
	Path     string `json:"path,omitempty"`     // as the agent wrote it
	Allowed  bool   `json:"allowed"`            // by the gate
	Decision string `json:"decision,omitempty"` // the gate's; none: the tool refused it, and nobody was asked
	Digest   string `json:"digest,omitempty"`   // of all that was allowed
	Status   string `json:"status"`             // what became of it
	Code     string `json:"code,omitempty"`     // why it did not succeed
	SHA256   string `json:"sha256,omitempty"`   // of the file, as it was read or is now
}

// receipt is a file with one line for each call, in the order in which they ended.
type receipt struct {
	mu   sync.Mutex
	file *os.File
	err  error // the first
}

func newReceipt(name string) (*receipt, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return &receipt{file: f}, nil
}

// Record is that of [bridge.Recorder]: each call comes here once, before the agent is told.
// Calls may end at the same time. After an error no call is carried out any more.
func (r *receipt) Record(c bridge.Call) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	line, err := json.Marshal(entryOf(&c))
	if err == nil {
		_, err = r.file.Write(append(line, '\n'))
	}
	r.err = errors.Join(r.err, err)
	return err
}

func entryOf(c *bridge.Call) entry {
	e := entry{
		Tool: c.Request.Tool, Allowed: c.Decision.Allowed, Decision: string(c.Decision.Resolution), Status: string(c.Result.Status),
	}
	if path := c.Input.Get("path"); path != nil {
		e.Path = path.Text
	}
	if e.Allowed {
		e.Digest = hex.EncodeToString(c.Decision.Digest[:])
	}
	if c.Result.Err != nil {
		e.Code = c.Result.Err.Code
	} else if sum := c.Result.Output.Get("sha256"); sum != nil {
		e.SHA256 = sum.Text
	}
	return e
}

func (r *receipt) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.err, r.file.Sync(), r.file.Close())
}
