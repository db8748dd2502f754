package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/netask"
	"brainbox/launcher"
)

// esc/PX-25: whatever number of connections a program makes, and although nobody reads
// meanwhile, the end of the run is told, and how much is missing before it.
func TestTheLastStatusLineHasRoom(t *testing.T) {
	for name, ends := range map[string]func() (to, from int){
		"a pipe": func() (int, int) {
			var p [2]int
			if err := unix.Pipe2(p[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
				t.Fatal(err)
			}
			return p[1], p[0]
		},
		"a socket": func() (int, int) {
			p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
			if err != nil {
				t.Fatal(err)
			}
			return p[1], p[0]
		},
	} {
		t.Run(name, func(t *testing.T) {
			to, from := ends()
			reader := os.NewFile(uintptr(from), name)
			defer reader.Close()
			s := &statusLines{fd: to, socket: name == "a socket"}
			e := netask.Event{ID: 1, Path: "socks", Host: strings.Repeat("x", 7), Port: 1, Reason: "malformed", Rule: -1}
			for range 5000 {
				s.network(&e, "")
			}
			s.exited(&launcher.Result{After: &launcher.Aftermath{}})
			s.close()
			var got bytes.Buffer
			if _, err := got.ReadFrom(reader); err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSuffix(got.String(), "\n"), "\n")
			last := lines[len(lines)-1]
			if len(lines) < 10 || !strings.HasPrefix(last, `{"event":"exited"`) || strings.HasSuffix(last, `"dropped":0}`) {
				t.Errorf("%d lines, the last one %.200q", len(lines), last)
			}
		})
	}
}
