package mask

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"brainbox/dirchain"
)

// ToolName is the tool that a model calls.
const ToolName = "request_image_mask"

// MaxInstruction is the longest instruction in UTF-16 units.
const MaxInstruction = 300

// Host is the bridge of one turn. What it can do is found by type assertion: an
// [Asker] can have a mask painted, an [Applier] writes it itself.
type Host any

// Asker lets a person paint a mask.
type Asker interface {
	// RequestMask returns the PNG, or an error when the person declines. imagePath is
	// relative to the root and clean.
	RequestMask(ctx context.Context, imagePath, instruction string) ([]byte, error)
}

// Applier writes masks on the host's side, as [Operation] does. Then nothing is
// written here, and after the mask was painted nothing is looked at.
type Applier interface {
	ApplyMask(ctx context.Context, req Request) (Result, error)
}

// Tool answers the tool request_image_mask for one turn.
type Tool struct {
	Backend Backend
	// Root may be nil when the host is an Applier: then no system call is made at all,
	// and paths are judged by their text. The host looks at the files in any case.
	Root *dirchain.Root
	// Configured is the absolute path of the root as it was configured, for reports
	// alone. Empty means the path of Root.
	Configured string
	Scratch    ScratchArea // for the fallback
}

// Report is what the model is told of a mask.
type Report struct {
	MaskPath  string `json:"maskPath"`
	ImagePath string `json:"imagePath"` // as it was submitted
	Bytes     int    `json:"bytes"`
	Note      string `json:"note"`
}

// Request has a mask painted for an image and written beside it. The order is that
// of contract brainkit §5.10: what the host can do, whether the image lies beneath
// the root, the person, the write. A path that leads out of the root is refused
// before the person is asked; so is a mask that would. The error is for the model.
func (t *Tool) Request(ctx context.Context, host Host, imagePath, instruction string) (Report, error) {
	asker, ok := host.(Asker)
	if !ok {
		return Report{}, fmt.Errorf("%s: this host cannot ask for a mask", ToolName)
	}
	applier, applies := host.(Applier)
	if t.Root == nil && !applies {
		return Report{}, fmt.Errorf("%s: this host cannot write a mask", ToolName)
	}
	names, err := t.names(imagePath, instruction)
	if err != nil {
		return Report{}, fmt.Errorf("%s: image %q: %w", ToolName, imagePath, err)
	}
	png, err := asker.RequestMask(ctx, names.image, instruction)
	if err != nil {
		return Report{}, fmt.Errorf("%s: no mask was painted; describe the change in words instead of asking again: %w",
			ToolName, err)
	}
	var res Result
	if applies {
		res, err = applier.ApplyMask(ctx, Request{ImagePath: names.image, MaskPath: names.mask, PNG: png})
	} else {
		f := &Fallback{Root: t.Root, Scratch: t.Scratch}
		res = f.Write(ctx, names.asked, png)
	}
	if err == nil {
		err = res.Err()
	}
	if err != nil {
		return Report{}, fmt.Errorf("%s: image %q: %w", ToolName, imagePath, err)
	}
	return Report{
		MaskPath: t.report(names), ImagePath: imagePath, Bytes: len(png), Note: note(res),
	}, nil
}

// Names tells where image and mask of a request lie, relative to the root and without links
// in their directories, as [Tool.Request] will derive them: for who decides about it
// before the person is asked. Its refusals are those of Request.
func (t *Tool) Names(imagePath, instruction string) (image, mask string, err error) {
	n, err := t.names(imagePath, instruction)
	if err != nil {
		return "", "", fmt.Errorf("%s: image %q: %w", ToolName, imagePath, err)
	}
	return n.image, n.mask, nil
}

func note(res Result) string {
	text := "A person painted this mask for the image."
	if res.Outcome != "" {
		text += " Note: " + res.Outcome + "."
	}
	return text
}

// names are the paths of one request, all relative to the root.
type names struct {
	image string // without links in its directories; of Pi without any
	mask  string // where the mask belongs
	asked string // what is written to, before links are followed
}

// names derives the paths and looks where they lead.
func (t *Tool) names(imagePath, instruction string) (n names, err error) {
	if units(imagePath) > MaxPath || units(instruction) > MaxInstruction {
		return n, refuse(InvalidRequest, "path or instruction is too long")
	}
	image, err := t.lexical(imagePath)
	if err != nil {
		return n, err
	}
	if image == "." {
		return n, refuse(InvalidTarget, "it is the root")
	}
	n.image = image
	if t.Root != nil {
		if n.image, err = t.imagePlace(image); err != nil {
			return n, err
		}
	}
	if _, err = dirchain.SplitPath(n.image); err != nil { // the person sees it, and the mask's name lacks its extension
		return n, err
	}
	if n.mask, err = t.Backend.MaskPath(n.image); err != nil {
		return n, err
	}
	if n.asked = n.mask; t.Backend == Claude {
		if n.asked, err = t.Backend.MaskPath(image); err != nil {
			return n, err
		}
	}
	if t.Root != nil {
		if _, err = place(t.Root, n.asked); err != nil {
			return n, err
		}
	}
	return n, checkPlace(n.asked, n.mask)
}

// imagePlace is where an image lies. Pi names its mask by the file that a link in
// the last place leads to, Claude by the link.
func (t *Tool) imagePlace(image string) (string, error) {
	canonical, err := t.Root.Resolve(image)
	if err != nil || t.Backend == Pi {
		return canonical, err
	}
	return place(t.Root, image)
}

// lexical cleans the submitted path as text and makes it relative to the root. The
// root's own name may be in it only when the root is known.
func (t *Tool) lexical(imagePath string) (string, error) {
	switch {
	case strings.IndexByte(imagePath, 0) >= 0:
		return "", refuse(InvalidTarget, "it has U+0000")
	case strings.HasPrefix(imagePath, "/"):
		return "", refuse(InvalidTarget, "it is not relative")
	}
	rel := path.Clean(imagePath)
	if t.Root != nil && t.Root.Path() != "" {
		var err error
		if rel, err = filepath.Rel(t.Root.Path(), filepath.Join(t.Root.Path(), imagePath)); err != nil {
			return "", &Refusal{Code: InvalidTarget, Err: err}
		}
	}
	if rel == ".." || strings.HasPrefix(rel, "../") {
		return "", &Refusal{Code: InvalidTarget, Err: dirchain.ErrOutside}
	}
	return rel, nil
}

// report is the path of the mask as the backend tells it.
func (t *Tool) report(n names) string {
	root, configured := t.Configured, t.Configured
	if t.Root != nil && t.Root.Path() != "" {
		root = t.Root.Path()
	}
	if configured == "" {
		configured = root
	}
	return t.Backend.Report(configured, n.asked, filepath.Join(root, n.mask))
}
