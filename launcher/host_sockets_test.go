package launcher

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brainbox/internal/broker"
	"brainbox/internal/needs"
)

// The broker lives in the spawner, which gets the held folders by descriptor: the host may
// be of any size, and the name may lead elsewhere by then.
func TestHostConnectsListedSockets(t *testing.T) {
	needs.LandlockABI(t, 6)
	needs.Notify(t)
	curl := needs.Program(t, "curl")
	h := newHost(t)
	dir, err := os.MkdirTemp("", "bb-") //nolint:usetesting // t.TempDir's names are too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	serve := func(name string) (string, chan string) {
		path, asked := filepath.Join(dir, name), make(chan string, 8)
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				var b [256]byte
				n, _ := c.Read(b[:])
				asked <- string(b[:n])
				_, _ = c.Write([]byte("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi"))
				_ = c.Close()
			}
		}()
		return path, asked
	}
	yes, asked := serve("yes")
	no, never := serve("no")
	for range 2 { // the spawner is used again
		w := t.TempDir()
		f, p := planIn(t, "landlock", w, curl+" -sS --unix-socket "+no+" http://x/ >no; "+curl+" -sS --unix-socket "+yes+" http://x/ >yes", yes)
		s, err := h.Start(p, f, Options{Stdio: [3]int{0, 2, 2}})
		if err != nil {
			t.Fatal(err)
		}
		res, err := s.Wait()
		if err != nil || res.Status != 0 {
			t.Fatalf("Wait = %+v, %v", res, err)
		}
		if got, _ := os.ReadFile(w + "/yes"); string(got) != "hi" || !strings.HasPrefix(<-asked, "GET / ") {
			t.Errorf("the listed one answered %q", got)
		}
		if want := (broker.Stats{Connected: 1, Refused: 1}); res.Broker != want {
			t.Errorf("connects %+v, want %+v", res.Broker, want)
		}
	}
	if len(never) != 0 {
		t.Errorf("the other one was asked %q", <-never)
	}
}
