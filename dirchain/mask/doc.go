// Package mask writes the masks that a person paints over images, on behalf of a
// program that may not write them itself.
//
// A host writes them with its own checks:
//
//	root, err := dirchain.OpenRoot("/srv/repo", dirchain.Options{Protect: []string{mask.PolicyDir}})
//	...
//	op := &mask.Operation{
//		Root: root, Backend: mask.Claude, Bound: mask.Caller{Principal: "u1", Turn: "t1"},
//		Authority: stillAuthorised, Membership: hasMasks, Lock: documents, Record: record,
//	}
//	base, err := op.CaptureBase(ctx, "assets/raft.png") // before the editor opens
//	...
//	res := op.ApplyJSON(ctx, caller, base, text) // assets/raft-mask.png, or a code
//
// A backend answers the tool request_image_mask with a [Tool]. It asks the host to
// have the mask painted and, when the host is an [Applier], to write it; otherwise
// it writes through [Fallback].
//
// What a mask is called is decided by the [Backend], which the host knows, never by
// the request. Refusals are [*Refusal]; the thirteen codes are those of contract
// brainkit, section 4.1.
//
// # Limits
//
// Of a PNG only the signature is looked at. A mask with a set-user-ID, set-group-ID
// or sticky bit is not replaced. The mode of a new mask is 0600 in the operation and
// 0644 in the fallback, less the umask; the original gave 0666 less the umask in the
// latter.
//
// Names of the policy are compared after NFKC and lower-casing, which is less than
// some file systems fold: the root knows them by identity too, and refuses to write
// in directories that fold names.
//
// The paths of Pi that hold characters of a regular expression in their extension
// keep it, and some refuse; the original did something else for a few more of them
// ("x.a|b"). None of these is an image.
//
// Between the last look at the image and the moment the mask has its name another
// process may still change the image. What of the mask's own place changes then is
// seen, and the write is taken back; see package dirchain.
package mask
