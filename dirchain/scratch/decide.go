package scratch

import (
	"slices"
	"time"

	"brainbox/dirchain"
)

// Reason is why an entry went.
type Reason string

// Reasons.
const (
	Age   Reason = "age"   // modified longer ago than the area keeps files
	Size  Reason = "size"  // the area holds more than it may
	Clean Reason = "clean" // everything goes
)

// file is one name that is no directory, as it was listed. Its path may be long, and
// so is not kept.
type file struct {
	key  uint64 // of its path from the root
	stat dirchain.Stat
}

// candidate is a file that may go.
type candidate struct {
	file
	reason Reason
}

// rank lists what may go, in the order in which it does: what was modified before
// the given time because of its age, then the rest, oldest first, because of its
// size. Of files of the same age the first that was listed goes first. Pure.
func rank(files []file, before time.Time) []candidate {
	list := make([]candidate, len(files))
	for i, f := range files {
		list[i] = candidate{f, Size}
		if used(f.stat).Before(before) {
			list[i].reason = Age
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return used(a.stat).Compare(used(b.stat)) })
	return list
}

// used is when a file was last modified. A time after the last status change is one
// that somebody set: it would keep the file, and cost all others their place.
func used(st dirchain.Stat) time.Time {
	if st.Changed.Before(st.Modified) || st.Changed.Unix() < st.Modified.Unix() { // the first overflows on tmpfs
		return st.Changed
	}
	return st.Modified
}

// choose takes from the front of what rank gave: what is too old, and then as much
// as brings the bytes that are left down to most. It returns how many go. Pure.
func choose(ranked []candidate, left, most int64) int {
	n := 0
	for n < len(ranked) && (ranked[n].reason != Size || left > most) {
		left -= weight(ranked[n].stat)
		n++
	}
	return n
}

// weight is the size of a file in bytes, as it counts for the sum: a sparse file may
// claim any size, and a sum that overflows would hide all others.
func weight(st dirchain.Stat) int64 { return min(st.Size, 1<<43) }

// total is the sum of the weights.
func total(files []file) int64 {
	var sum int64
	for _, f := range files {
		sum += weight(f.stat)
	}
	return sum
}
