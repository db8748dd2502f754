package mask

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"

	"brainbox/internal/strictjson"
)

// MaxBytes is the most bytes of a mask, of an image and of a previous mask.
const MaxBytes = 8 << 20

// maxText is the longest request as JSON text: the mask in base64, and more than
// two escaped paths need.
const maxText = (MaxBytes+2)/3*4 + 64<<10

// signature begins every PNG (W3C PNG, section 5.2).
const signature = "\x89PNG\r\n\x1a\n"

// Request is a painted mask. Nothing in it is trusted.
type Request struct {
	ImagePath string
	MaskPath  string // must be what the backend derives from ImagePath
	PNG       []byte
}

// ParseRequest reads a request from its JSON text: an object with exactly the
// string keys imagePath, maskPath and png, the last in padded standard base64
// without line ends. It keeps no reference to text. The error is a [*Refusal] with
// [InvalidRequest], or [PayloadTooLarge] for a text that is too long to hold a mask.
func ParseRequest(text []byte) (Request, error) {
	root, err := strictjson.Decode(text, strictjson.Limits{Bytes: maxText, Depth: 4, Keys: 16, Values: 16})
	if err != nil {
		return Request{}, malformed(err)
	}
	f := strictjson.Bind(root, "imagePath", "maskPath", "png")
	req := Request{ImagePath: stringOf(f, "imagePath"), MaskPath: stringOf(f, "maskPath")}
	encoded := stringOf(f, "png")
	if req.PNG, err = base64.StdEncoding.Strict().DecodeString(encoded); err != nil || strings.ContainsAny(encoded, "\r\n") {
		f.Invalid("png", "no padded base64 without line ends")
	}
	if err = f.Err(); err != nil {
		return Request{}, malformed(err)
	}
	return req, nil
}

// stringOf takes any string: U+0000 is a matter of the path rules.
func stringOf(f *strictjson.Fields, key string) string {
	v := f.Any(key)
	if v.Kind != strictjson.KindString {
		f.Invalid(key, "no string")
		return ""
	}
	return v.Text
}

func malformed(err error) error {
	var bad *strictjson.Error
	if errors.As(err, &bad) && bad.Code == strictjson.CodeFrameTooLarge {
		return &Refusal{Code: PayloadTooLarge, Err: err}
	}
	return &Refusal{Code: InvalidRequest, Err: err}
}

// checked gives a copy that the caller cannot change any more, or refuses.
func (req Request) checked(b Backend) (Request, error) {
	png, err := copyPNG(req.PNG)
	if err != nil {
		return Request{}, err
	}
	req.PNG = png
	if err = CheckPath(req.ImagePath); err != nil {
		return Request{}, err
	}
	if err = CheckPath(req.MaskPath); err != nil {
		return Request{}, err
	}
	want, err := b.MaskPath(req.ImagePath)
	if err != nil {
		return Request{}, err
	}
	if req.MaskPath != want {
		return Request{}, refuse(InvalidTarget, "it is not the name that the backend derives")
	}
	return req, nil
}

// copyPNG checks the bytes that it returns, not the caller's.
func copyPNG(data []byte) ([]byte, error) {
	if len(data) > MaxBytes {
		return nil, &Refusal{Code: PayloadTooLarge}
	}
	data = bytes.Clone(data)
	if !bytes.HasPrefix(data, []byte(signature)) {
		return nil, &Refusal{Code: InvalidPNG}
	}
	return data, nil
}
