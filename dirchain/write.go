package dirchain

import (
	"context"
	"io"
)

// Mode says what a write may meet. The zero value never touches a file that exists;
// what is none of these is fs.ErrInvalid.
type Mode int

const (
	// Create makes a new file; anything that exists is fs.ErrExist.
	Create Mode = iota
	// Replace puts a new file over an existing regular one.
	Replace
	// Append puts a new file over an existing one that begins with its content.
	// It is not done in place: a crash leaves the old file or the whole new one.
	Append
	// CreateOrReplace is Create or Replace, as the entry is found.
	CreateOrReplace
)

// WriteRequest is one write.
type WriteRequest struct {
	Mode Mode
	// Content is read to its end, once, up to the root's MaxFile. nil is empty. A
	// reader that waits makes the write wait.
	Content io.Reader
	// Base, when not nil, is the hash that the existing file must have
	// ([ErrStale]). It has no meaning with Create.
	Base *Hash
	// Digest, when not nil, is the hash that Content must have: what was approved
	// ([ErrStale]).
	Digest *Hash
	// Perm is for a new file: permission bits, masked with 0755 and the umask. 0
	// means 0644. Other bits are [ErrMode]. A replaced file keeps its bits.
	Perm uint32
	// Parents makes missing directories, 0755 less the umask. They are removed
	// again when the write fails.
	Parents bool
	// ReplaceLinked allows the entry of a file with several names to be replaced:
	// the others keep the old content. Otherwise it is [ErrLinked].
	ReplaceLinked bool
	// Held, when not nil, is the target that was judged.
	Held *Target
	// Before, when not nil, is asked right before publication: the new file is
	// complete and everything was looked at again, and is once more after it. An
	// error takes the write back and is what the write fails with. No other write of
	// this root, nor of another one in this directory, is published meanwhile, so it
	// must be quick. It may read through the same root, but not write: with the
	// context that it is given that is [ErrBusy], with another one it waits for itself
	// until that one ends.
	Before func(context.Context) error

	made []Identity // directories that the writes before it in a batch have made and hold
}

// WriteResult says what was done. It counts also beside an error: when Applied is
// true the new file is in place (and, say, the fsync of its directory failed).
type WriteResult struct {
	Applied  bool
	Created  bool // false: a file was replaced
	SHA256   Hash // of the whole new file
	Size     int64
	Previous *Hash // of the replaced file, where it was read
	// Kept is the name, beside the target, of the file that was displaced by a write
	// that failed, and could not be given its own name again: somebody else has that.
	Kept string
}

// Write makes, replaces or lengthens one regular file. The content goes to a new
// file with a random name in the held parent, which then takes the target's name
// at once. It acts on the root's directories only; ctx is asked between steps.
func (r *Root) Write(ctx context.Context, unsafePath string, req WriteRequest) (WriteResult, error) {
	res, err := r.write(ctx, unsafePath, req)
	return res, named("write", unsafePath, err)
}

func (r *Root) write(ctx context.Context, unsafePath string, req WriteRequest) (WriteResult, error) {
	s, err := r.stage(ctx, unsafePath, req)
	if err != nil {
		return WriteResult{}, err
	}
	defer func() { _ = s.close() }() // also when the caller's Before panics
	if err = s.commit(ctx); err != nil {
		err = s.failed(err)
	}
	return s.result, err
}
