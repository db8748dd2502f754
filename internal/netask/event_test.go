package netask

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"brainbox/proxy/allow"
)

var closing = Event{
	ID: 7, Path: "connect", Host: "api.example.com", Port: 443, Rule: 2, Address: "192.0.2.1:443",
	Closed: true, Sent: 12, Received: 1 << 40, Duration: 1500 * time.Millisecond,
}

func TestEventRefuses(t *testing.T) {
	good := string(closing.append(nil))
	for _, c := range [][2]string{
		{`"id":7,`, ``},
		{`"id":7`, `"id":-1`},
		{`"id":7`, `"id":7,"x":1`},
		{`"path":"connect"`, `"path":"other"`},
		{`"port":443`, `"port":65536`},
		{`"allowed":true`, `"allowed":false`},
		{`"reason":""`, `"reason":"port"`},
		{`"rule":2`, `"rule":-2`},
		{`"sent":12`, `"sent":-1`},
		{`"id":7`, `"lost":1,"id":7`},
		{`api`, strings.Repeat("a", maxEvent)},
	} {
		if got, err := DecodeEvent([]byte(strings.Replace(good, c[0], c[1], 1))); err == nil || !strings.Contains(good, c[0]) {
			t.Errorf("%.40s in place of %s: %+v", c[1], c[0], got)
		}
	}
	for _, text := range []string{`{"lost":0}`, `{"lost":-1}`, `{"lost":1,"x":2}`, ``} {
		if got, err := DecodeEvent([]byte(text)); err == nil {
			t.Errorf("%s: %+v", text, got)
		}
	}
	got, err := DecodeEvent([]byte(good)) // positive control
	if diff := cmp.Diff(closing, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// Whatever a program calls a host is one line that is read, also the longest there is, every
// byte of it written in six: no name hides an event, or one behind it (esc/PX-08).
func TestHostileHosts(t *testing.T) {
	for host, want := range map[string]string{
		strings.Repeat("\x01", 255): strings.Repeat("\x01", 255),
		strings.Repeat("\x00", 255): strings.Repeat("\uFFFD", 255),
		strings.Repeat("\xff", 255): strings.Repeat("\uFFFD", 255),
		"evil\x00.ok.test":          "evil\uFFFD.ok.test",
		"\n{\"lost\":1}\n":          "\n{\"lost\":1}\n",
		"\u2028\u202e\"\\":          "\u2028\u202e\"\\",
		"\xed\xa0\x80":              "\uFFFD\uFFFD\uFFFD",
	} {
		e := Event{Path: "lookup", Host: host, Reason: "malformed", Rule: -1}
		got, err := NewReader(bytes.NewReader(e.append(nil))).Next()
		e.Host = want
		if diff := cmp.Diff(e, got); err != nil || diff != "" {
			t.Errorf("%q: %v (-want +got):\n%s", host, err, diff)
		}
	}
}

// The words of the line are the rules' own: each is read, and no other.
func TestReasons(t *testing.T) {
	for _, reason := range append(allow.Reasons(), "") {
		e := Event{Path: "lookup", Reason: string(reason), Rule: -1}
		if got, err := DecodeEvent(bytes.TrimSpace(e.append(nil))); err != nil || got.Reason != string(reason) {
			t.Errorf("%q: %+v, %v", reason, got, err)
		}
	}
	e := Event{Path: "lookup", Reason: "whim", Rule: -1}
	if got, err := DecodeEvent(bytes.TrimSpace(e.append(nil))); err == nil {
		t.Errorf("a reason that is none: %+v", got)
	}
}

func TestReaderRefuses(t *testing.T) {
	good := string(closing.append(nil))
	for text, want := range map[string]error{"": io.EOF, good[:9]: io.ErrUnexpectedEOF, strings.Repeat(" ", maxEvent+1) + "\n": nil} {
		if _, err := NewReader(strings.NewReader(text)).Next(); err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%.20q: %v, want %v", text, err, want)
		}
	}
	r := NewReader(strings.NewReader(good + "x\n" + good))
	for _, want := range []Event{closing, {Lost: 1}, closing} { // what is none keeps nothing else from being read
		if e, err := r.Next(); err != nil || e != want {
			t.Errorf("%+v, %v; want %+v", e, err, want)
		}
	}
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}

// held is a reader that takes nothing until it is let.
type held struct {
	let chan struct{}
	mu  sync.Mutex
	got bytes.Buffer
}

func (h *held) Write(p []byte) (int, error) {
	<-h.let
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.got.Write(p)
}

// A reader that takes nothing holds nobody up: what there is no room for is counted.
func TestSenderNeverBlocks(t *testing.T) {
	h := &held{let: make(chan struct{})}
	s := NewSender(h)
	const each, senders = 3 * queued, 4
	var all sync.WaitGroup
	for range senders {
		all.Go(func() {
			for i := range each {
				s.Send(Event{ID: uint64(i), Path: "http"})
			}
		})
	}
	all.Wait() // it returns, although nothing was taken
	close(h.let)
	s.Close()
	s.Send(closing) // too late
	var seen, lost int64
	r := NewReader(&h.got)
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e.Lost > 0 {
			lost += e.Lost
			continue
		}
		seen++
	}
	if seen+lost != each*senders || lost == 0 || seen < queued {
		t.Errorf("%d read and %d lost of %d", seen, lost, each*senders)
	}
}

