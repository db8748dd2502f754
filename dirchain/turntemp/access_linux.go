package turntemp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"time"

	"brainbox/dirchain"

	"golang.org/x/sys/unix"
)

// Config says whose directory it is.
type Config struct {
	Turn      string // required: printable ASCII, at most 128 bytes
	Principal string
	Backend   string
	Sink      Sink         // nil: usage alone
	Log       *slog.Logger // for receipts that were lost; nil is silent
}

// Access is the right to one turn's temporary directory. The host makes it when the
// worker starts, and closes it when the worker has been reaped. It may be used by
// any number of goroutines.
type Access struct {
	cfg    Config
	root   *dirchain.Root
	limits dirchain.WalkLimits
	now    func() time.Time
	hook   func(point, path string) // tests only: between a look and what follows

	mu    sync.RWMutex // held for reading by each call: Close waits for them
	ended bool
}

// Limits of a call (contract brainkit §6.2).
const (
	MaxDepth   = 64 // directories
	MaxEntries = 100_000
	MaxTime    = 2 * time.Second
)

// Open opens the directory unsafePath, as [dirchain.SplitPath] takes it, beneath
// view, which is the root directory as the worker sees it. No component may be a
// link; a mount on the way is entered, since the directory is one as a rule.
func Open(view *os.File, unsafePath string, cfg Config) (*Access, error) {
	parts, err := dirchain.SplitPath(unsafePath)
	if err != nil {
		return nil, named("open", err)
	}
	dir, err := descend(int(view.Fd()), parts)
	runtime.KeepAlive(view) // its number must not become another file's meanwhile
	if err != nil {
		return nil, named("open", fmt.Errorf("%q: %w", unsafePath, err))
	}
	defer dir.Close()
	return New(dir, cfg)
}

// New takes a directory that the host has open, and duplicates its descriptor,
// which must not be O_PATH.
func New(dir *os.File, cfg Config) (*Access, error) {
	if !validID(cfg.Turn) {
		return nil, named("open", fmt.Errorf("turn id %q: it is empty, too long or not printable", show(cfg.Turn)))
	}
	root, err := dirchain.NewRoot(dir, dirchain.Options{})
	if err != nil {
		return nil, named("open", err)
	}
	limits := dirchain.WalkLimits{Depth: MaxDepth, Entries: MaxEntries, Time: MaxTime}
	return &Access{cfg: cfg, root: root, limits: limits, now: time.Now}, nil
}

// validID accepts what needs no escaping anywhere.
func validID(id string) bool {
	return id != "" && len(id) <= 128 && show(id) == id
}

// descend opens one directory after the other and follows no link.
func descend(dir int, parts []string) (*os.File, error) {
	held := -1
	for _, name := range parts {
		fd, err := openDir(dir, name)
		if held >= 0 {
			_ = unix.Close(held)
		}
		if err != nil {
			return nil, err
		}
		dir, held = fd, fd
	}
	return os.NewFile(uintptr(held), parts[len(parts)-1]), nil
}

func openDir(dir int, name string) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR): // a link is ENOTDIR with both flags
			return -1, errors.Join(dirchain.ErrNotDirectory, err)
		}
		return fd, os.NewSyscallError("openat", err)
	}
}

// Turn is the turn that the access is bound to.
func (a *Access) Turn() string { return a.cfg.Turn }

// Close ends the access: running calls finish first, later ones are [ErrEnded]. A
// second Close is ErrEnded too.
func (a *Access) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended {
		return named("close", ErrEnded)
	}
	a.ended = true
	return named("close", a.root.Close())
}

// admit judges a call before anything is looked at. The caller holds mu.
func (a *Access) admit(turn string) (outcome string, err error) {
	switch {
	case turn != a.cfg.Turn:
		return RefusedTurn, ErrTurn
	case a.ended:
		return RefusedEnded, ErrEnded
	}
	return "", nil
}

// begin is an empty record of a call.
func (a *Access) begin(turn, operation string) PurgeRecord {
	rec := PurgeRecord{
		Turn: a.cfg.Turn, Principal: a.cfg.Principal, Backend: a.cfg.Backend,
		Time: a.now(), Operation: operation, Dev: a.root.Identity().Dev, Ino: a.root.Identity().Ino,
	}
	if turn != a.cfg.Turn {
		rec.Asked = show(turn)
	}
	return rec
}

// refuse records a call that was not begun.
func (a *Access) refuse(ctx context.Context, rec *PurgeRecord, outcome string, err error) error {
	rec.Outcome, rec.Detail = outcome, show(err.Error())
	a.record(ctx, rec)
	return err
}

// record hands a record to the sink. What was done is done, so a failure is told and
// no more.
func (a *Access) record(ctx context.Context, rec *PurgeRecord) {
	rec.Lost = ErrSink
	if a.cfg.Sink != nil {
		given := *rec
		given.Lost = nil
		rec.Lost = a.cfg.Sink.Record(context.WithoutCancel(ctx), given)
	}
	if rec.Lost != nil && a.cfg.Log != nil {
		a.cfg.Log.Error("turn temp: receipt lost", "turn", rec.Turn, "operation", rec.Operation,
			"outcome", rec.Outcome, "removed", rec.Removed, "error", rec.Lost)
	}
}

func (a *Access) at(point, path string) {
	if a.hook != nil {
		a.hook(point, path)
	}
}
