package hold

import (
	"context"
	"errors"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// ErrGone says that the other end is: the run is over.
var ErrGone = errors.New("hold: the run is over")

// answerTime is how long an answer about a process group is waited for.
const answerTime = 2 * time.Second

// Client is the end of who asks. It is a Program of package gate/tty.
type Client struct {
	conn *os.File
	lost func()

	asking sync.Mutex // one question at a time

	mu      sync.Mutex
	last    uint64 // number of the last hold
	current uint64 // the one that holds; 0: none
	waits   map[string]chan string
	gone    bool
}

// NewClient takes conn and reads it until it ends, or Close. lost is called when what is held
// stands still no more; nil sends this process SIGCONT, which has package gate/tty hold anew and
// show the prompt anew, as after a stop of the job.
func NewClient(conn *os.File, lost func()) *Client {
	if lost == nil {
		lost = func() { _ = unix.Kill(os.Getpid(), unix.SIGCONT) }
	}
	c := &Client{conn: conn, lost: lost, waits: map[string]chan string{}}
	go c.read()
	return c
}

// Close ends the connection, which releases what is held.
func (c *Client) Close() { _ = c.conn.Close() }

func (c *Client) read() {
	for {
		verb, n, text, err := receive(c.conn)
		if err != nil {
			break
		}
		switch verb {
		case "held", "failed":
			c.answer(key("hold", n), verb+text)
		case "yes", "no":
			c.answer(key("owns", n), verb)
		case "lost":
			c.mu.Lock()
			ours := c.current == n
			c.mu.Unlock()
			if ours {
				c.lost()
			}
		}
	}
	c.mu.Lock()
	c.gone = true
	for k, ch := range c.waits {
		close(ch)
		delete(c.waits, k)
	}
	ours := c.current != 0
	c.mu.Unlock()
	if ours { // nobody holds it any more
		c.lost()
	}
}

func (c *Client) answer(k, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ch := c.waits[k]; ch != nil {
		ch <- text
		delete(c.waits, k)
	}
}

// ask sends a question and returns where its answer will be; closed: there is none.
func (c *Client) ask(verb string, n uint64) (<-chan string, error) {
	ch := make(chan string, 1)
	c.mu.Lock()
	if c.gone {
		c.mu.Unlock()
		return nil, ErrGone
	}
	c.waits[key(verb, n)] = ch
	c.mu.Unlock()
	if err := send(c.conn, verb, n, ""); err != nil {
		return nil, errors.Join(ErrGone, err)
	}
	return ch, nil
}

// Hold has the program stand still. The error says that it goes on.
func (c *Client) Hold(ctx context.Context) (release func(), err error) {
	c.asking.Lock()
	defer c.asking.Unlock()
	c.mu.Lock()
	c.last++
	n := c.last
	c.current = n // it may be lost before this goroutine has read that it is held
	c.mu.Unlock()
	release = sync.OnceFunc(func() {
		c.mu.Lock()
		if c.current == n {
			c.current = 0
		}
		c.mu.Unlock()
		_ = send(c.conn, "release", n, "")
	})
	ch, err := c.ask("hold", n)
	if err != nil {
		release()
		return nil, err
	}
	select {
	case text, ok := <-ch:
		if text == "held" {
			return release, nil
		}
		release()
		if !ok {
			return nil, ErrGone
		}
		return nil, errors.New("hold: " + text[len("failed"):])
	case <-ctx.Done():
		release()
		return nil, ctx.Err()
	}
}

// Owns reports whether a process group is the program's.
func (c *Client) Owns(group int) bool {
	if group <= 1 {
		return false
	}
	c.asking.Lock()
	defer c.asking.Unlock()
	ch, err := c.ask("owns", uint64(group))
	if err != nil {
		return false
	}
	timer := time.NewTimer(answerTime)
	defer timer.Stop()
	select {
	case text := <-ch:
		return text == "yes"
	case <-timer.C:
		return false
	}
}

func key(verb string, n uint64) string { return verb + " " + strconv.FormatUint(n, 10) }
