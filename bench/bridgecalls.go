package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"brainbox/bridge/client"
	"brainbox/dirchain"
	"brainbox/internal/strictjson"
)

// What is called through the bridge in one round.
const (
	manyClients = 8
	eachClient  = 50      // writes of a client a round
	readBytes   = 100_000 // the most that read_file gives at once
)

// The acts that are timed.
const (
	pinged      = "ping"
	calls       = "tool.call"
	oneWrite    = "a write"
	bareWrite   = "dirchain alone"
	eightWrites = "eight clients"
	oneRead     = "a read"
	bareRead    = "a read by dirchain alone"
)

// bridgePart measures calls through a bridge, where work lies and on a tmpfs, and what it
// adds to a start.
func (o *options) bridgePart(out io.Writer) error {
	var err error
	if o.bin, err = filepath.Abs(o.bin); err != nil {
		return err
	}
	if o.root, err = filepath.EvalSymlinks(o.root); err != nil {
		return err
	}
	fmt.Fprintf(out, "## The bridge\n\n%s\n", machine())
	fmt.Fprintf(out, "\nA server as brainbox-host makes it and its clients, in one process over a Unix socket: frames,\n"+
		"gate, write protection, locks, redaction and the mediated tools, without fsync, its rates out\n"+
		"of the way. A round has %d calls of each kind, and figures of one are the median of them; %d\n"+
		"clients write %d times each, to a file of their own. What is recorded is on the disk within a\n"+
		"second.\n", batch, manyClients, eachClient)
	for _, dir := range []string{o.root, o.tmpfs} {
		if dir == "" {
			continue
		}
		for _, recorded := range []bool{false, true} {
			if err := o.bridgeOn(out, dir, recorded); err != nil {
				return err
			}
		}
	}
	return o.bridgeStarts(out)
}

// bridgeOn measures in one folder, which is emptied again.
func (o *options) bridgeOn(out io.Writer, dir string, recorded bool) (err error) {
	name, err := filesystem(dir)
	if err != nil {
		return err
	}
	dir = filepath.Join(dir, "bridge")
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	h, err := newHost(dir, recorded)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	b, err := h.callers()
	if err != nil {
		return err
	}
	defer b.close()
	names := []string{pinged, calls, oneWrite, bareWrite, eightWrites, oneRead, bareRead}
	got, err := interleave(names, o.warm, o.rounds, b.take)
	if err != nil {
		return err
	}
	what := "nothing recorded"
	if recorded {
		what = "each decision and effect recorded"
	}
	fmt.Fprintf(out, "\nOn %s, %s, %d rounds:\n\n", name, what, o.rounds)
	table(out, bridgeRows(got))
	return nil
}

// callers are the clients of a host.
type callers struct {
	h                 *host
	one               *client.Client
	many              []*client.Client
	data              []byte
	input, write, get strictjson.Value
	each              []strictjson.Value // a write of each of many
}

func (h *host) callers() (b *callers, err error) {
	b = &callers{h: h, data: bytes.Repeat([]byte("0123456789abcde\n"), writeBytes/16)}
	text := strings.Repeat("0123456789abcde\n", readBytes/16)
	err = errors.Join(write(filepath.Join(h.dir, "src/read"), text), write(filepath.Join(h.dir, "src/bare"), ""), write(filepath.Join(h.dir, "src/one"), ""))
	if err != nil {
		return b, err
	}
	b.input = strictjson.Object(strictjson.Pair("text", strictjson.Text(string(b.data[:128]))))
	b.write, b.get = b.writing("src/one"), strictjson.Object(strictjson.Pair("path", strictjson.Text("src/read")))
	if b.one, err = h.client(); err != nil {
		return b, err
	}
	for i := range manyClients {
		path := fmt.Sprintf("src/d%d/file", i)
		if err := write(filepath.Join(h.dir, path), ""); err != nil {
			return b, err
		}
		c, err := h.client()
		if err != nil {
			return b, err
		}
		b.many, b.each = append(b.many, c), append(b.each, b.writing(path))
	}
	return b, nil
}

