package supervise

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/spawn"
)

// relay copies one output of the program to where it belongs, so that its bytes can
// be counted or escaped, and so that the program never holds a descriptor that reads.
type relay struct {
	from, to *os.File
	theirs   *os.File // the program's end, closed after the start
	done     chan struct{}
}

// budget is what both outputs together may still write.
type budget struct {
	mu   sync.Mutex
	left int64
}

// take asks for n bytes and gives what is left of them.
func (b *budget) take(n int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	got := min(int64(n), b.left)
	b.left -= got
	return int(got)
}

// openRelays puts pipes in place of the outputs that must be relayed.
func (r *run) openRelays() error {
	all := r.job.OutputLimit > 0 || r.job.Sanitize
	for fd := 1; fd <= 2; fd++ {
		if !all && !r.job.Relay[fd] {
			continue
		}
		from, theirs, err := os.Pipe()
		if err != nil {
			return err
		}
		dup, err := unix.FcntlInt(uintptr(r.job.Spawn.Stdio[fd]), unix.F_DUPFD_CLOEXEC, 3)
		if err != nil {
			return errors.Join(os.NewSyscallError("fcntl", err), from.Close(), theirs.Close())
		}
		r.relays = append(r.relays, &relay{from: from, theirs: theirs, to: os.NewFile(uintptr(dup), "output"), done: make(chan struct{})})
		r.job.Spawn.Stdio[fd] = int(theirs.Fd())
		if n := r.job.Spawn.Namespaces; n != nil {
			n.Reopen[fd] = spawn.Reopen{} // the device itself would be a way round the pipe
		}
	}
	return nil
}

// startRelays copies until the last writer has gone; what is over the limit ends the run.
func (r *run) startRelays() {
	b := &budget{left: r.job.OutputLimit}
	if b.left <= 0 {
		b.left = 1<<63 - 1
	}
	for _, rl := range r.relays {
		_ = rl.theirs.Close()
		go rl.copy(b, r.job.Sanitize, &r.truncated, r.endLeader, &r.hold.output)
	}
}

const truncatedMark = "\n[brainbox: output limit reached, the rest is dropped]\n"

func (rl *relay) copy(b *budget, clean bool, truncated *atomic.Bool, over func(), through *gateway) {
	defer close(rl.done)
	buf := make([]byte, 32<<10)
	var esc escaper
	for {
		n, err := rl.from.Read(buf)
		got := b.take(n)
		out := buf[:got]
		if clean {
			out = esc.escape(out)
		}
		if werr := rl.write(out, through); werr != nil && got > 0 {
			_ = rl.from.Close() // the program sees EPIPE, as it would without us
			return
		}
		if got < n {
			if truncated.CompareAndSwap(false, true) {
				_ = rl.write([]byte(truncatedMark), through)
				over()
			}
			_, _ = io.Copy(io.Discard, rl.from)
			return
		}
		if err != nil {
			if left := esc.flush(); len(left) > 0 {
				_ = rl.write(left, through)
			}
			return
		}
	}
}

// write writes once what copies output is not held.
func (rl *relay) write(p []byte, through *gateway) error {
	through.enter()
	defer through.leave()
	_, err := rl.to.Write(p)
	return err
}

// finishRelays waits until everything that the program wrote has been passed on. When the
// tree has ended no writer is left; a survivor's writes are not waited for.
func (r *run) finishRelays(survivors bool) {
	for _, rl := range r.relays {
		if survivors {
			_ = rl.from.SetReadDeadline(time.Now().Add(drainTime))
		}
		<-rl.done
	}
}

// drainTime is how long what a survivor wrote is still passed on.
const drainTime = 100 * time.Millisecond

func (r *run) closeRelays() {
	for _, rl := range r.relays {
		_ = rl.theirs.Close()
		_ = rl.from.Close()
		_ = rl.to.Close()
	}
}
