// Package picture has the tool request_image_mask: a person paints a mask over an image,
// and the host writes it beside the image (contract brainkit §4.1, §5.10).
//
//	t, err := picture.New(picture.Config{Operation: op, Asker: editor})
//
// What the host can do is told first, then the paths are judged, and only then is the person
// asked. The write is that of package dirchain/mask, with its own checks and codes; it goes
// to the place that the gate judged, which stays held while the person paints. A person
// who declines is the code declined.
//
// # Limits
//
// The call takes no lock while the person paints, so it has no keys: the operation takes the
// lock of documents when the mask is written. What has no operation of the host's own is not
// offered; the fallback of package mask is for backends.
package picture
