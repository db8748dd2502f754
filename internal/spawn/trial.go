package spawn

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Trial is a short list of calls that [TryCalls] makes in the finished confinement.
type Trial []TrialCall

// TrialCall is one raw system call of a trial. An argument that Data has bytes for is the
// address of a copy of them; a path ends in a NUL byte of its own. Argument number First-1
// is what the first call of the trial gave, such as a socket; 0: none is. Argument number
// Out-1 is the address of OutSize bytes that the kernel fills, such as a struct stat.
type TrialCall struct {
	Nr    uintptr
	Args  [6]uintptr
	Data  [6][]byte
	First int
	Out   int
}

// Answer is what the kernel said to one call of a trial. Not Made: the trial ended before, as
// when the filter kills whoever makes the call.
type Answer struct {
	Made  bool
	Value int32
	Errno syscall.Errno
	Out   []byte // what the kernel wrote, with TrialCall.Out; zero where it wrote nothing
}

// OutSize is how much a call of a trial can be told, in bytes.
const OutSize = 256

// cell is what the child keeps of an answer, in memory that it shares with the caller even
// where the init lies between them.
type cell struct {
	made, value, errno, _ int32
	out                   [OutSize]byte
}

// trials is Request.trials: what to call, and where the answers go.
type trials struct {
	list  []Trial
	cells []cell // not the collector's: it stays where it is
}

// TryCalls makes calls under exactly the confinement of r, one trial after the other in one
// process, and gives an answer for each call of each trial. No program is executed: where
// execve(2) would come the process ends. It has every signal blocked until then. What a trial
// leaves open or has made is there for the next one.
//
// Errors are those of Start: nothing was tried then, or a trial ended the process by another
// way than a signal. With Request.Listener a call that is notified would wait for ever, so
// none may be made: that is for the caller to know.
func TryCalls(r *Request, list []Trial) (answers [][]Answer, err error) {
	n := 0
	for _, t := range list {
		n += len(t)
	}
	size := (n + 1) * int(unsafe.Sizeof(cell{}))
	shared, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	defer func() { _ = unix.Munmap(shared) }()
	try := *r
	try.trials = &trials{list: list, cells: unsafe.Slice((*cell)(unsafe.Pointer(&shared[0])), n+1)}
	if err := try.ended(); err != nil {
		return nil, err
	}
	return try.trials.answers(), nil
}

// ended starts what cannot become a program, and waits for its end.
func (r *Request) ended() error {
	runtime.LockOSThread() // with DieWithParent it ends with the thread that made it
	defer runtime.UnlockOSThread()
	child, err := Start(r)
	var e *Error
	switch {
	case errors.As(err, &e) && e.Step == StepTried:
		return nil
	case err != nil:
		return err
	}
	// It ended without a word: the filter killed it.
	if child.Init != nil {
		child.Init.End()
		unix.Close(child.PidFD)
	} else {
		child.reap()
	}
	if r.Listener {
		unix.Close(child.Listener)
	}
	return nil
}

// trial adds the calls, and the end.
func (j *job) trial(t *trials) error {
	at := 0
	for _, calls := range t.list {
		first := &t.cells[at]
		for i := range calls {
			p := &calls[i]
			if !p.valid() || p.First > 0 && i == 0 {
				return fmt.Errorf("spawn: the trial of call %d takes no first result as argument %d, or nothing as %d", p.Nr, p.First, p.Out)
			}
			c := j.add(StepTried, "trial", p.Nr, p.Args[:]...)
			c.want, c.errs[0] = wantAnswer, addr(&t.cells[at])
			for n, b := range p.Data {
				if b != nil {
					c.a[n] = j.text(string(b))
				}
			}
			if p.First > 0 {
				c.a[p.First-1] = addr(&first.value)
				c.cells(p.First - 1)
			}
			if p.Out > 0 {
				c.a[p.Out-1] = addr(&t.cells[at].out[0])
			}
			at++
		}
	}
	j.add(StepTried, "the end of a trial", 0).want = wantEnd
	return nil
}

func (p *TrialCall) valid() bool {
	return p.First >= 0 && p.First <= len(p.Args) && p.Out >= 0 && p.Out <= len(p.Args)
}

func (t *trials) answers() [][]Answer {
	all, at := make([][]Answer, len(t.list)), 0
	for i := range t.list {
		for range t.list[i] {
			c := &t.cells[at]
			a := Answer{Made: c.made != 0, Value: c.value, Errno: syscall.Errno(c.errno)}
			if t.list[i][len(all[i])].Out > 0 {
				a.Out = append(a.Out, c.out[:]...)
			}
			all[i] = append(all[i], a)
			at++
		}
	}
	return all
}

// tryCall makes one call of a trial and keeps the answer. A failed call's value is -1, which
// is no descriptor for those that follow.
//
//go:norace
//go:nosplit
//go:nocheckptr
func tryCall(c *call) {
	r, _, e := syscall.RawSyscall6(c.nr, argument(c, 0), argument(c, 1), argument(c, 2),
		argument(c, 3), argument(c, 4), argument(c, 5))
	k := *(**cell)(unsafe.Pointer(&c.errs[0]))
	k.value, k.errno, k.made = int32(r), int32(e), 1
}
