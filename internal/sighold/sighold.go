//go:build amd64 || arm64

package sighold

import (
	"encoding/binary"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sigaction is struct sigaction as rt_sigaction(2) takes it on amd64 and arm64. The
// library's differs.
type sigaction struct {
	handler, flags, restorer uintptr
	mask                     uint64
}

const (
	saOnStack  = 0x08000000 // a goroutine's stack has no room for a frame
	saRestart  = 0x10000000
	saRestorer = 0x04000000
	sigIgnore  = 1
)

// noted has bit n set when signal n came. Written by the handler, on any thread.
var noted uint64

// wake is an eventfd that the handler writes to, 0 before there is one. It is never closed:
// a handler that is still running would write to what has its number by then.
var wake int32

// one guards the dispositions and wake: there is one of each in a process.
var one sync.Mutex

// told is who is told of what comes.
var told struct {
	sync.Mutex
	to      func(unix.Signal)
	reading bool // the goroutine that tells is there
}

// Held are the signals that Hold took.
type Held struct {
	sigs []unix.Signal
	old  []sigaction
}

// Hold has the process take note of sigs (numbers below 64) instead of acting on them,
// on whatever thread they come, until Release. A signal that the process ignores stays
// ignored. A child that is forked meanwhile has to set its dispositions itself. One Hold
// at a time: another waits. An error is one of eventfd(2).
func Hold(sigs ...unix.Signal) (*Held, error) {
	one.Lock()
	if wake == 0 {
		fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
		if err != nil {
			one.Unlock()
			return nil, os.NewSyscallError("eventfd2", err)
		}
		wake = int32(fd)
	}
	atomic.StoreUint64(&noted, 0) // of a handler that was late for the Release before
	h := &Held{}
	act := sigaction{handler: notePC(), flags: saOnStack | saRestart | saRestorer, restorer: backPC(), mask: ^uint64(0)}
	for _, sig := range sigs {
		var old sigaction
		if set(sig, nil, &old); old.handler == sigIgnore {
			continue
		}
		set(sig, &act, nil)
		h.sigs, h.old = append(h.sigs, sig), append(h.old, old)
	}
	return h, nil
}

// Came returns the signals that came and were not told yet, each once.
func (h *Held) Came() (came []unix.Signal) {
	bits := atomic.SwapUint64(&noted, 0)
	for _, sig := range h.sigs {
		if bits&(1<<uint(sig)) != 0 {
			came = append(came, sig)
		}
	}
	return came
}

// Pass has to be called for every signal that comes from now on, until Release, one at a time
// and from a goroutine of its own. to must not call Release.
func (h *Held) Pass(to func(unix.Signal)) {
	told.Lock()
	defer told.Unlock()
	told.to = to
	if !told.reading {
		told.reading = true
		go tell(int(wake))
	}
	awake(int(wake)) // what came before is told too
}

// Release puts the dispositions back and returns the signals that came and were not told,
// each once. One that comes while Release runs is returned, or treated as before Hold, or
// lost if another thread is in its handler just then. Nobody is told anything any more when it returns.
func (h *Held) Release() (came []unix.Signal) {
	told.Lock()
	told.to = nil
	told.Unlock()
	for i, sig := range h.sigs {
		set(sig, &h.old[i], nil)
	}
	came = h.Came()
	one.Unlock()
	return came
}

// tell never ends: a process that ran one program may run another.
func tell(fd int) {
	var count [8]byte
	for {
		if _, err := unix.Read(fd, count[:]); err != nil && !errors.Is(err, unix.EINTR) {
			return // no eventfd fails
		}
		told.Lock()
		if told.to != nil {
			bits := atomic.SwapUint64(&noted, 0)
			for sig := unix.Signal(1); bits>>uint(sig) != 0; sig++ {
				if bits&(1<<uint(sig)) != 0 {
					told.to(sig)
				}
			}
		}
		told.Unlock()
	}
}

// awake makes tell look.
func awake(fd int) {
	_, _ = unix.Write(fd, binary.NativeEndian.AppendUint64(nil, 1))
}

// set is rt_sigaction(2). It fails for no signal that a process may handle.
func set(sig unix.Signal, to, old *sigaction) {
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig),
		uintptr(unsafe.Pointer(to)), uintptr(unsafe.Pointer(old)), unsafe.Sizeof(to.mask), 0, 0)
}

// notePC and backPC are the addresses of the handler and of its return.
func notePC() uintptr
func backPC() uintptr
