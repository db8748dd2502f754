package bridge

import (
	"slices"

	"brainbox/bridge/wire"
)

// mostUnproved is how many user interfaces may be about to prove that they are some. Where
// the sandbox can reach their socket, it can come as often as it likes: it must not take the
// places of those who have the key, and more than so many do not come between a greeting and
// its proof.
const mostUnproved = 128

var errTooMany = &wire.Error{Code: wire.CodeOverloaded, Message: "too many connections"}

// knock lets a user interface in that has proved nothing. If there are too many, the oldest
// goes. The lock is held.
func (s *Server) knock(c *conn) {
	if len(s.unproved) >= mostUnproved {
		old := s.unproved[0]
		s.unproved = s.unproved[1:]
		old.cancel(errGone)
		_ = old.nc.Close()
	}
	s.unproved = append(s.unproved, c)
	c.lane = newLane(&s.l)
}

// prove gives a user interface its place.
func (s *Server) prove(c *conn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.unproved, c)
	if i < 0 || s.uis >= s.l.UIConns {
		return errTooMany
	}
	s.unproved = slices.Delete(s.unproved, i, i+1)
	s.uis++
	c.proved = true
	return nil
}

// unlist is the end of either. The lock is held.
func (s *Server) unlist(c *conn) {
	if c.proved {
		s.uis--
	} else if i := slices.Index(s.unproved, c); i >= 0 {
		s.unproved = slices.Delete(s.unproved, i, i+1)
	}
}
