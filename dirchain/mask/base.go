package mask

import (
	"context"
	"errors"
	"io/fs"

	"brainbox/dirchain"
)

// Base is what image and mask were when the editor opened: see
// [Operation.CaptureBase]. The zero Base fits nothing.
type Base struct {
	ImagePath string
	MaskPath  string
	Image     dirchain.Hash
	Mask      *dirchain.Hash // nil: there was no mask
}

// CaptureBase reads, before the editor opens, what a later [Operation.Apply] must
// find unchanged. It refuses, with a [*Refusal], whatever cannot be applied: so no
// person paints a mask for an image that cannot have one.
func (o *Operation) CaptureBase(ctx context.Context, imagePath string) (Base, error) {
	base := Base{ImagePath: imagePath}
	err := CheckPath(imagePath)
	if err == nil {
		base.MaskPath, err = o.Backend.MaskPath(imagePath)
	}
	if err == nil {
		err = CheckPath(base.MaskPath)
	}
	if err == nil {
		err = o.capture(ctx, &base)
	}
	if err != nil {
		return Base{}, refusal(err)
	}
	return base, nil
}

// capture reads both files of a base.
func (o *Operation) capture(ctx context.Context, base *Base) error {
	if o.Root == nil {
		return refuse(ApplicationFailed, "there is no root")
	}
	image, err := o.hash(ctx, base.ImagePath)
	if err != nil {
		return err
	}
	if image == nil {
		return &Refusal{Code: MissingImage}
	}
	base.Image = *image
	base.Mask, err = o.hash(ctx, base.MaskPath)
	return err
}

// unchanged captures again and compares.
func (o *Operation) unchanged(ctx context.Context, base Base) error {
	now := base
	if err := o.capture(ctx, &now); err != nil {
		return err
	}
	if now.Image != base.Image || !same(now.Mask, base.Mask) {
		return &Refusal{Code: StaleBase}
	}
	return nil
}

func same(a, b *dirchain.Hash) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// hash reads one file, nil when it is not there. What is no plain file is not opened.
func (o *Operation) hash(ctx context.Context, path string) (*dirchain.Hash, error) {
	t, err := o.Root.Hold(path)
	if err != nil {
		return nil, absent(err)
	}
	defer t.Close()
	st, found := t.Stat()
	if !found {
		return nil, nil
	}
	if err = plain(st); err != nil {
		return nil, err
	}
	got, err := o.Root.Read(ctx, path, dirchain.ReadRequest{Limit: 1}) // the hash is of the whole file
	if err != nil {
		return nil, absent(err)
	}
	if err = plain(got.Stat); err != nil {
		return nil, err
	}
	return &got.SHA256, nil
}

// absent makes a missing file no error.
func absent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// plain refuses what is no regular file of one name within the limit. Pure.
func plain(st dirchain.Stat) error {
	switch {
	case st.Type() != 0:
		return refuse(AliasDenied, "it is "+st.Type().String())
	case st.Links != 1:
		return &Refusal{Code: AliasDenied, Err: dirchain.ErrLinked}
	case st.Size > MaxBytes:
		return &Refusal{Code: PayloadTooLarge}
	}
	return nil
}
