package run

import (
	"bytes"
	"testing"
)

// A ring keeps the end of what came, each byte with its stream.
func FuzzRing(f *testing.F) {
	f.Add([]byte{3, 1, 4, 0, 5, 9, 2, 6}, 5)
	f.Add([]byte{1}, -45)
	f.Add([]byte{3, 4}, 7) // exactly full
	f.Add(bytes.Repeat([]byte{1}, 300), 7)
	f.Add(bytes.Repeat([]byte{2, 1}, 5000), 9000)
	f.Fuzz(func(t *testing.T, sizes []byte, keep int) {
		if keep > 1<<16 || len(sizes) > 1<<14 {
			return
		}
		r := NewRing(keep)
		var all []byte // the low bit of each byte is its stream
		for i, n := range sizes {
			stream := Stream(i%2) + 1
			piece := make([]byte, n)
			for k := range piece {
				piece[k] = byte(len(all)+k)<<1 | byte(i%2)
			}
			all = append(all, piece...)
			if got := r.Add(stream, piece); got != int64(len(all)) {
				t.Fatalf("%d came, told %d", len(all), got)
			}
		}
		chunks, dropped := r.Chunks()
		var got []byte
		last := Stream(0)
		for _, c := range chunks {
			for _, b := range c.Data {
				if Stream(b&1)+1 != c.Stream {
					t.Fatalf("a byte of stream %d is told as %v", b&1+1, c.Stream)
				}
			}
			if c.Stream == last || len(c.Data) == 0 {
				t.Error("a chunk that is none of its own")
			}
			last, got = c.Stream, append(got, c.Data...)
		}
		if !bytes.HasSuffix(all, got) || dropped+int64(len(got)) != int64(len(all)) || len(chunks) > mostSpans {
			t.Errorf("kept %d of %d, dropped %d, %d chunks", len(got), len(all), dropped, len(chunks))
		}
		if want := min(len(all), max(keep, 1)); len(chunks) < mostSpans && len(got) != want {
			t.Errorf("kept %d, want %d", len(got), want)
		}
	})
}
