package sessionlock

import (
	"time"

	"github.com/rowlock/rowlock/driver"
)

// The server would grant a lock again to the session that has it, so it is asked for what nobody here
// has, and this bookkeeping says the rest.

// Holding is one grant, or one that is being asked for. Its exported fields do not change.
type Holding[K comparable] struct {
	ID           K
	Key          driver.Key
	Shared       bool
	Holder, Note string
	TTL          time.Duration // as it was asked for first

	// Under the store's lock.
	grant     driver.Grant
	since     time.Time
	asking    chan struct{} // closed once the server has answered; then granted counts
	granted   bool          // the lock is held; its token may be missing yet
	gone      chan struct{} // closed when it is not held any more, nor asked for
	unwanted  bool          // its release was asked for: nobody trusts in it any more
	releasing bool
	session   *Session[K] // that it lives on, or is asked on
}

// is reports whether h is what g says; a zero token of g is any.
func (h *Holding[K]) is(g driver.Grant) bool {
	return h.Key == g.Key && h.grant.Nonce == g.Nonce && (g.Token == 0 || h.grant.Token == g.Token)
}

// barring is a holding that is in the way of h, which is to be asked for. Two names with one lock are
// in each other's way, as they are between processes. The caller holds mu.
func (s *Store[K]) barring(h *Holding[K]) *Holding[K] {
	for _, other := range s.locks[h.ID] {
		shares := h.Shared && other.Shared && h.Key == other.Key
		if other != h && !shares && (other.granted || !s.Together) {
			return other
		}
	}
	return nil
}

// refusal is what others here are told of h. The caller holds mu.
func (h *Holding[K]) refusal() *driver.Held {
	if !h.granted {
		return &driver.Held{Reason: driver.Contended, Holder: h.Holder}
	}
	return &driver.Held{Reason: driver.Leased, Holder: h.Holder, Note: h.Note, Token: h.grant.Token, Since: time.Since(h.since)}
}

// find is the granted holding that g says. The caller holds mu.
func (s *Store[K]) find(id K, g driver.Grant) *Holding[K] {
	if h := s.locks[id][g.Nonce]; h != nil && h.granted && h.is(g) {
		return h
	}
	return nil
}

// reserve finds the holding of r's nonce, or makes one if nobody here is in its way.
func (s *Store[K]) reserve(id K, shared bool, r driver.Request) (h *Holding[K], isNew bool, inTheWay *Holding[K]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.locks[id][r.Nonce]; h != nil && h.Key == r.Key && h.Shared == shared {
		return h, false, nil
	}
	h = &Holding[K]{
		ID: id, Key: r.Key, Shared: shared, Holder: r.Holder, Note: r.Note, TTL: r.TTL,
		grant:  driver.Grant{Key: r.Key, Nonce: r.Nonce, TTL: r.TTL},
		asking: make(chan struct{}), gone: make(chan struct{}),
	}
	if inTheWay := s.barring(h); inTheWay != nil {
		return nil, false, inTheWay
	}
	if s.locks == nil {
		s.locks = map[K]map[driver.Nonce]*Holding[K]{}
	}
	if s.locks[id] == nil {
		s.locks[id] = map[driver.Nonce]*Holding[K]{}
	}
	s.locks[id][r.Nonce] = h
	return h, true, nil
}

// settle has the session take h on, unless somebody here was granted the lock meanwhile.
func (se *Session[K]) settle(h *Holding[K]) (refusal error) {
	s := se.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.barring(h); other != nil {
		defer s.drop(h)
		return other.refusal()
	}
	h.session, se.watches = se, se.link.Watches()
	se.holdings[h] = struct{}{}
	return nil
}

// grantedWith notes that the session has the lock of h, with its token if it is known. The caller holds mu.
func (h *Holding[K]) grantedWith(token driver.Token) driver.Grant {
	h.grant.Token = token
	h.granted, h.since = true, time.Now()
	close(h.asking)
	return h.grant
}

// Numbered notes the token of h, unless it has one, or is not held any more.
func (s *Store[K]) Numbered(h *Holding[K], token driver.Token) (driver.Grant, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !h.granted {
		return driver.Grant{}, ErrGone
	}
	if h.grant.Token == 0 { // the same request may have been sent twice
		h.grant.Token = token
	}
	return h.grant, nil
}

// drop forgets h. The caller holds mu.
func (s *Store[K]) drop(h *Holding[K]) {
	if s.locks[h.ID][h.grant.Nonce] != h {
		return
	}
	delete(s.locks[h.ID], h.grant.Nonce)
	if len(s.locks[h.ID]) == 0 {
		delete(s.locks, h.ID)
	}
	if h.session != nil {
		delete(h.session.holdings, h)
	}
	if !h.granted {
		close(h.asking)
	}
	h.granted = false
	close(h.gone)
}

// forget is drop for whoever does not hold mu.
func (s *Store[K]) forget(h *Holding[K]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(h)
}

// abandon forgets h if it was only asked for.
func (s *Store[K]) abandon(h *Holding[K]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !h.granted {
		s.drop(h)
	}
}
