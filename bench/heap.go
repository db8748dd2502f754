package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// The sizes of heap that are compared, in MiB.
const smallHeap, bigHeap = 0, 1024

// heapRows starts confined programs through the library, from a small process
// and from one with a heap of 1 GiB, in turns.
func (o *options) heapRows(env []string) ([]row, error) {
	sizes := []int{smallHeap, bigHeap}
	hosts := map[int]*pipe{}
	for _, mib := range sizes {
		host, err := newPipe(env, filepath.Join(o.bin, "bigheap"), o.bin, strconv.Itoa(mib), o.work)
		if err != nil {
			return nil, err
		}
		hosts[mib] = host
	}
	got := samples{}
	for round := range o.warm + o.rounds {
		for i := range sizes {
			mib := sizes[(i+round)%len(sizes)]
			line, err := hosts[mib].ask("start")
			if err != nil {
				return nil, fmt.Errorf("bigheap %d: %w", mib, err)
			}
			ns, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
			if err != nil {
				return nil, err
			}
			if round >= o.warm {
				got[heapName(mib)] = append(got[heapName(mib)], sample{ms: float64(ns) / 1e6})
			}
		}
	}
	for _, mib := range sizes {
		if err := hosts[mib].close(); err != nil {
			return nil, err
		}
	}
	return []row{
		plain("ms, one run through the library, small heap", got.time(heapName(smallHeap)), "%.2f"),
		plain("ms, one run through the library, heap of 1 GiB", got.time(heapName(bigHeap)), "%.2f"),
		bounded("ms more, heap of 1 GiB", got.difference(heapName(bigHeap), heapName(smallHeap)), 1),
	}, nil
}

func heapName(mib int) string { return fmt.Sprintf("heap of %d MiB", mib) }
