package lock

import "sort"

// Held gives the keys that are held now, sorted: for diagnostics, not for polling.
func (s *Set) Held() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]string, 0, len(s.keys))
	for k := range s.keys {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

// Locked says whether somebody holds a key now: for diagnostics, not for polling.
func (s *Set) Locked(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keys[s.keyOf(key)] != nil
}
