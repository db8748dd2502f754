package spawn

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// object is what a descriptor or a path leads to.
func object(t testing.TB, st unix.Stat_t, err error) [2]uint64 {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return [2]uint64{st.Dev, st.Ino}
}

func objectOf(t testing.TB, fd int) [2]uint64 {
	t.Helper()
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	return object(t, st, err)
}

func objectAt(t testing.TB, path string) [2]uint64 {
	t.Helper()
	var st unix.Stat_t
	err := unix.Stat(path, &st)
	return object(t, st, err)
}

// networked is a start whose program lists its descriptors and waits for input.
func networked(t *testing.T, hook func(user, net int) error) *Request {
	t.Helper()
	m := newRoom(t)
	m.ns.Net, m.ns.Loopback, m.ns.Network = true, true, hook
	return m.request("ls -l /proc/self/fd; cat /proc/1/ns/net 2>&1; read x")
}

// The hook gets the namespaces that the program then runs in, once; they are closed
// afterwards, and nothing of them reaches the program.
func TestNetworkHook(t *testing.T) {
	calls := 0
	r := networked(t, func(u, n int) error {
		calls++
		for _, fd := range []int{u, n} {
			if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
				t.Errorf("descriptor %d stays open over an execve: %#x, %v", fd, flags, err)
			}
		}
		return nil
	})
	before := len(openFDs(t))
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer inW.Close()
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer outR.Close()
	r.Stdio = [3]int{int(inR.Fd()), int(outW.Fd()), int(outW.Fd())}
	c := startIn(t, r)
	_ = errors.Join(inR.Close(), outW.Close())
	if calls != 1 {
		t.Fatalf("called %d times", calls)
	}
	// The init's connection, the two pidfds and our ends of two pipes are new. A file that an
	// earlier test has left to the collector may be closed meanwhile.
	if now := len(openFDs(t)); now > before+5 {
		t.Errorf("%d descriptors, want %d", now, before+5)
	}
	_, _ = inW.WriteString("\n")
	got := ""
	for b := make([]byte, 4096); ; {
		n, err := outR.Read(b)
		if got += string(b[:n]); err != nil {
			break
		}
	}
	if strings.Contains(got, "net:[") || strings.Contains(got, "user:[") || strings.Count(got, "->") != 4 {
		t.Errorf("the program's descriptors:\n%s", got)
	}
	ended(t, c)
}

// What it gets are the namespaces of the program, judged while that runs.
func TestNetworkHookLeadsToTheProgram(t *testing.T) {
	var user, net [2]uint64
	r := networked(t, func(u, n int) error {
		user, net = objectOf(t, u), objectOf(t, n)
		return nil
	})
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer inR.Close()
	defer inW.Close()
	r.Stdio[0] = int(inR.Fd())
	c := startIn(t, r)
	for kind, got := range map[string][2]uint64{"user": user, "net": net} {
		// As an ordinary user /proc shows the program's, which is dumpable, not the init's.
		if want := objectAt(t, fmt.Sprintf("/proc/%d/ns/%s", c.PID, kind)); got != want {
			t.Errorf("%s namespace %v, the program's is %v", kind, got, want)
		}
		if own := objectAt(t, "/proc/self/ns/"+kind); got == own {
			t.Errorf("the %s namespace is the caller's", kind)
		}
	}
}

// An error ends the start: it comes back, and nothing is left.
func TestNetworkHookEndsTheStart(t *testing.T) {
	w := t.TempDir()
	reason := errors.New("no routes today")
	r := everything(t, w)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, fails := range []bool{true, false} {
		r.Namespaces.Network = func(int, int) error {
			if fails {
				return reason
			}
			return nil
		}
		before := state(t)
		c, err := Start(r)
		if fails {
			if !errors.Is(err, reason) || !strings.HasPrefix(err.Error(), "network: ") || c != nil {
				t.Errorf("Start = %v, %v", c, err)
			}
			noChild(t)
			if _, err := os.Stat(w + "/ran"); err == nil {
				t.Error("the program ran")
			}
			if after := state(t); after.fds > before.fds || after.mounts != before.mounts {
				t.Errorf("left: %+v, before %+v", after, before)
			}
			continue
		}
		if err != nil { // positive control
			t.Fatal(err)
		}
		ended(t, c)
		c.Init.End()
		unix.Close(c.PidFD)
		read(t, w+"/ran")
	}
}

// A trial of what is offered starts nothing, so there is nothing to call it for.
func TestTryCallsNoHook(t *testing.T) {
	n := newRoom(t).ns
	n.Net, n.Network = true, func(int, int) error { return errors.New("called") }
	if err := Try(n); err != nil {
		t.Error(err)
	}
}

// Without a network of its own there is nothing to call it with.
func TestNetworkHookNeedsANetwork(t *testing.T) {
	n := &Namespaces{Network: func(int, int) error { return nil }}
	if n.check(false) == nil {
		t.Error("accepted")
	}
	if n.Net = true; n.check(false) != nil {
		t.Error("with one: refused")
	}
}
