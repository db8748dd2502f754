package dirchain

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// race exchanges two entries of a directory, until it is killed: DIRECTORY A B
// PAUSE. Between two exchanges it does nothing for up to PAUSE microseconds, so that
// writes are met at every place; 0 is as fast as it can.
func race(args []string) int {
	fd, err := unix.Open(args[0], unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 96
	}
	a, b := args[1], args[2]
	pause, err := strconv.Atoi(args[3])
	if err != nil {
		return 94
	}
	for n := 0; ; n++ {
		err = unix.Renameat2(fd, a, fd, b, unix.RENAME_EXCHANGE)
		if err != nil && !errors.Is(err, unix.ENOENT) { // a write may have its file aside
			fmt.Fprintln(os.Stderr, err)
			return 95
		}
		if n == 0 {
			_, _ = os.Stdout.WriteString("ready\n")
		}
		if pause > 0 {
			wait := time.Duration(rand.IntN(pause)) * time.Microsecond
			for began := time.Now(); time.Since(began) < wait; {
			}
		}
	}
}

// racer is one: what it exchanges in which directory.
type racer struct {
	dir, a, b string
	pause     int
}

// start runs a racer, which is at work when it returns.
func (c racer) start(t *testing.T, g ground) {
	t.Helper()
	background(t, strings.Join([]string{"race", g.in(c.dir), c.a, c.b, strconv.Itoa(c.pause)}, " "))
}

// background runs a child until the end of the test, once it says that it is ready.
func background(t *testing.T, spec string) {
	t.Helper()
	cmd := command(t, spec, false)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if _, err = io.ReadFull(out, make([]byte, len("ready\n"))); err != nil {
		t.Fatalf("%s: %v", spec, err)
	}
}

// TestRacerWithoutUs is the control: a program that writes by path, as everybody
// does, is led outside by the same racer.
func TestRacerWithoutUs(t *testing.T) {
	g := newGround(t)
	symlink(t, g.to("g/p"), g.in("g/link"))
	o := watch(t, g.out)
	racer{"g", "p", "link", 0}.start(t, g)
	deadline := time.Now().Add(time.Minute)
	for len(o.events(t)) == 0 {
		if time.Now().After(deadline) {
			t.Fatal("the racer leads nobody outside")
		}
		_ = os.WriteFile(filepath.Join(g.root, target), []byte("x"), 0o600)
	}
}
