package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// What is asked of the network in one round, or in one run for its memory.
const (
	firstEach = 50
	bulkBytes = 64 << 20
	manyEach  = 400 // tunnels a round
	manyAt    = 16
	heldAt    = 1000
	floodAll  = 10_000
	floodAt   = 100
	memories  = 5 // runs whose memory is measured
)

// What is timed.
const (
	firstDirect  = "first byte, direct"
	firstPlain   = "first byte, CONNECT by a proxy that decides nothing"
	firstConnect = "first byte, CONNECT of an address"
	firstName    = "first byte, CONNECT of a name"
	firstKnown   = "first byte, transparent"
	firstNamed   = "first byte, transparent with its look-up"
	lookedUp     = "look-up"
	bulkDirect   = "bulk, direct"
	bulkPlain    = "bulk, CONNECT by a proxy that decides nothing"
	bulkConnect  = "bulk, CONNECT"
	bulkKnown    = "bulk, transparent"
	manyDirect   = "many, direct"
	manyConnect  = "many, CONNECT"
)

// networkPart measures a network by name: what a confined program reaches through
// brainbox-host, and the same program without brainbox.
func (o *options) networkPart(out io.Writer) (err error) {
	w, err := newWorld()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	o.work = filepath.Join(o.root, "work")
	env, err := o.prepare()
	if err != nil {
		return err
	}
	policy := filepath.Join(o.root, "net.toml")
	if err := write(policy, o.clientText(w)); err != nil {
		return err
	}
	fmt.Fprintf(out, "## The network by name\n\n%s\n", machine())
	fmt.Fprintf(out, "\nA program in namespaces reaches a server on the host's loopback through brainbox-host, and the\n"+
		"same program reaches it without brainbox. Names are looked up by brainbox-host for each\n"+
		"connection, at a DNS server in the process of bench. First bytes are the median of %d new\n"+
		"connections, one after the other; what is added to them has the program's own confinement in it.\n"+
		"The proxy that decides nothing is the least there is in Go: read the head, dial, copy.\n", firstEach)
	got, err := o.networkTimes(w, env, policy)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nAs uid %d, %d rounds:\n\n", os.Getuid(), o.rounds)
	table(out, networkRows(got))
	rows, err := o.networkMemory(w, env, policy)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nThe memory of brainbox-host, the largest growth of %d runs:\n\n", memories)
	table(out, rows)
	return o.networkStarts(out, w, env)
}

// networkTimes asks both programs in turns.
func (o *options) networkTimes(w *world, env []string, policy string) (samples, error) {
	bare, plainProxy, err := o.bareClient(env)
	if err != nil {
		return nil, err
	}
	confined, err := o.confinedClient(env, policy)
	if err != nil {
		return nil, err
	}
	asked := map[string]struct {
		by    *netclient
		words []any
	}{
		firstDirect:  {bare, []any{"first", "direct", w.literal(), firstEach}},
		firstPlain:   {bare, []any{"first", "connect", w.literal(), firstEach}},
		firstConnect: {confined, []any{"first", "connect", w.literal(), firstEach}},
		firstName:    {confined, []any{"first", "connect", w.named(), firstEach}},
		firstKnown:   {confined, []any{"first", "known", w.named(), firstEach}},
		firstNamed:   {confined, []any{"first", "named", w.named(), firstEach}},
		lookedUp:     {bare, []any{"lookup", w.dns.LocalAddr(), originName, firstEach}},
		bulkDirect:   {bare, []any{"bulk", "direct", w.literal(), bulkBytes}},
		bulkPlain:    {bare, []any{"bulk", "connect", w.literal(), bulkBytes}},
		bulkConnect:  {confined, []any{"bulk", "connect", w.literal(), bulkBytes}},
		bulkKnown:    {confined, []any{"bulk", "known", w.named(), bulkBytes}},
		manyDirect:   {bare, []any{"many", "direct", w.literal(), manyEach, manyAt}},
		manyConnect:  {confined, []any{"many", "connect", w.literal(), manyEach, manyAt}},
	}
	names := []string{
		firstDirect, firstPlain, firstConnect, firstName, firstKnown, firstNamed, lookedUp,
		bulkDirect, bulkPlain, bulkConnect, bulkKnown, manyDirect, manyConnect,
	}
	got, err := interleave(names, o.warm, o.rounds, func(name string) (sample, error) {
		a := asked[name]
		return a.by.do(a.words...)
	})
	if err != nil {
		return nil, err
	}
	return got, errors.Join(confined.close(), bare.close(), plainProxy.close())
}

