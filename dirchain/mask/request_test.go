package mask

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"brainbox/dirchain"
)

// picture is a PNG as far as it is looked at.
func picture(text string) []byte { return []byte(signature + text) }

// wire is the JSON text of a request.
func wire(image, mask string, png []byte) []byte {
	text, _ := json.Marshal(map[string]any{
		"imagePath": image, "maskPath": mask, "png": base64.StdEncoding.EncodeToString(png),
	})
	return text
}

func TestParseRequest(t *testing.T) {
	good := string(wire("a.png", "a-mask.png", picture("xy")))
	replace := func(old, text string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("%q is not in %s", old, good)
		}
		return strings.Replace(good, old, text, 1)
	}
	tests := []struct {
		name, text string
		want       Code
	}{
		{"bk/HM18 one key more", replace("{", `{"command":"x",`), InvalidRequest},
		{"a key in capitals", replace("imagePath", "ImagePath"), InvalidRequest},
		{"a key twice", replace("{", `{"maskPath":"a-mask.png",`), InvalidRequest},
		{"a key missing", replace(`"imagePath":"a.png",`, ""), InvalidRequest},
		{"a number", replace(`"a.png"`, "1"), InvalidRequest},
		{"null", replace(`"a-mask.png"`, "null"), InvalidRequest},
		{"a list of bytes", replace(`"png":"`, `"png":[1],"x":"`), InvalidRequest},
		{"an array", "[" + good + "]", InvalidRequest},
		{"something behind", good + "{}", InvalidRequest},
		{"no UTF-8", replace("a.png", "a\xff.png"), InvalidRequest},
		{"a lone surrogate", replace("a.png", `\ud800.png`), InvalidRequest},
		{"base64 without padding", replace("=", ""), InvalidRequest},
		{"base64 with a line end", replace(`"png":"`, `"png":"\n`), InvalidRequest},
		{"base64 of URLs", replace(`"png":"`, `"png":"-_--`), InvalidRequest},
		{"base64 with bits left over", replace("eQ==", "eR=="), InvalidRequest},
		{"empty", "", InvalidRequest},
		{"bk/HM3 a text longer than any request", strings.Repeat(" ", maxText+1), PayloadTooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseRequest([]byte(tt.text))
			if err == nil || CodeOf(err) != tt.want || got.PNG != nil || got.ImagePath != "" {
				t.Errorf("%+v, %v, want %s", got, err, tt.want)
			}
		})
	}
	got, err := ParseRequest([]byte(good))
	if err != nil || got.ImagePath != "a.png" || got.MaskPath != "a-mask.png" || !bytes.Equal(got.PNG, picture("xy")) {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err = ParseRequest([]byte(replace("a.png", `\u0000.png`))); err != nil || got.ImagePath != "\x00.png" {
		t.Errorf("bk/HM26 U+0000 is left to the path rules: %+v, %v", got, err)
	}
	for _, n := range []int{MaxBytes, MaxBytes + 1} { // one more is counted, not cut off
		if got, err = ParseRequest(wire(strings.Repeat("\x01", MaxPath), strings.Repeat("\x01", MaxPath), make([]byte, n))); err != nil || len(got.PNG) != n {
			t.Errorf("%d bytes: %d, %v", n, len(got.PNG), err)
		}
	}
}

func FuzzParseRequest(f *testing.F) {
	f.Add(wire("a.png", "a-mask.png", picture("x")))
	f.Add([]byte(`{"imagePath":"\u0000","maskPath":"","png":"iVBORw0KGgo=","command":1}`))
	f.Add([]byte(`[`))
	f.Fuzz(func(t *testing.T, text []byte) {
		req, err := ParseRequest(text)
		if err != nil {
			var r *Refusal
			if !errors.As(err, &r) || r.Code != InvalidRequest && r.Code != PayloadTooLarge {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		again, err := ParseRequest(wire(req.ImagePath, req.MaskPath, req.PNG))
		if err != nil || again.ImagePath != req.ImagePath || again.MaskPath != req.MaskPath || !bytes.Equal(again.PNG, req.PNG) {
			t.Errorf("%q: %+v, then %+v, %v", text, req, again, err)
		}
	})
}

// TestCodeOf: every sentinel of dirchain has a code, also as it comes wrapped.
func TestCodeOf(t *testing.T) {
	tests := map[Code][]error{
		Cancelled:         {context.Canceled, context.DeadlineExceeded},
		PolicyDenied:      {dirchain.ErrProtected},
		StaleBase:         {dirchain.ErrStale, fs.ErrExist, syscall.EEXIST},
		TopologyChanged:   {dirchain.ErrChanged},
		InvalidTarget:     {dirchain.ErrPath, dirchain.ErrOutside, dirchain.ErrLimit},
		PayloadTooLarge:   {dirchain.ErrTooLarge},
		AliasDenied:       {dirchain.ErrLink, dirchain.ErrNotDirectory, dirchain.ErrNotRegular, dirchain.ErrLinked, dirchain.ErrMount},
		MissingImage:      {&Refusal{Code: MissingImage}},
		ApplicationFailed: {dirchain.ErrMode, dirchain.ErrBusy, dirchain.ErrFilesystem, syscall.EIO, fs.ErrNotExist, fs.ErrClosed, errors.New("x")},
	}
	for want, errs := range tests {
		for _, err := range errs {
			for _, e := range []error{err, &dirchain.Error{Op: "write", Path: "p", Err: fmt.Errorf("x: %w", err)}, errors.Join(err, syscall.EIO)} {
				if got := CodeOf(e); got != want {
					t.Errorf("CodeOf(%v) = %s, want %s", e, got, want)
				}
			}
		}
	}
}

// TestCodeTexts: every code has a sentence of its own.
func TestCodeTexts(t *testing.T) {
	seen := map[string]Code{}
	for _, c := range []Code{
		AuthorityRevoked, Cancelled, MembershipDenied, InvalidRequest, PayloadTooLarge, InvalidPNG, InvalidTarget,
		PolicyDenied, AliasDenied, MissingImage, StaleBase, TopologyChanged, ApplicationFailed,
	} {
		if other, ok := seen[c.text()]; ok {
			t.Errorf("%s says what %s says", c, other)
		}
		seen[c.text()] = c
		if got := (&Refusal{Code: c}).Error(); got != "mask: "+c.text() {
			t.Errorf("%s: %q", c, got)
		}
	}
}