// writing is the input of a write over a file.
func (b *callers) writing(path string) strictjson.Value {
	return strictjson.Object(strictjson.Pair("root", strictjson.Text("work")), strictjson.Pair("path", strictjson.Text(path)),
		strictjson.Pair("mode", strictjson.Text("replace")), strictjson.Pair("data", strictjson.Text(string(b.data))))
}

func (b *callers) close() {
	for _, c := range append(b.many, b.one) {
		if c != nil {
			_ = c.Close()
		}
	}
}

// take is a sample: the median of a batch, or the time of one write where many write.
func (b *callers) take(name string) (sample, error) {
	if name == eightWrites {
		return b.together()
	}
	act := map[string]func() error{
		pinged:    func() error { return b.one.Ping(context.Background()) },
		calls:     func() error { _, err := called(b.one, "echo", &b.input); return err },
		oneWrite:  func() error { _, err := called(b.one, "fs.write", &b.write); return err },
		bareWrite: b.bareWrite,
		oneRead:   b.read,
		bareRead:  b.bareRead,
	}[name]
	all := make([]float64, batch)
	for i := range all {
		start := time.Now()
		if err := act(); err != nil {
			return sample{}, err
		}
		all[i] = time.Since(start).Seconds() * 1e3
	}
	slices.Sort(all)
	return sample{ms: all[len(all)/2]}, nil
}

func (b *callers) bareWrite() error {
	_, err := b.h.root.Write(context.Background(), "src/bare", dirchain.WriteRequest{Mode: dirchain.Replace, Content: bytes.NewReader(b.data)})
	return err
}

func (b *callers) bareRead() error {
	_, err := b.h.root.Read(context.Background(), "src/read", dirchain.ReadRequest{})
	return err
}

func (b *callers) read() error {
	res, err := called(b.one, "read_file", &b.get)
	if err == nil && len(res.Output.Get("text").Text) != readBytes {
		err = fmt.Errorf("%d bytes were read", len(res.Output.Get("text").Text))
	}
	return err
}

// together has all clients write at the same time.
func (b *callers) together() (sample, error) {
	errs := make([]error, len(b.many))
	var wg sync.WaitGroup
	start := time.Now()
	for i := range b.many {
		wg.Go(func() {
			for range eachClient {
				if _, err := called(b.many[i], "fs.write", &b.each[i]); err != nil {
					errs[i] = err
					return
				}
			}
		})
	}
	wg.Wait()
	ms := time.Since(start).Seconds() * 1e3
	return sample{ms: ms / float64(len(b.many)*eachClient)}, errors.Join(errs...)
}

// bridgeRows judges the calls.
func bridgeRows(s samples) []row {
	const mib = readBytes / float64(1<<20)
	rate := func(name string, of float64) estimate {
		return s.each(func(i int) float64 { return of * 1e3 / s[name][i].ms })
	}
	us := func(name string) estimate { return s.time(name).times(1e3) }
	return []row{
		plain("µs, ping: a frame there and back", us(pinged), "%.1f"),
		bounded("µs, tool.call through the gate to a function of the host's", us(calls), 150),
		plain("the same, × ping", s.ratio(calls, pinged), "%.2f"),
		bounded("µs, a mediated write of 4 KiB over a file", us(oneWrite), 300),
		plain("the same, × dirchain alone", s.ratio(oneWrite, bareWrite), "%.2f"),
		atLeast("mediated writes of 4 KiB a second, 8 clients", rate(eightWrites, 1), 5000, "%.0f"),
		atLeast("MiB a second, read_file of 100 000 bytes", rate(oneRead, mib), 50, "%.0f"),
		plain("µs, such a read", us(oneRead), "%.1f"),
		plain("the same, × dirchain alone", s.ratio(oneRead, bareRead), "%.2f"),
	}
}

// atLeast is a row whose whole interval has to lie over the bound.
func atLeast(what string, e estimate, bound float64, format string) row {
	r := plain(what, e, format)
	r.bound, r.verdict = "≥ "+fmt.Sprintf(format, bound), estimate{high: -e.low}.verdict(-bound)
	return r
}