// networkRows judges the times.
func networkRows(s samples) []row {
	const mib = bulkBytes / float64(1<<20)
	us := func(name string) estimate { return s.time(name).times(1e3) }
	more := func(name string) estimate { return s.difference(name, firstDirect).times(1e3) }
	rate := func(name string, of float64) estimate {
		return s.each(func(i int) float64 { return of * 1e3 / s[name][i].ms })
	}
	return []row{
		plain("MiB a second, direct", rate(bulkDirect, mib), "%.0f"),
		plain("MiB a second, CONNECT by a proxy that decides nothing, × direct", s.ratio(bulkDirect, bulkPlain), "%.2f"),
		plain("MiB a second, CONNECT", rate(bulkConnect, mib), "%.0f"),
		atLeast("the same, × direct", s.ratio(bulkDirect, bulkConnect), 0.7, "%.2f"),
		plain("MiB a second, transparent", rate(bulkKnown, mib), "%.0f"),
		atLeast("the same, × direct", s.ratio(bulkDirect, bulkKnown), 0.7, "%.2f"),
		plain("µs to the first byte, direct", us(firstDirect), "%.1f"),
		plain("µs to the first byte, CONNECT of a listed address", us(firstConnect), "%.1f"),
		bounded("µs more, CONNECT of a listed address", more(firstConnect), 150),
		plain("µs more, CONNECT by a proxy that decides nothing, without brainbox", more(firstPlain), "%.1f"),
		plain("µs more, CONNECT of a name, which brainbox-host looks up", more(firstName), "%.1f"),
		plain("µs, such a look-up, A and AAAA, without brainbox", us(lookedUp), "%.1f"),
		plain("µs more, transparent, the program knows the address; brainbox-host looks the name up", more(firstKnown), "%.1f"),
		plain("µs more, transparent, the program looks the name up too", more(firstNamed), "%.1f"),
		plain(fmt.Sprintf("connections a second, direct, %d at a time", manyAt), rate(manyDirect, manyEach), "%.0f"),
		plain(fmt.Sprintf("CONNECTs a second, %d at a time", manyAt), rate(manyConnect, manyEach), "%.0f"),
	}
}

// networkMemory is how the resident set of brainbox-host grows.
func (o *options) networkMemory(w *world, env []string, policy string) ([]row, error) {
	held, flood := 0, 0
	for range memories {
		h, err := o.growth(env, policy, "hold", "connect", w.named(), heldAt)
		if err != nil {
			return nil, err
		}
		f, err := o.growth(env, policy, "many", "connect", w.named(), floodAll, floodAt)
		if err != nil {
			return nil, err
		}
		held, flood = max(held, h), max(flood, f)
	}
	return []row{
		atMost(fmt.Sprintf("MiB more, %d tunnels open at once", heldAt), float64(held)/1024, 40),
		atMost(fmt.Sprintf("MiB more, after %d CONNECTs, %d at a time", floodAll, floodAt), float64(flood)/1024, 64),
	}, nil
}

// growth is that of the memory of a brainbox-host which has served nothing yet, in KiB.
func (o *options) growth(env []string, policy string, words ...any) (int, error) {
	c, err := o.confinedClient(env, policy)
	if err != nil {
		return 0, err
	}
	before, err := c.resident()
	if err != nil {
		return 0, err
	}
	if _, err := c.do(words...); err != nil {
		return 0, err
	}
	after, err := c.resident()
	return after - before, errors.Join(err, c.close())
}
