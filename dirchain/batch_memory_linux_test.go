package dirchain

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
)

// TestBatchMemory: of an entry that is staged neither the old text nor the new one
// is kept, so a batch of edits needs the memory of one.
func TestBatchMemory(t *testing.T) {
	const size, files = 4 << 20, 8
	dir := t.TempDir()
	entries := make([]BatchEntry, 0, files)
	for i := range files {
		path := fmt.Sprint(i)
		if err := os.WriteFile(dir+"/"+path, append(bytes.Repeat([]byte("x"), size), '!'), 0o644); err != nil {
			t.Fatal(err)
		}
		entries = append(entries, BatchEntry{Path: path, Edit: &EditRequest{Old: []byte("!"), New: []byte("?")}})
	}
	r := open(t, dir, Options{SkipSync: true})
	before, most := heap(), uint64(0)
	r.hook = at("publish", func() error {
		most = heap()
		return nil
	})
	if _, err := r.Batch(t.Context(), entries); err != nil {
		t.Fatal(err)
	}
	if most == 0 || most > before+2*size {
		t.Errorf("%d bytes in use before the first publication, %d at the start", most, before)
	}
}

// heap is how many bytes are in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestBatchDescriptors: a batch does not use up what a process may have open, as 32
// of the deepest paths would.
func TestBatchDescriptors(t *testing.T) {
	deep := strings.Repeat("d/", MaxDepth-1)
	var entries []BatchEntry
	for i := range MaxBatchParts / MaxDepth {
		entries = append(entries, one(fmt.Sprint(deep, i)))
	}
	dir := t.TempDir()
	r := open(t, dir, Options{SkipSync: true})
	before, most := stillOpen(t), 0
	r.hook = at("publish", func() error {
		most = stillOpen(t)
		return nil
	})
	if _, err := r.Batch(t.Context(), append(entries, one("one-too-many"))); !errors.Is(err, ErrBatch) || names(t, dir) != "" {
		t.Errorf("%v, %q is there, want %v", err, names(t, dir), ErrBatch)
	}
	if _, err := r.Batch(t.Context(), entries); err != nil {
		t.Fatal(err)
	}
	if most == 0 || most-before > MaxBatchParts+MaxBatch {
		t.Errorf("%d descriptors more than %d", most-before, before)
	}
}
