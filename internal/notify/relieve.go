package notify

import "time"

// relieve has another thread receive when the one that would has been at its call for a
// while, until the server is closed.
func (s *Server) relieve() {
	t := time.NewTicker(s.cfg.Late)
	defer t.Stop()
	var at uint64
	for busy := false; ; {
		select {
		case <-s.over:
			return
		case <-t.C:
		}
		calls := s.calls.Load()
		if s.idle.Load() > 0 {
			busy = false
			continue
		}
		if busy && calls == at {
			s.spare()
		}
		busy, at = true, calls
	}
}
