package mask

import (
	"bytes"
	"context"
	"errors"
	"path"
	"runtime"

	"brainbox/dirchain"
)

// Fallback writes masks for a host that has no operation of its own: see
// [Applier]. Unlike [Operation] it knows no authority, no lock and no base: the
// last writer wins. A file with several names is replaced by its entry, the others
// keep the old content; a new mask gets 0644 less the umask, a replaced one keeps
// its permission bits (contract brainkit §4.2, §11 A12, A14).
//
// On Linux both kinds of target are written through held directories. Elsewhere a
// mask in [ScratchDir] is refused before anything is looked at or made, and any
// other is written by its path, which promises nothing when directories are
// exchanged meanwhile: the result says so.
type Fallback struct {
	Root    *dirchain.Root // opened with PolicyDir in Protect
	Scratch ScratchArea    // needed for masks in ScratchDir

	platform string // as runtime.GOOS; empty is this one. Set by tests
}

const heldPlatform = "linux"

// Write writes a mask. target is the path that a [Backend] derived, never one that
// was asked for, and passes [brainbox/dirchain.SplitPath]; it lies neither in the
// policy nor in a .git. Its directories may be reached by links inside the root; its
// last name is never followed. Missing directories are made. The result is not
// recorded anywhere.
func (f *Fallback) Write(ctx context.Context, target string, png []byte) Result {
	var e effects
	err := f.write(ctx, target, png, &e)
	return e.result(err)
}

func (f *Fallback) write(ctx context.Context, target string, png []byte, e *effects) error {
	png, err := copyPNG(png)
	if err != nil {
		return err
	}
	if err = checkFallback(target); err != nil {
		return err
	}
	if f.Root == nil {
		return refuse(ApplicationFailed, "there is no root")
	}
	if f.platform != heldPlatform && (f.platform != "" || runtime.GOOS != heldPlatform) {
		return f.writeByPath(target, png, e)
	}
	at, err := place(f.Root, target)
	if err != nil {
		return err
	}
	if err = checkPlace(target, at); err != nil {
		return err
	}
	scratch := inScratch(at)
	if scratch {
		if f.Scratch == nil {
			return refuse(ApplicationFailed, "there is no scratch area")
		}
		if err = f.Scratch.Prepare(ctx); err != nil {
			return err
		}
	}
	got, err := f.Root.Write(ctx, at, dirchain.WriteRequest{
		Mode: dirchain.CreateOrReplace, Content: bytes.NewReader(png), Perm: 0o666, Parents: true, ReplaceLinked: true,
	})
	e.wrote(at, got)
	if err == nil && scratch {
		e.prune(ctx, f.Scratch)
	}
	return err
}

// checkFallback judges a target as text. Pure.
func checkFallback(target string) error {
	if _, err := dirchain.SplitPath(target); err != nil {
		return err
	}
	if target == ScratchDir {
		return refuse(InvalidTarget, "it is the scratch area itself")
	}
	if ofPolicy(target) {
		return &Refusal{Code: PolicyDenied}
	}
	if ofGit(target) { // one file too many in refs breaks the repository
		return refuse(InvalidTarget, "it is git's")
	}
	return nil
}

// place is where a target lies without links in its directories. The target as a
// whole must lie beneath the root too.
func place(root *dirchain.Root, target string) (string, error) {
	if _, err := root.Resolve(target); err != nil {
		return "", err
	}
	dir, err := root.Resolve(path.Dir(target))
	if err != nil {
		return "", err
	}
	return path.Join(dir, path.Base(target)), nil
}

// checkPlace judges where a target came to. What is asked for in the scratch area
// must lie there. Pure.
func checkPlace(target, place string) error {
	if err := checkFallback(place); err != nil {
		return err
	}
	if inScratch(target) && !inScratch(place) {
		return &Refusal{Code: AliasDenied, Err: errors.New("the scratch area leads elsewhere")}
	}
	return nil
}