// parts is a reader that keeps each write apart.
type parts struct {
	mu  sync.Mutex
	all []string
}

func (p *parts) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, string(b))
	return len(b), nil
}

// What comes while the sender gathers is one write, and who closes does not wait for it.
func TestSenderGathers(t *testing.T) {
	var to parts
	begun, over := make(chan struct{}, 2), make(chan struct{})
	s := newSender(&to, func(closing <-chan struct{}) {
		begun <- struct{}{}
		select {
		case <-over:
		case <-closing:
		}
	})
	s.Send(Event{ID: 1, Path: "http"})
	select {
	case <-begun: // the first one has been seen, and is not written yet
	case <-time.After(20 * time.Second):
		t.Fatal("it does not gather")
	}
	for i := range 100 {
		s.Send(Event{ID: uint64(i + 2), Path: "http"})
	}
	over <- struct{}{}
	for len(begun) == 0 { // until it gathers anew
		s.Send(Event{ID: 200, Path: "http"})
		time.Sleep(time.Millisecond)
	}
	s.Close() // nobody says that it is over
	if len(to.all) != 2 || strings.Count(to.all[0], "\n") < 101 || !strings.Contains(to.all[1], `"id":200`) {
		t.Errorf("%d writes: %.300q", len(to.all), to.all)
	}
}

type gone struct{}

func (gone) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestSenderOutlivesItsReader(t *testing.T) {
	s := NewSender(gone{})
	for range 2 * queued {
		s.Send(closing)
	}
	s.Close()
}

func FuzzDecodeEvent(f *testing.F) {
	f.Add(closing.append(nil))
	f.Add([]byte(`{"lost":3}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := DecodeEvent(line)
		if err != nil {
			return
		}
		again, err := DecodeEvent(e.append(nil))
		if err != nil && strings.Contains(err.Error(), "too") {
			return // written out longer than it came: an escaped byte takes six
		}
		if diff := cmp.Diff(e, again); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
	})
}

// Whatever bytes a host has, its event is one line, and is read with its number.
func FuzzHost(f *testing.F) {
	f.Add("evil\x00.ok.test")
	f.Add("\xff\n")
	f.Fuzz(func(t *testing.T, host string) {
		e := Event{ID: 7, Path: "socks", Host: host[:min(len(host), 255)], Rule: -1}
		line := e.append(nil)
		if bytes.Count(line, []byte("\n")) != 1 {
			t.Fatalf("%q is more than one line", line)
		}
		if got, err := NewReader(bytes.NewReader(line)).Next(); err != nil || got.ID != 7 {
			t.Errorf("%q: %+v, %v", host, got, err)
		}
	})
}
