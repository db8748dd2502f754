package hostask

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzDecodeReply: what is read as a reply is written as one line that is read the same.
func FuzzDecodeReply(f *testing.F) {
	for _, r := range []Reply{{}, {Error: "no", Hint: "so", Warnings: []string{"a", "b\n"}}} {
		f.Add(r.Encode())
	}
	f.Add([]byte(`{"protocol":1}`))
	f.Add([]byte("null\n"))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := DecodeReply(line)
		if err != nil {
			return
		}
		again, err := DecodeReply(r.Encode())
		if err != nil || !cmp.Equal(r, again) {
			t.Errorf("%+v is read back as %+v, %v", r, again, err)
		}
	})
}
