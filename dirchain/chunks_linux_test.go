package dirchain

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
	"testing/iotest"
)

// sizes lie around those of the buffers.
var sizes = []int{0, 1, minPour, chunk - 1, chunk, chunk + 1, 2*chunk - 1, 2 * chunk, 3*chunk + 7}

// pattern is n bytes of which no two chunks are the same.
func pattern(n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(i*7 + i/chunk + i>>8)
	}
	return out
}

func TestContentOfAnySize(t *testing.T) {
	readers := map[string]func(b []byte) io.Reader{
		"that knows its length":           func(b []byte) io.Reader { return bytes.NewReader(b) },
		"that does not":                   func(b []byte) io.Reader { return io.MultiReader(bytes.NewReader(b)) },
		"that ends with its last bytes":   func(b []byte) io.Reader { return iotest.DataErrReader(bytes.NewReader(b)) },
		"that gives half of what fits in": func(b []byte) io.Reader { return iotest.HalfReader(bytes.NewReader(b)) },
	}
	for name, reader := range readers {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			r := open(t, dir, Options{SkipSync: true})
			for _, size := range sizes {
				testContent(t, r, dir+"/f", pattern(size), reader)
			}
		})
	}
}

// testContent writes a file, reads it, and puts the same content behind it.
func testContent(t *testing.T, r *Root, file string, data []byte, reader func([]byte) io.Reader) {
	t.Helper()
	sum, ctx := Sum(data), t.Context()
	wrong := Sum([]byte("something else"))
	req := WriteRequest{Mode: CreateOrReplace, Digest: &wrong, Content: reader(data)}
	if _, err := r.Write(ctx, "f", req); !errors.Is(err, ErrStale) {
		t.Errorf("%d bytes, another digest: %v, want %v", len(data), err, ErrStale)
	}
	req.Digest, req.Content = &sum, reader(data)
	got, err := r.Write(ctx, "f", req)
	if err != nil || got.SHA256 != sum || got.Size != int64(len(data)) {
		t.Fatalf("write of %d bytes: %+v, %v", len(data), got, err)
	}
	res, err := r.Read(ctx, "f", ReadRequest{})
	if err != nil || res.SHA256 != sum || !bytes.Equal(res.Data, data) || res.Truncated {
		t.Errorf("read of %d bytes: %d bytes, %v", len(data), len(res.Data), err)
	}
	twice := append(bytes.Clone(data), data...)
	got, err = r.Write(ctx, "f", WriteRequest{Mode: Append, Base: &sum, Digest: &sum, Content: reader(data)})
	if err != nil || got.SHA256 != Sum(twice) || got.Size != int64(len(twice)) {
		t.Errorf("append of %d bytes: %+v, %v", len(data), got, err)
	}
	if there, err := os.ReadFile(file); err != nil || !bytes.Equal(there, twice) {
		t.Errorf("after the append of %d bytes: %d bytes, %v", len(data), len(there), err)
	}
}

// TestReadOfAFileThatGrows: the size that was seen first is no reason to stop.
func TestReadOfAFileThatGrows(t *testing.T) {
	for _, size := range sizes {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(dir+"/f", pattern(size), 0o600); err != nil {
				t.Fatal(err)
			}
			r := open(t, dir, Options{})
			once := true
			r.hook = func(call string) error {
				if call != "pread" || !once {
					return nil
				}
				once = false
				f, err := os.OpenFile(dir+"/f", os.O_APPEND|os.O_WRONLY, 0)
				if err != nil {
					return err
				}
				_, err = f.WriteString("more")
				return errors.Join(err, f.Close())
			}
			if res, err := r.Read(t.Context(), "f", ReadRequest{}); !errors.Is(err, ErrChanged) {
				t.Errorf("%d bytes, %v, want %v", len(res.Data), err, ErrChanged)
			}
			r.hook = nil
			if res, err := r.Read(t.Context(), "f", ReadRequest{}); err != nil || len(res.Data) != size+4 {
				t.Errorf("undisturbed: %d bytes, %v, want %d", len(res.Data), err, size+4)
			}
		})
	}
}
