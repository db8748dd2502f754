package turntemp

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"time"

	"brainbox/dirchain"
	"brainbox/internal/strictjson"
)

// Usage is what lies in the directory, the directory itself left out.
type Usage struct {
	Bytes       int64 // sum of the sizes of what is no directory, a link's own included
	BlockBytes  int64 // sum of the blocks in use by it
	Files       int   // names of what is no directory
	Directories int
	Oldest      time.Time // modification time of the oldest of Files, in the years 1 to 9999; zero without any
	Unread      int       // directories and files that could not be looked at
	Truncated   bool      // a limit was met: there is more
}

// Usage counts. A file with several names in the directory counts as one in bytes.
func (a *Access) Usage(ctx context.Context, turn string) (Usage, error) {
	u, err := a.usage(ctx, turn)
	return u, named(OpUsage, err)
}

func (a *Access) usage(ctx context.Context, turn string) (Usage, error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if outcome, err := a.admit(turn); err != nil {
		rec := a.begin(turn, OpUsage)
		return Usage{}, a.refuse(ctx, &rec, outcome, err)
	}
	c := counter{mount: a.root.Identity().Mount, seen: map[dirchain.Identity]bool{}}
	err := a.root.Walk(ctx, "", a.limits, func(e dirchain.Entry) error {
		a.at("visit", e.Path)
		return c.add(e)
	})
	if errors.Is(err, dirchain.ErrLimit) {
		c.Truncated, err = true, nil
	}
	return c.Usage, err
}

// counter adds up. Its memory grows with the files of several names alone.
type counter struct {
	Usage
	mount uint64 // what is mounted on a file is not in the directory
	seen  map[dirchain.Identity]bool
}

func (c *counter) add(e dirchain.Entry) error {
	if e.IsDir() {
		if c.Directories++; e.Err != nil && !errors.Is(e.Err, dirchain.ErrLimit) {
			c.Unread++
		}
		return nil
	}
	st, err := e.Stat()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil, st.ID.Mount != c.mount:
		c.Unread++
		return nil
	}
	c.Files++
	if at := modified(st); c.Oldest.IsZero() || at.Before(c.Oldest) {
		c.Oldest = at
	}
	if st.Links > 1 {
		if c.seen[st.ID] {
			return nil
		}
		c.seen[st.ID] = true
	}
	c.Bytes = plus(c.Bytes, st.Size)
	c.BlockBytes = plus(c.BlockBytes, st.Blocks*512)
	return nil
}

// The years that RFC 3339 has, in seconds, less what is the zero time.
const (
	firstTime = -62135596800 + 1 // 0001-01-01
	lastTime  = 253402300799     // 9999-12-31
)

// modified is a modification time within these years: on tmpfs a program may set any
// number of seconds, and with the greatest even comparisons overflow.
func modified(st dirchain.Stat) time.Time {
	switch sec := st.Modified.Unix(); {
	case sec < firstTime:
		return time.Unix(firstTime, 0)
	case sec > lastTime:
		return time.Unix(lastTime, 0)
	}
	return st.Modified
}

// plus adds two numbers that are not negative, up to the greatest there is: on tmpfs
// each of two sparse files may claim that.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Value is the usage as JSON.
func (u Usage) Value() strictjson.Value {
	oldest := strictjson.Null()
	if !u.Oldest.IsZero() {
		oldest = strictjson.Text(u.Oldest.UTC().Format(time.RFC3339Nano))
	}
	return strictjson.Object(
		strictjson.Pair("bytes", strictjson.Int(u.Bytes)),
		strictjson.Pair("block_bytes", strictjson.Int(u.BlockBytes)),
		strictjson.Pair("files", strictjson.Int(int64(u.Files))),
		strictjson.Pair("directories", strictjson.Int(int64(u.Directories))),
		strictjson.Pair("oldest_mtime", oldest),
		strictjson.Pair("unread", strictjson.Int(int64(u.Unread))),
		strictjson.Pair("truncated", strictjson.Bool(u.Truncated)),
	)
}
