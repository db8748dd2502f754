package policy

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// Line and column are those that counting from the start of the line gives, in whatever order
// offsets are asked for.
func TestPlaces(t *testing.T) {
	text := "a = 1\nüü = [1, 2, \"ß\"]\n\n日本 = \"語\" # x\nlast"
	var starts []int
	for i := range text {
		starts = append(starts, i)
	}
	starts = append(starts, len(text))
	b := &builder{text: []byte(text), lines: lineStarts([]byte(text))}
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		at := starts[r.IntN(len(starts))]
		before := text[:at]
		wantLine := strings.Count(before, "\n") + 1
		wantCol := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
		if line, col := b.place(at); line != wantLine || col != wantCol {
			t.Fatalf("offset %d after %+v: %d:%d, want %d:%d", at, b.last, line, col, wantLine, wantCol)
		}
	}
}

// The largest text, all on one line, is read in the time of its size: a project's file keeps
// nobody from starting. Counting each place from the start of the line takes minutes.
func TestManyValuesOnOneLine(t *testing.T) {
	text := []byte("version = 1\nx = [" + strings.Repeat("1,", maxText/2-100) + "]\n")
	done := make(chan *Error, 1)
	go func() {
		_, err := readTree(text)
		done <- err
	}()
	for begun := spent(t); ; {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			return
		case <-time.After(10 * time.Millisecond):
			if spent(t)-begun > 20*time.Second {
				t.Fatal("not read in 20 s")
			}
		}
	}
}

// spent is the processor time of this process so far: a machine that is busy with others does
// not make it longer.
func spent(t *testing.T) time.Duration {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
