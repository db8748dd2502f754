package supervise

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/hold"
	"brainbox/internal/needs"
)

// ways runs a test with all the ways in which a program is held.
func ways(t *testing.T, test func(t *testing.T, s spec)) {
	needs.Kernel(t)
	t.Run("as a child", func(t *testing.T) { test(t, spec{Hold: true}) })
	t.Run("in namespaces", func(t *testing.T) {
		needs.Userns(t)
		test(t, spec{Hold: true, Inside: true})
	})
	t.Run("in a cgroup", func(t *testing.T) {
		needs.Root(t)
		needs.CgroupKill(t)
		test(t, spec{Hold: true, Cgroup: cgroupDir(t)})
	})
}

// writers are processes that write to the terminal in every place of a tree: a child, one in
// another session, one whose parent has gone, and one that blocks every signal that can be.
const writers = `
w='while :; do echo noise; done'
sh -c "$w" &
setsid sh -c "$w" &
(setsid sh -c "(sh -c '$w' &)" &)
sh -c "trap '' TSTP TTOU TTIN INT TERM HUP CONT; $w" &
`

// TestHeldProgramIsSilent: what is held neither writes nor reads, and goes on afterwards.
func TestHeldProgramIsSilent(t *testing.T) { ways(t, heldProgramIsSilent) }

func heldProgramIsSilent(t *testing.T, s spec) {
	mark := newMark(t)
	s.Mark, s.Script = mark, writers+`sh -c 'while :; do echo noise; done'`
	x := openSession(t, s)
	x.see("started")
	settle(t, mark, 5)
	for range 3 {
		x.see("noise")
		release := x.held()
		if !x.silent() {
			t.Error("a held program writes")
		}
		if n, all := stoppedOf(t, mark); s.Cgroup == "" && n != all || all < 5 {
			t.Errorf("%d of %d are stopped", n, all)
		}
		if len(x.lost) > 0 {
			t.Error("it is said to be lost")
		}
		release()
		eventually(t, "nobody is stopped", func() bool { n, _ := stoppedOf(t, mark); return n == 0 })
	}
	x.see("noise")
	x.typed("\x03")
	x.event("ended 130 foreground=true raw=false")
	if all := marked(t, mark); len(all) > 0 {
		t.Errorf("left: %v", all)
	}
}

// TestStopKeyWhileHeld: ^Z stops the job though the program cannot stop any more, and fg has the
// prompt shown anew.
func TestStopKeyWhileHeld(t *testing.T) { ways(t, stopKeyWhileHeld) }

func stopKeyWhileHeld(t *testing.T, s spec) {
	mark := newMark(t)
	s.Mark, s.Script = mark, `sh -c 'exec sleep 1000' & setsid sleep 1000 & echo ready; until read -r x; do :; done; echo "read $x"; exit 7`
	x := openSession(t, s)
	x.see("started", "ready")
	for range 2 {
		release := x.held()
		x.typed("\x1a")
		x.event("stopped foreground=true raw=false")
		x.order("fg")
		if s.Cgroup == "" {
			x.isLost() // the shell has continued the whole group
		}
		release()
		eventually(t, "nobody is stopped", func() bool { n, all := stoppedOf(t, mark); return n == 0 && all >= 3 })
	}
	eventually(t, "the program has the terminal", func() bool { return x.owns(mark) })
	x.typed("\x1a") // the control: without a hold it is the program that stops
	x.event("stopped foreground=true raw=false")
	x.order("fg")
	x.typed("line\n")
	x.see("read line")
	x.event("ended 7 foreground=true raw=false")
	if all := marked(t, mark); len(all) > 0 {
		t.Errorf("left: %v", all)
	}
}

// TestInterruptWhileHeld: ^C has the prompt taken away, so that the program can act on it.
func TestInterruptWhileHeld(t *testing.T) { ways(t, interruptWhileHeld) }

func interruptWhileHeld(t *testing.T, s spec) {
	s.Script = `trap 'echo interrupted; trap - INT' INT; echo ready; while :; do sleep 0.05; done`
	x := openSession(t, s)
	x.see("started", "ready")
	release := x.held()
	x.typed("\x03")
	x.isLost()
	release()
	// Not before it has acted, for which it has a while: on a busy machine more than one.
	acted := false
	for tries := 0; !acted && tries < 30; tries++ {
		if release = x.held(); !x.shows("interrupted", time.Second) {
			release()
			continue
		}
		acted = true
	}
	if !acted {
		t.Fatal("it did not act")
	}
	x.typed("\x03")
	x.isLost()
	release()
	x.event("ended 130 foreground=true raw=false")
}

// TestEndWhileHeld: a program that is killed while it is held ends its run, with all of its
// tree, and the hold with it.
func TestEndWhileHeld(t *testing.T) { ways(t, endWhileHeld) }

func endWhileHeld(t *testing.T, s spec) {
	mark := newMark(t)
	s.Mark, s.Script = mark, writers+`echo "leader $$"; exec sleep 1000`
	x := openSession(t, s)
	x.see("started", "leader")
	leader := func() (pid int) {
		for n := range marked(t, mark) {
			if name, err := os.ReadFile("/proc/" + strconv.Itoa(n) + "/cmdline"); err == nil && strings.HasPrefix(string(name), "sleep") {
				pid = n
			}
		}
		return pid
	}
	eventually(t, "all are there", func() bool { return leader() != 0 }) // after its execve
	settle(t, mark, 5)
	release := x.held()
	if err := unix.Kill(leader(), unix.SIGKILL); err != nil {
		t.Error(err)
	}
	x.event("ended 137 foreground=true raw=false")
	release()
	if all := marked(t, mark); len(all) > 0 {
		t.Errorf("left: %v", all)
	}
	if _, err := x.hold.Hold(t.Context()); !errors.Is(err, hold.ErrGone) {
		t.Errorf("error %v", err)
	}
	if x.hold.Owns(2) {
		t.Error("a run that is over owns a group")
	}
}

