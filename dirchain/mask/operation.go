package mask

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"slices"

	"brainbox/dirchain"
)

// Caller is who asks: both are opaque.
type Caller struct {
	Principal string
	Turn      string
}

// Operation is the hosted operation of one turn: the host's own write of a mask,
// with its own checks of everything. All fields but Scratch are needed; without
// one of them every mask is refused. It may be used by several goroutines.
type Operation struct {
	Root    *dirchain.Root // opened with PolicyDir in Protect
	Backend Backend
	// Bound is the caller that the operation was made for; any other is refused.
	Bound Caller
	// Authority says whether the bound caller is still authorised: nil is yes.
	Authority func(context.Context) error
	// Membership says whether the turn has masks.
	Membership func(context.Context) bool
	// Lock takes the lock of documents and returns how it is let go. It gives up when
	// the context is done.
	Lock func(context.Context) (unlock func(), err error)
	// Scratch is needed for masks in ScratchDir.
	Scratch ScratchArea
	// Record is told each result, exactly once, also when a callback panics. It must
	// not panic.
	Record func(Result)
}

// Apply writes a mask that was painted over base. ctx is the turn: when it is done
// the mask is refused, until the file has its name. Authority and Membership are
// asked before anything, with the lock held, and right before the file gets its
// name; then they must be quick and must not write through the same root. The
// request is copied: the caller may change it from then on.
func (o *Operation) Apply(ctx context.Context, caller Caller, base Base, req Request) Result {
	return o.run(ctx, caller, base, func() (Request, error) { return req, nil })
}

// ApplyJSON is [Operation.Apply] for a request as [ParseRequest] reads it. A text
// that is refused there is a result, recorded as any other.
func (o *Operation) ApplyJSON(ctx context.Context, caller Caller, base Base, text []byte) Result {
	return o.run(ctx, caller, base, func() (Request, error) { return ParseRequest(text) })
}

// pass is one application.
type pass struct {
	*Operation
	effects
	caller Caller
}

// run records what comes of an application, also of one that panics.
func (o *Operation) run(ctx context.Context, caller Caller, base Base, get func() (Request, error)) (res Result) {
	p := &pass{Operation: o, caller: caller}
	err := refuse(ApplicationFailed, "it ended by a panic")
	defer func() {
		if res = p.result(err); o.Record != nil {
			o.Record(res)
		}
	}()
	err = p.apply(ctx, base, get)
	return res
}

func (p *pass) apply(ctx context.Context, base Base, get func() (Request, error)) error {
	if p.Root == nil || p.Authority == nil || p.Membership == nil || p.Lock == nil || p.Record == nil ||
		p.Bound.Principal == "" || p.Bound.Turn == "" { // an empty one would fit a caller that nobody filled in
		return refuse(ApplicationFailed, "the operation is not complete")
	}
	if err := p.allowed(ctx); err != nil {
		return err
	}
	req, err := get()
	if err != nil {
		return err
	}
	if req, err = req.checked(p.Backend); err != nil {
		return err
	}
	if base.ImagePath != req.ImagePath || base.MaskPath != req.MaskPath {
		return refuse(StaleBase, "the editor was opened for another image")
	}
	unlock, err := p.Lock(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return &Refusal{Code: Cancelled, Err: err}
		}
		return &Refusal{Code: ApplicationFailed, Err: err}
	}
	if unlock == nil {
		return refuse(ApplicationFailed, "the lock cannot be let go")
	}
	defer unlock()
	if err = p.allowed(ctx); err != nil {
		return err
	}
	if err = p.unchanged(ctx, base); err != nil {
		return err
	}
	return p.write(ctx, req, base)
}

// allowed asks whether the turn may still write masks.
func (p *pass) allowed(ctx context.Context) error {
	if p.caller != p.Bound {
		return refuse(AuthorityRevoked, "it is another turn's")
	}
	if err := p.Authority(ctx); err != nil {
		return &Refusal{Code: AuthorityRevoked, Err: err}
	}
	if err := ctx.Err(); err != nil {
		return &Refusal{Code: Cancelled, Err: err}
	}
	if !p.Membership(ctx) {
		return &Refusal{Code: MembershipDenied}
	}
	return nil
}

// write holds both places, publishes, and prunes.
func (p *pass) write(ctx context.Context, req Request, base Base) error {
	image, err := p.Root.Hold(req.ImagePath)
	if err != nil {
		return err
	}
	defer image.Close()
	mask, err := p.Root.Hold(req.MaskPath)
	if err != nil {
		return err
	}
	defer mask.Close()
	scratch := inScratch(req.MaskPath)
	if scratch {
		if err = p.prepare(ctx); err != nil {
			return err
		}
	}
	sum := dirchain.Sum(req.PNG)
	w := dirchain.WriteRequest{
		Content: bytes.NewReader(req.PNG), Digest: &sum, Perm: 0o600, Held: mask,
		Before: func(ctx context.Context) error { return p.before(ctx, image, mask, base) },
	}
	if base.Mask != nil {
		w.Mode, w.Base = dirchain.Replace, base.Mask
	}
	got, err := p.Root.Write(ctx, req.MaskPath, w)
	p.wrote(req.MaskPath, got)
	if err != nil {
		return p.explain(ctx, mask, err)
	}
	if scratch {
		p.pruned(ctx)
	}
	return nil
}

func (p *pass) prepare(ctx context.Context) error {
	if p.Scratch == nil {
		return refuse(ApplicationFailed, "there is no scratch area")
	}
	return p.Scratch.Prepare(ctx)
}

// pruned prunes when the turn may still write.
func (p *pass) pruned(ctx context.Context) {
	if err := p.allowed(ctx); err != nil {
		p.outcome = "the scratch area was not pruned: " + refusal(err).message()
		return
	}
	p.prune(ctx, p.Scratch)
}

// before is asked by dirchain right before publication. The mask's content is
// compared by dirchain.
func (p *pass) before(ctx context.Context, image, mask *dirchain.Target, base Base) error {
	if err := p.allowed(ctx); err != nil {
		return err
	}
	if err := p.still(mask); err != nil {
		return err
	}
	if err := p.still(image); err != nil {
		return err
	}
	now, err := p.hash(ctx, base.ImagePath)
	if err != nil {
		return err
	}
	if now == nil || *now != base.Image {
		return &Refusal{Code: StaleBase}
	}
	return nil
}

// still says whether a held place is the visible one: every directory, and then
// the file. While it is held none of its identities is given to another file.
func (p *pass) still(held *dirchain.Target) error {
	now, err := p.Root.Hold(held.Path())
	if err != nil {
		if misplaced(err) {
			return &Refusal{Code: TopologyChanged, Err: err}
		}
		return err
	}
	defer now.Close()
	if !slices.Equal(now.Chain(), held.Chain()) {
		return &Refusal{Code: TopologyChanged}
	}
	is, found := now.Stat()
	was, there := held.Stat()
	if found != there || is.ID != was.ID {
		return &Refusal{Code: StaleBase}
	}
	return nil
}

// misplaced: a walk that came through before meets something else. Pure.
func misplaced(err error) bool {
	for _, e := range []error{
		dirchain.ErrChanged, dirchain.ErrLink, dirchain.ErrNotDirectory, dirchain.ErrMount, fs.ErrNotExist,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// explain finds out whether a write that met something else met another directory
// or another file.
func (p *pass) explain(ctx context.Context, mask *dirchain.Target, err error) error {
	var r *Refusal
	if ctx.Err() != nil || errors.As(err, &r) || !misplaced(err) {
		return err
	}
	if why := p.still(mask); why != nil {
		return why
	}
	return err
}
