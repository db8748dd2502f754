package pipe

import (
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// What b has said when it is at its end is passed on though ctx has ended; one that goes on is
// cut off after a moment.
func TestBothPassesOnLastWords(t *testing.T) {
	for _, ends := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			a, client := net.Pipe()
			b, program := net.Pipe()
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			over := make(chan struct{})
			go func() {
				defer close(over)
				Both(ctx, a, b)
			}()
			go func() {
				_, _ = io.WriteString(program, "last words")
				if ends {
					_ = program.Close()
				}
			}()
			begun := time.Now()
			time.Sleep(lastWords / 2) // a client that is slow
			got := make([]byte, 10)
			if _, err := io.ReadFull(client, got); err != nil || string(got) != "last words" {
				t.Errorf("ends: %v: the client got %q, %v", ends, got, err)
			}
			if _, err := client.Read(got); err == nil {
				t.Errorf("ends: %v: there is more", ends)
			}
			<-over
			if took := time.Since(begun); ends && took != lastWords/2 || !ends && took != lastWords {
				t.Errorf("ends: %v: it took %v", ends, took)
			}
			_ = program.Close()
			_ = client.Close()
		})
	}
}