// TestAskerIsGone: the end of who asks releases.
func TestAskerIsGone(t *testing.T) { ways(t, askerIsGone) }

func askerIsGone(t *testing.T, s spec) {
	mark := newMark(t)
	s.Mark, s.Script = mark, `sleep 1000 & echo ready; read -r x; exit 7`
	x := openSession(t, s)
	x.see("started", "ready")
	x.held()
	x.hold.Close()
	eventually(t, "nobody is stopped", func() bool { n, all := stoppedOf(t, mark); return n == 0 && all == 2 })
	x.typed("\n")
	x.event("ended 7 foreground=true raw=false")
}

// TestTimeoutWhileHeld: the time limit ends a run whatever the prompt does.
func TestTimeoutWhileHeld(t *testing.T) { ways(t, timeoutWhileHeld) }

func timeoutWhileHeld(t *testing.T, s spec) {
	mark := newMark(t)
	s.Mark, s.Script, s.Timeout, s.KillAfter = mark, "sleep 1000 & echo ready; sleep 1000", 5*time.Second, 500*time.Millisecond
	x := openSession(t, s)
	x.see("started", "ready")
	x.held()
	x.isLost()
	x.event("ended 124 foreground=true raw=false")
	if all := marked(t, mark); len(all) > 0 {
		t.Errorf("left: %v", all)
	}
}

// TestWhoWasStoppedStaysSo: a process that the program itself has stopped is not continued.
func TestWhoWasStoppedStaysSo(t *testing.T) { ways(t, whoWasStoppedStaysSo) }

func whoWasStoppedStaysSo(t *testing.T, s spec) {
	mark := newMark(t)
	s.Mark, s.Script = mark, `sleep 1000 & sleep 1001 & kill -STOP $!; echo ready; read -r x; exit 7`
	x := openSession(t, s)
	x.see("started", "ready")
	one := func() bool { n, all := stoppedOf(t, mark); return n == 1 && all == 3 }
	eventually(t, "one is stopped", one)
	x.held()()
	eventually(t, "one is stopped", one)
	time.Sleep(50 * time.Millisecond)
	if !one() {
		t.Error("the stopped one was continued")
	}
	x.typed("\n")
	x.event("ended 7 foreground=true raw=false")
}

// TestHoldOfManyProcesses: 500 processes are held in time, and all go on.
func TestHoldOfManyProcesses(t *testing.T) { ways(t, holdOfManyProcesses) }

func holdOfManyProcesses(t *testing.T, s spec) {
	mark, n := newMark(t), "500"
	if s.Cgroup != "" || s.Inside {
		n = "100" // to make them is what takes the time
	}
	s.Args = []string{n}
	s.Mark, s.Script = mark, `i=0; while [ $i -lt $1 ]; do sleep 1000 & i=$((i+1)); done; echo ready; read -r x; exit 7`
	x := openSession(t, s)
	x.see("started", "ready")
	begun := time.Now()
	release := x.held()
	t.Logf("held after %v", time.Since(begun))
	if n, all := stoppedOf(t, mark); strconv.Itoa(all-1) != s.Args[0] || s.Cgroup == "" && n != all {
		t.Errorf("%d of %d are stopped", n, all)
	}
	release()
	eventually(t, "nobody is stopped", func() bool { n, _ := stoppedOf(t, mark); return n == 0 })
	x.typed("\n")
	x.event("ended 7 foreground=true raw=false")
}

// TestWhoContinuesOthers: processes that continue each other as fast as they can are held, or
// it is said that they are not; never are they left stopped.
func TestWhoContinuesOthers(t *testing.T) { ways(t, whoContinuesOthers) }

func whoContinuesOthers(t *testing.T, s spec) {
	mark := newMark(t)
	s.Mark, s.Script = mark, `
for i in 1 2 3; do sh -c 'while :; do kill -CONT -1 2>/dev/null; echo noise; done' & done
[ "$1" ] || while :; do true & true & wait; done
read -r x; exit 7`
	if !s.Inside {
		// Elsewhere -1 is everybody.
		s.Script = strings.ReplaceAll(s.Script, "kill -CONT -1", "kill -CONT 0")
	}
	x := openSession(t, s)
	x.see("started", "noise")
	done := make(chan struct{})
	go func() { // the screen has to be read
		defer close(done)
		for {
			if _, err := x.screen.ReadByte(); err != nil {
				return
			}
		}
	}()
	for range 5 {
		begun := time.Now()
		release, err := x.hold.Hold(t.Context())
		if d := time.Since(begun); d > holdWait+patience {
			t.Errorf("it took %v", d)
		}
		if err != nil {
			t.Log(err)
			continue
		}
		eventually(t, "all are stopped, or it is said that they are not", func() bool {
			n, all := stoppedOf(t, mark)
			return s.Cgroup != "" || n == all || len(x.lost) > 0
		})
		release()
	}
	eventually(t, "nobody is stopped", func() bool { n, _ := stoppedOf(t, mark); return n == 0 })
	x.typed("\x03")
	x.event("ended 130 foreground=true raw=false")
	_ = x.master.Close()
	<-done
	if all := marked(t, mark); len(all) > 0 {
		t.Errorf("left: %v", all)
	}
}
